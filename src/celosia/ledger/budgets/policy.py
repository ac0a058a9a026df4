"""Budget policies: a permanent limit, an optional smaller one for every window of time, and an accountant.

Only accountants whose total is a sum may measure a budget that is spent adaptively (see
``celosia.accounting.filters``). The accountant is chosen when a budget opens and cannot change after the first
spending: a later choice could depend on the answers. A window never replaces the limit: people in the data are
protected for their lives, not for a week.
"""

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.accounting.accountants.base import AdaptiveAccountant
from celosia.accounting.accountants.classical import BasicAccountant, PureAccountant
from celosia.accounting.accountants.combined import CombinedAccountant
from celosia.accounting.accountants.sums import GDPAccountant, RenyiAccountant, ZCDPAccountant
from celosia.accounting.filters import Filter
from celosia.core.errors import GuaranteeMismatchError, ParameterError
from celosia.core.exact import exact_integer, exact_positive, refuse_same_changes, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

if TYPE_CHECKING:
    from collections.abc import Callable

ACCOUNTANTS: Final = ("basic", "combined", "gdp", "pure", "renyi", "zcdp")
"""The names of the accountants that a policy accepts."""

RULES: Final = ("least_cost", "analyst_share", "approval_above")
"""The rules for the analysts of a data set."""

