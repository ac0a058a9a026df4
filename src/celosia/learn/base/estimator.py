"""What all private estimators have: how much a fit may spend, who pays, and what is known of it afterwards.

The constructor stores and ``fit`` validates, as everywhere in scikit-learn. A fitted model holds noisy numbers alone,
with the event that was paid for and what it promises. Clones of one estimator remember that they are: fitting several
of them is how models are tuned, and every fit is paid for, so that is said once.
"""

import contextlib
import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, clone

from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.warnings import TuningWarning
from celosia.learn.privacy.bounds import known_count
from celosia.learn.privacy.paying import Payment, paid
from celosia.learn.privacy.target import Target, is_infinite
from celosia.ledger.budget_account import as_account

if TYPE_CHECKING:
    from pathlib import Path

    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.core.events import Event
    from celosia.core.exact import Exact
    from celosia.core.guarantees import Guarantee

_SEVERAL = 2


@dataclass(slots=True)
class Lineage:
    """How many clones of one estimator there are, and how often they were fitted.

    ``quiet`` if that is accounted for.
    """

    fits: int = 0
    warned: bool = False
    quiet: bool = False
    clones: int = 0

    def count(self) -> None:
        """Count one fit of a clone, and warn at the second."""
        self.fits += 1
        self._warn(self.fits >= _SEVERAL)

    def cloned(self) -> None:
        """Count one clone more, and warn at the third: other processes may fit them, where nobody would count."""
        self.clones += 1
        self._warn(self.clones > _SEVERAL)

    def _warn(self, several: bool) -> None:  # noqa: FBT001 - one fact
        if not several or self.warned or self.quiet:
            return
        self.warned = True
        message = (
            "Several clones of one private estimator are fitted: each fit is paid for on its own, and scores on "
            "records that were held out are not private. celosia.learn.PrivateSearchCV accounts for both."
        )
        warnings.warn(message, TuningWarning, stacklevel=6)

    def __reduce__(self) -> "tuple[type[Lineage], tuple[int, bool, bool, int]]":
        # What is sent to another process was warned about here.
        return Lineage, (self.fits, True, self.quiet, self.clones)


class PrivateEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """The base of the estimators: parameters ``epsilon``, ``delta``, ``rho``, ``adjacency``, ``budget`` and ``source``.

    >>> from celosia.learn import StandardScaler
    >>> isinstance(StandardScaler(epsilon=1), PrivateEstimator)
    True
    """

    epsilon: "Exact | None"
    delta: "Exact | None"
    rho: "Exact | None"
    bounds: Any
    adjacency: "Adjacency | str | None"
    budget: Any
    source: "Source | None"

    event_: "Event | None"
    guarantee_: "Guarantee | None"
    noise_scale_: Any
    seeded_: bool
    n_features_in_: int

    def _privacy(self) -> Target:
        """What this fit may spend; the neighbours are those of the budget if there is one.

        Rows in memory do not tell whose they are, so that a budget of persons, with all their rows, cannot be kept; nor
        can any be kept without noise.
        """
        account = None if self.budget is None else as_account(self.budget)
        target = Target.of(
            epsilon=self.epsilon, delta=self.delta, rho=self.rho, adjacency=self.adjacency, account=account
        )
        if account is not None and not target.private:
            raise ParameterError(
                "budget: without privacy (epsilon=inf) there is nothing to pay for: leave budget= out."
            )
        if target.unit != "row":
            raise ParameterError(
                f"budget: it is for each {target.unit}, with all its rows, and an array does not tell whose a row is. "
                "Fit where that is known, with session.fit(...), or give a budget for rows."
            )
        return target

    @contextlib.contextmanager
    def _paid(self, target: Target, event: "Event", *, features: int | None = None) -> Iterator[Payment]:
        """Pay for an event, run the block, and tell afterwards what was paid for."""
        guarantee = target.guarantee
        if guarantee is None:
            raise ParameterError("Without privacy there is nothing to pay for.")
        self._count_fit()
        question = self._question(features)
        with paid(self.budget, self.source, event, guarantee, question=question) as payment:
            yield payment
            seeded = payment.source.seeded
        self.event_, self.guarantee_, self.seeded_ = event, guarantee, seeded

    @contextlib.contextmanager
    def _rollback_on_error(self) -> Iterator[None]:
        """Run a block; if it fails, the estimator is what it was before: no state is half new."""
        before = dict(vars(self))
        try:
            yield
        except BaseException as error:
            state = self.__dict__
            state.clear()
            state.update(before)
            if isinstance(error, CelosiaError):
                error.__context__ = None  # what failed inside may quote the data
            raise

    def _mark_non_private(self) -> None:
        """Tell that nothing was promised."""
        self.event_, self.guarantee_, self.noise_scale_, self.seeded_ = None, None, 0.0, False

    def _question(self, features: int | None) -> str:
        about = "" if features is None else f" on {features} features"
        return f"Fit {type(self).__name__}{about}"

    def _forecast_target(
        self, epsilon: "Exact | None", delta: "Exact | None" = None, rho: "Exact | None" = None
    ) -> Target:
        """What ``preview`` supposes to be spent: what it was given, or the estimator's own."""
        return self._privacy().with_epsilon(epsilon, delta, rho)

    def _feature_count(self, n_features: int | None) -> int:
        """How many features a forecast is for."""
        known = n_features if n_features is not None else known_count(self.bounds)
        if known is None:
            known = getattr(self, "n_features_in_", None)
        if known is None:
            raise ParameterError("Say how many features there will be: n_features=, or an array of bounds.")
        return int(exact_integer(known, name="n_features"))

    # ------------------------------------------------------------------------------------------ what a model can do

    def save(self, path: "str | Path") -> None:
        """Write the fitted model to a file: JSON, with arrays as Arrow inside; ``celosia.learn.load`` reads it."""
        from celosia.learn.io.model_file import save

        save(self, path)

    def card(self, format: str = "markdown") -> str:  # noqa: A002 - the field's word
        """Return the model's card, in Markdown or HTML: bounds, guarantee, noise, and what accuracy they cost."""
        from celosia.learn.io.card import card

        text: str = card(self, format=format)
        return text

    # ------------------------------------------------------------------------------------------------ scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.source is None and not is_infinite(self.epsilon)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether something was learned: records that wait for ``finish`` are not enough."""
        return "guarantee_" in vars(self)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that remembers where it comes from; a budget and a ledger are never copied."""
        given = self.get_params(deep=False)
        shared = {name: given.pop(name) for name in ("budget", "source") if name in given}
        twin: Self = type(self)(**{name: clone(value, safe=False) for name, value in given.items()}, **shared)
        for name in ("_metadata_request", "_sklearn_output_config"):
            if hasattr(self, name):
                setattr(twin, name, copy.deepcopy(getattr(self, name)))
        if "_lineage" not in vars(self):
            self._lineage = Lineage()
        if not is_infinite(self.epsilon):
            self._lineage.cloned()
        twin._lineage = self._lineage
        twin._is_clone = True
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy that spends from the same budget and draws from the same source."""
        twin: Self = type(self).__new__(type(self))
        for name, value in vars(self).items():
            kept = name in ("budget", "source")
            twin.__dict__[name] = value if kept else copy.deepcopy(value, memo)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Return what is stored: no stream that can be repeated, which would begin anew in every copy."""
        state = dict(super().__getstate__())
        if getattr(state.get("source"), "seeded", False):
            state["source"] = None
        return state

    def _count_fit(self) -> None:
        if getattr(self, "_is_clone", False):
            self._lineage.count()


def one_of_the_methods(method: object, methods: tuple[str, ...]) -> str:
    """Return a method that an estimator knows; refuse any other."""
    if not isinstance(method, str) or method not in methods:
        raise ParameterError(f"method must be one of {', '.join(map(repr, methods))}, not {safe_repr(method)}.")
    return method
