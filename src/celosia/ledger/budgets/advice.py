"""Messages for costs that exceed a budget: the remainder, how much would fit, and whom to ask.

The remainder depends on the queries so far and not on the data, so it reveals nothing private.
"""

from bisect import bisect_left
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.core.errors import NotPricedError
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.core.structure import GuaranteedEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core.events import Event

_DIGITS: Final = 3
_POWERS: Final = range(-8, 3)  # of ten, for numbers from 1e-6 to 99,900
_ASK_OWNER: Final = "ask the owner of the data for more"


def describe_refusal(
    cost: Guarantee, left: Guarantee, scope: str, admits: "Callable[[Event], bool]", *, until: str | None = None
) -> str:
    """Return the sentence that refuses a cost, with the remainder of a scope and the remedy.

    ``admits(event)`` returns whether an event fits: some budgets admit more than the remaining number. ``until`` is
    when the window renews.
    """
    time, wait = ("", "") if until is None else (f" until {until}", ", or wait")
    advice = _advise(cost, left, admits)
    if isinstance(left, PureDP | ApproxDP | ZCDP):
        return f"The question costs {cost}, and {scope} has {left} left{time}: {advice}{wait}."
    # Guarantees of other kinds are not numbers that a query takes as a target.
    return f"The question costs more than {scope} has left{time}: {advice}{wait}."


def _advise(cost: Guarantee, left: Guarantee, admits: "Callable[[Event], bool]") -> str:
    if isinstance(left, ApproxDP) and isinstance(cost, ApproxDP) and 0 < cost.epsilon <= left.epsilon:
        return _advise_delta(cost, left)
    name = "rho" if isinstance(left, ZCDP) else "epsilon"
    most = left.rho if isinstance(left, ZCDP) else _largest_epsilon(left, admits)
    if not most:
        return f"it is used up, so {_ASK_OWNER}"
    return f"ask for {'a' if name == 'rho' else 'an'} {name} of at most {_write(most)}, or {_ASK_OWNER}"


def _advise_delta(cost: ApproxDP, left: ApproxDP) -> str:
    if not left.delta:
        return f"its delta is used up, so give delta=0, which needs public keys, or {_ASK_OWNER}"
    if cost.delta <= left.delta:  # only a part of the remainder is for this query
        return f"ask for a smaller delta, or {_ASK_OWNER}"
    return f"ask for a delta of at most {_write(left.delta)}, or {_ASK_OWNER}"


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


def _write(number: Fraction) -> str:
    """Format a number in decimals; a long one is rounded down, so that it fits the budget."""
    short = f"{float(number):.6g}"
    if Fraction(short) == number:
        return short
    with localcontext(prec=_DIGITS, rounding=ROUND_FLOOR):
        return f"{float(Decimal(number.numerator) / Decimal(number.denominator)):g}"