# Never change these: a filter's orders must stay while it is open, and ledgers stay open for years.
_ORDERS: Final = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128, 256)
_MAX_WINDOW_SECONDS: Final = 100 * 366 * 86_400
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A limit on the spending in each window of ``seconds``, counted from the beginning of 1970 (UTC).

    >>> week = Window(seconds=7 * 86_400, limit=PureDP(epsilon=1))
    >>> week.start(datetime(2026, 1, 1, 12, tzinfo=UTC)).isoformat()
    '2026-01-01T00:00:00+00:00'
    """

    seconds: int
    limit: Guarantee

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", exact_integer(self.seconds, name="seconds"))
        if self.seconds > _MAX_WINDOW_SECONDS:
            raise ParameterError("ledger.window_too_long", most=_MAX_WINDOW_SECONDS, seconds=safe_repr(self.seconds))
        _check_limit(self.limit, "window.limit")

    def start(self, at: datetime) -> datetime:
        """Return the start of the window that contains a time.

        >>> Window(seconds=60, limit=PureDP(epsilon=1)).start(datetime(2026, 1, 1, 12, 0, 59, tzinfo=UTC)).second
        0
        """
        length = timedelta(seconds=self.seconds)
        return _EPOCH + (at - _EPOCH) // length * length

    def end(self, at: datetime) -> datetime:
        """Return the end of the window that contains a time.

        >>> Window(seconds=60, limit=PureDP(epsilon=1)).end(datetime(2026, 1, 1, 12, 0, 59, tzinfo=UTC)).minute
        1
        """
        return self.start(at) + timedelta(seconds=self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A limit, its accountant, an optional limit for every window of time, and whether real arithmetic is allowed.

    By default ``accountant`` follows from the limit. ``PureDP``: sums of epsilon. ``ApproxDP``: sums of epsilon and
    delta, or Rényi divergences where they have more room. ``ZCDP``: sums of rho. ``RenyiDP``: sums of divergences.
    ``GaussianDP``: sums of squares of mu.

    Three rules for the analysts of a data set compare the first number of a cost: epsilon, rho or mu. A query that
    costs less than ``least_cost`` is refused. An analyst without a budget on the data set has the part
    ``analyst_share`` of its limit. A query of an analyst that costs more than ``approval_above`` needs an approval.

    >>> Policy(limit=ZCDP(rho="0.5")).accountant
    'zcdp'
    >>> Policy(limit=PureDP(epsilon=1), accountant="pld")
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: accountant must be one of basic, combined, gdp, pure, renyi, zcdp, ...
    """

    limit: Guarantee
    accountant: str | None = None
    window: Window | None = None
    allow_real: bool = False
    least_cost: Fraction | None = None
    analyst_share: Fraction | None = None
    approval_above: Fraction | None = None

    def __post_init__(self) -> None:
        _check_limit(self.limit, "limit")
        if self.accountant is None:
            object.__setattr__(self, "accountant", _default_accountant(self.limit))
        if not isinstance(self.accountant, str) or self.accountant not in ACCOUNTANTS:
            raise ParameterError(
                "ledger.unknown_accountant", known=", ".join(ACCOUNTANTS), value=safe_repr(self.accountant)
            )
        if not isinstance(self.allow_real, bool):
            raise ParameterError("ledger.allow_real_not_boolean", allow_real=safe_repr(self.allow_real))
        self._check_window()
        self._check_rules()
        self.open()

    def _check_rules(self) -> None:
        for name in RULES:
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, exact_positive(given, name=name))
        if self.analyst_share is not None and self.analyst_share > 1:
            raise ParameterError("ledger.share_above_one", value=safe_repr(self.analyst_share))
        if self.accountant == "renyi" and (self.least_cost or self.approval_above):
            raise ParameterError("ledger.rule_needs_one_number")

    def share_among_analysts(self) -> "Policy | None":
        """Return the policy of an analyst who has no budget of their own; None if the rule is not set.

        >>> str(Policy(limit=PureDP(epsilon=1), analyst_share="0.1").share_among_analysts().limit.epsilon)
        '1/10'
        """
        if self.analyst_share is None:
            return None
        limit = self.limit
        numbers = {
            field.name: getattr(limit, field.name) * self.analyst_share
            for field in fields(limit)
            if isinstance(getattr(limit, field.name), Fraction)
        }
        if isinstance(limit, RenyiDP):
            numbers = {"epsilons": tuple(number * self.analyst_share for number in limit.epsilons)}
        return Policy(limit=replace(limit, **numbers), accountant=self.accountant, allow_real=self.allow_real)

    def _check_window(self) -> None:
        if self.window is None:
            return
        if not isinstance(self.window, Window):
            raise ParameterError("ledger.not_a_window", window=safe_repr(self.window))
        inner, outer = self.window.limit, self.limit
        if inner.adjacency is not outer.adjacency or inner.unit != outer.unit:
            raise GuaranteeMismatchError("ledger.window_limit_mismatch")
        self.open_window()

    def make_accountant(self, suited: Guarantee | None = None) -> AdaptiveAccountant:
        """Return a new accountant of this policy.

        ``suited`` is the limit of the first spending, which fixes the orders.

        >>> Policy(limit=PureDP(epsilon=1)).make_accountant().name
        'pure'
        """
        makers: dict[str, Callable[[], AdaptiveAccountant]] = {
            "basic": BasicAccountant,
            "combined": lambda: CombinedAccountant(suited if isinstance(suited, ApproxDP) else None),
            "gdp": GDPAccountant,
            "pure": PureAccountant,
            "renyi": lambda: RenyiAccountant(self.limit.orders if isinstance(self.limit, RenyiDP) else _ORDERS),
            "zcdp": ZCDPAccountant,
        }
        return makers[str(self.accountant)]()

    def open(self, suited: Guarantee | None = None) -> Filter:
        """Return a new filter for the limit; ``suited`` is as in ``make_accountant``.

        >>> Policy(limit=PureDP(epsilon=1)).open().remaining
        PureDP(epsilon=1)
        """
        return Filter(self.make_accountant(suited), self.limit)

    def open_window(self) -> Filter:
        """Return a new filter for one window.

        >>> Policy(
        ...     limit=PureDP(epsilon=9), window=Window(seconds=60, limit=PureDP(epsilon=1))
        ... ).open_window().remaining
        PureDP(epsilon=1)
        """
        if self.window is None:
            raise ParameterError("ledger.policy_without_window")
        return Filter(self.make_accountant(), self.window.limit)


def _check_limit(limit: object, name: str) -> None:
    if not isinstance(limit, Guarantee):
        raise ParameterError("ledger.limit_not_a_guarantee", name=name, value=safe_repr(limit))
    refuse_same_changes(limit.adjacency, "ledger.same_changes_limit", name=name)
    if isinstance(limit, ApproxDP) and limit.delta >= 1:
        raise ParameterError("ledger.delta_promises_nothing", name=name)


def _default_accountant(limit: Guarantee) -> str:
    if isinstance(limit, ApproxDP) and limit.epsilon > 0 and limit.delta > 0:
        return "combined"
    kinds: tuple[tuple[type[Guarantee], str], ...] = (
        (PureDP, "pure"),
        (ApproxDP, "basic"),
        (ZCDP, "zcdp"),
        (RenyiDP, "renyi"),
        (GaussianDP, "gdp"),
    )
    return next(name for kind, name in kinds if isinstance(limit, kind))
