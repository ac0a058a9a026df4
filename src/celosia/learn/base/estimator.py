"""The base of all private estimators: the privacy target of a fit, its payment, and its record.

The constructor stores and ``fit`` validates, as everywhere in scikit-learn. A fit validates, reserves its cost, reads
records, adds noise and commits. A fitted model holds noisy numbers alone, with the event that was paid for and its
guarantee.
"""

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator, clone

from celosia.core.errors import CelosiaError, NotPricedError, ParameterError
from celosia.core.exact import exact_integer, format_exact, safe_repr
from celosia.core.guarantees import ApproxDP, PureDP
from celosia.core.messages.message import name_unit
from celosia.core.release import Release
from celosia.learn.base.forecast import ExpectedError, Forecast
from celosia.learn.base.lineage import Lineage
from celosia.learn.privacy.parameters import known_count
from celosia.ledger.budget_account import BudgetAccount, as_account, settle
from celosia.noise.source import source_or_system
from celosia.statistics.base.target import Target, is_infinite

if TYPE_CHECKING:
    from pathlib import Path

    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.core.events import Event
    from celosia.core.exact import Exact
    from celosia.core.guarantees import Guarantee
    from celosia.ledger.budgets.release_kind import ReleaseKind
    from celosia.ledger.reservations.reservation import Reservation


@dataclass(slots=True, kw_only=True)
class Payment:
    """The source of the noise of a paid fit; ``deliver`` the noisy result before the block ends.

    ``reservation`` is what paid; None without a budget.
    """

    source: "Source"
    reservation: "Reservation | None" = None
    value: Any = field(default=None, repr=False)

    def deliver(self, value: object) -> None:
        """Store the noisy result."""
        self.value = value


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """The base of the estimators: parameters ``epsilon``, ``delta``, ``rho``, ``adjacency``, ``budget`` and ``source``.

    Fields are the parameters of the constructor, from which scikit-learn reads them; ``field(init=False)`` is an
    attribute that ``fit`` sets.

    >>> from celosia.learn import StandardScaler
    >>> isinstance(StandardScaler(epsilon=1), PrivateEstimator)
    True
    """

    epsilon: "Exact | None" = 1.0
    delta: "Exact | None" = None
    rho: "Exact | None" = None
    adjacency: "Adjacency | str | None" = None
    budget: Any = None
    source: "Source | None" = None

    event_: "Event | None" = field(init=False)
    guarantee_: "Guarantee | None" = field(init=False)
    noise_scale_: Any = field(init=False)
    seeded_: bool = field(init=False)
    n_features_in_: int = field(init=False)

    least_rows: ClassVar[int] = 1
    """The fewest rows that ``preview`` makes a forecast for."""

    needs_gaussian: ClassVar[bool] = False
    """Whether noise is Gaussian wherever there is a delta: a federation sets it whose parties share one noise."""

    hides_number: ClassVar[bool] = False
    """Whether it is no error to have no row: a federation sets it, whose parties have no budget of their own."""

    def find_privacy_target(self) -> Target:
        """Return what a fit may spend; the neighbours are those of the budget if there is one.

        Rows in memory do not tell whose they are, so that a budget of persons, with all their rows, cannot be kept; nor
        can any be kept without noise.
        """
        account = None if self.budget is None else as_account(self.budget)
        target = self._target(adjacency=self.adjacency, budget=None if account is None else account.limit)
        if account is not None and not target.private:
            raise ParameterError("learn.budget_without_privacy")
        if target.unit != "row":
            raise ParameterError("learn.budget_not_for_rows", unit=name_unit(target.unit))
        return target

    def _target(self, **given: Any) -> Target:
        """Return the target of the parameters, for the given neighbours."""
        epsilon = None if self.rho is not None and self.epsilon == 1 else self.epsilon  # the default gives way to a rho
        found = Target.of(epsilon=epsilon, delta=self.delta, rho=self.rho, **given)
        return replace(found, gaussian=True) if self.needs_gaussian else found

    @contextlib.contextmanager
    def _spend(self, target: Target, event: "Event", *, features: int | None = None) -> Iterator[Payment]:
        """Pay for an event, run the block, and record the event and its guarantee."""
        guarantee = target.guarantee
        if guarantee is None:
            raise ParameterError("learn.nothing_to_pay_for")
        self._count_fit()
        question = self._question(features)
        with spend(self.budget, self.source, event, guarantee, question=question) as payment:
            yield payment
            seeded = payment.source.seeded
        self.event_, self.guarantee_, self.seeded_ = event, guarantee, seeded

    @contextlib.contextmanager
    def _rollback_on_error(self) -> Iterator[None]:
        """Run a block, and restore the attributes if it raises."""
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
        """Record that the fit has no guarantee."""
        self.event_, self.guarantee_, self.noise_scale_, self.seeded_ = None, None, 0.0, False

    def _question(self, features: int | None) -> str:
        about = "" if features is None else f" on {features} features"
        return f"Fit {type(self).__name__}{about}"

    # ------------------------------------------------------------------------------------------------- forecasting

    def preview(
        self,
        n: int,
        epsilon: "Exact | None" = None,
        *,
        delta: "Exact | None" = None,
        rho: "Exact | None" = None,
        n_features: int | None = None,
    ) -> Forecast:
        """Return what a fit on ``n`` rows would cost and how far off its result would be; nothing is spent.

        ``what`` of the forecast says which result, and ``assumption`` what is supposed about the data.

        >>> from celosia.learn import StandardScaler
        >>> StandardScaler(bounds=(0, [1, 120])).preview(1000, epsilon=1).error < 0.003
        True
        """
        rows = int(exact_integer(n, name="n", least=self.least_rows))
        privacy = self._forecast_target(epsilon, delta, rho)
        expected = self.expect_error(rows, privacy, n_features)
        return Forecast(rows=rows, guarantee=privacy.guarantee, **asdict(expected))

    def expect_error(self, rows: int, privacy: Target, n_features: int | None) -> ExpectedError:  # noqa: ARG002 - refuses
        """Return the expected error of a fit on ``rows`` rows; a subclass that makes forecasts implements it."""
        raise ParameterError("learn.no_forecasts", estimator=type(self).__name__)

    def _forecast_target(
        self, epsilon: "Exact | None", delta: "Exact | None" = None, rho: "Exact | None" = None
    ) -> Target:
        """What ``preview`` supposes to be spent: what it was given, or the estimator's own."""
        return self.find_privacy_target().with_amount(epsilon, delta, rho)

    def _feature_count(self, n_features: int | None) -> int:
        """How many features a forecast is for."""
        known = n_features if n_features is not None else known_count(getattr(self, "bounds", None))
        if known is None:
            known = getattr(self, "n_features_in_", None)
        if known is None:
            raise ParameterError("learn.missing_feature_number")
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
            self._lineage.count_clone()
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
        """Return the stored state, without a seeded source, which would restart in every copy."""
        state = dict(super().__getstate__())
        if getattr(state.get("source"), "seeded", False):
            state["source"] = None
        return state

    def _count_fit(self) -> None:
        if getattr(self, "_is_clone", False):
            self._lineage.count_fit()


