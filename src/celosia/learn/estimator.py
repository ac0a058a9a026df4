"""What all private estimators have: how much a fit may spend, who pays, and what is known of it afterwards.

The constructor stores and ``fit`` validates, as everywhere in scikit-learn. A fitted model holds noisy numbers alone,
with the event that was paid for and what it promises. Clones of one estimator remember that they are: fitting several
of them is how models are tuned, and every fit is paid for, so that is said once.
"""

import contextlib
import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, clone

from celosia.core.errors import CelosiaError, ParameterError, TuningWarning
from celosia.core.exact import quote, whole
from celosia.learn.bounds import known_count
from celosia.learn.paying import Payment, paid
from celosia.learn.target import Target
from celosia.ledger.door import door_of

if TYPE_CHECKING:
    from pathlib import Path

    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.core.events import Event
    from celosia.core.exact import Exact
    from celosia.core.guarantees import Guarantee

__all__ = ["Lineage", "PrivateEstimator", "one_of_the_methods"]


@dataclass(slots=True)
class Lineage:
    """How often clones of one estimator were fitted; ``quiet`` where somebody accounts for that.

    >>> Lineage().fits
    0
    """

    fits: int = 0
    warned: bool = False
    quiet: bool = field(default=False)

    def count(self) -> None:
        """Count one fit of a clone, and warn at the second."""
        self.fits += 1
        if self.fits < 2 or self.warned or self.quiet:
            return
        self.warned = True
        message = (
            "Several clones of one private estimator were fitted: each fit is paid for on its own, and scores on "
            "records that were held out are not private. celosia.learn.PrivateSearchCV accounts for both."
        )
        warnings.warn(message, TuningWarning, stacklevel=6)


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
        """What this fit may spend; the neighbours and the unit are the budget's if there is one."""
        door = None if self.budget is None else door_of(self.budget)
        return Target.of(epsilon=self.epsilon, delta=self.delta, rho=self.rho, adjacency=self.adjacency, door=door)

    @contextlib.contextmanager
    def _paid(self, target: Target, event: "Event", *, features: int | None = None) -> Iterator[Payment]:
        """Pay for an event, run the block, and tell afterwards what was paid for."""
        guarantee = target.guarantee
        if guarantee is None:
            message = "Without privacy there is nothing to pay for."
            raise ParameterError(message)
        self._count_fit()
        question = self._question(features)
        with paid(self.budget, self.source, event, guarantee, question=question) as payment:
            yield payment
            seeded = payment.source.seeded
        self.event_, self.guarantee_, self.seeded_ = event, guarantee, seeded

    @contextlib.contextmanager
    def _or_as_before(self) -> Iterator[None]:
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

    def _plainly(self) -> None:
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
            message = "Say how many features there will be: n_features=, or an array of bounds."
            raise ParameterError(message)
        return int(whole(known, name="n_features"))

    # ------------------------------------------------------------------------------------------ what a model can do

    def save(self, path: "str | Path") -> None:
        """Write the fitted model to a file: JSON, with arrays as Arrow inside; ``celosia.learn.load`` reads it."""
        from celosia.learn.model_file import save

        save(self, path)

    def card(self, format: str = "markdown") -> str:  # noqa: A002 - the field's word
        """Return the model's card, in Markdown or HTML: bounds, guarantee, noise, and what accuracy they cost."""
        from celosia.learn.card import card

        text: str = card(self, format=format)
        return text

    # ------------------------------------------------------------------------------------------------ scikit-learn

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.source is None and not _is_plain(self.epsilon)
        return tags

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


def _is_plain(epsilon: object) -> bool:
    return isinstance(epsilon, float) and epsilon == float("inf")


def one_of_the_methods(method: object, methods: tuple[str, ...]) -> str:
    """Return a method that an estimator knows; refuse any other.

    >>> one_of_the_methods("auto", ("auto", "functional"))
    'auto'
    """
    if not isinstance(method, str) or method not in methods:
        message = f"method must be one of {', '.join(map(repr, methods))}, not {quote(method)}."
        raise ParameterError(message)
    return method
