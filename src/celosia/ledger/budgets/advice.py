"""Messages for costs that exceed a budget: the remainder, how much would fit, and whom to ask.

The remainder depends on the queries so far and not on the data, so it reveals nothing private.
"""

from bisect import bisect_left
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.errors import NotPricedError
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.core.messages.message import Message
from celosia.core.structure import GuaranteedEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core.events import Event

_DIGITS: Final = 3
_POWERS: Final = range(-8, 3)  # of ten, for numbers from 1e-6 to 99,900


def describe_refusal(
    cost: Guarantee, left: Guarantee, scope: Message, admits: "Callable[[Event], bool]", *, until: str | None = None
) -> Message:
    """Return the sentence that refuses a cost, with the remainder of a scope and the remedy.

    ``admits(event)`` returns whether an event fits: some budgets admit more than the remaining number. ``until`` is
    when the window renews.
    """
    advice = _advise(cost, left, admits)
    # Guarantees of other kinds are not numbers that a query takes as a target.
    numbers = {"cost": cost, "left": left} if isinstance(left, PureDP | ApproxDP | ZCDP) else {}
    if until is None:
        return Message(
            "ledger.cost_too_high" if numbers else "ledger.cost_not_covered", scope=scope, advice=advice, **numbers
        )
    code = "ledger.cost_too_high_in_window" if numbers else "ledger.cost_not_covered_in_window"
    return Message(code, scope=scope, advice=advice, until=until, **numbers)


def _advise(cost: Guarantee, left: Guarantee, admits: "Callable[[Event], bool]") -> Message:
    if isinstance(left, ApproxDP) and isinstance(cost, ApproxDP) and 0 < cost.epsilon <= left.epsilon:
        return _advise_delta(cost, left)
    most = left.rho if isinstance(left, ZCDP) else _largest_epsilon(left, admits)
    if not most:
        return Message("ledger.advice_used_up")
    return Message("ledger.advice_rho" if isinstance(left, ZCDP) else "ledger.advice_epsilon", most=_round_down(most))


def _advise_delta(cost: ApproxDP, left: ApproxDP) -> Message:
    if not left.delta:
        return Message("ledger.advice_delta_used_up")
    if cost.delta <= left.delta:  # only a part of the remainder is for this query
        return Message("ledger.advice_smaller_delta")
    return Message("ledger.advice_delta", most=_round_down(left.delta))


def _largest_epsilon(left: Guarantee, admits: "Callable[[Event], bool]") -> Fraction:
    """Return the largest epsilon of three digits that the budget admits without a delta."""
    known = left.epsilon if isinstance(left, PureDP | ApproxDP) else Fraction(0)
    if isinstance(left, PureDP):
        return known
    # The candidates are always the same, because accountants cache prices.
    places = range(900 * len(_POWERS))
    fitting = bisect_left(places, 1, key=lambda place: not _is_admitted(_three_digits(place), left, admits))
    return max(known, _three_digits(fitting - 1)) if fitting else known


def _three_digits(place: int) -> Fraction:
    """Return the number of three significant digits at a place in their order."""
    power, digits = divmod(place, 900)
    return (100 + digits) * Fraction(10) ** _POWERS[power]


def _is_admitted(epsilon: Fraction, left: Guarantee, admits: "Callable[[Event], bool]") -> bool:
    guarantee = PureDP(epsilon=epsilon, adjacency=left.adjacency, unit=left.unit)
    try:
        return admits(GuaranteedEvent(guarantee=guarantee))
    except NotPricedError:
        return False


def _round_down(number: Fraction) -> float:
    """Return a number of at most six digits; a longer one is rounded down, so that it fits the budget."""
    if Fraction(f"{float(number):.6g}") == number:
        return float(number)
    with localcontext(prec=_DIGITS, rounding=ROUND_FLOOR):
        return float(Decimal(number.numerator) / Decimal(number.denominator))