def check_method(method: object, methods: tuple[str, ...]) -> str:
    """Return a method that an estimator knows; refuse any other."""
    if not isinstance(method, str) or method not in methods:
        raise ParameterError("learn.unknown_method", known=", ".join(map(repr, methods)), value=safe_repr(method))
    return method


@contextlib.contextmanager
def spend(
    budget: object,
    source: "Source | None",
    event: "Event",
    guarantee: "Guarantee",
    *,
    question: str,
    kind: "ReleaseKind" = "model",
    reservation: "Reservation | None" = None,
) -> Iterator[Payment]:
    """Reserve an event with the budget, run the block, and commit as ``settle`` does; without a budget only draw.

    A ``reservation`` that is still open, of a process that ended before its work was done, pays instead.
    """
    drawn = source_or_system(source)
    payment = Payment(source=drawn)
    if budget is None:
        yield payment
        return
    account = as_account(budget)
    if drawn.seeded and not account.allows_seeded:
        raise ParameterError("learn.repeatable_noise_in_ledger")
    payment.reservation = reservation or _reserve(account, event, guarantee, question, kind)
    with settle(account, payment.reservation, failure="learn.fit_failed") as paid:
        yield payment
        paid.deliver(Release(value=payment.value, event=event, guarantee=guarantee, seeded=drawn.seeded))


def _reserve(account: BudgetAccount, event: "Event", guarantee: "Guarantee", question: str, kind: "ReleaseKind") -> Any:
    """Reserve the event; explain in the caller's words what a pure budget cannot pay for."""
    try:
        return account.reserve(event, question=question, kind=kind)
    except NotPricedError:
        if not (isinstance(account.budget, PureDP) and isinstance(guarantee, ApproxDP)):
            raise
        delta = format_exact(guarantee.delta)
    raise ParameterError("core.budget_without_delta", value=delta)
