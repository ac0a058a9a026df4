"""Format the numbers of a guarantee, on a line (ε, δ and ρ) and in JSON.

On a line, short numbers are exact; a long one is rounded up and marked with a ≤. A δ of 0 is left out. In JSON they are
the doubles next to them, never below.
"""

import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from celosia.cli.account.events import plain_number
from celosia.cli.account.show import at_least
from celosia.cli.language import join_values, translate, write_number
from celosia.core import ZCDP, ApproxDP, Guarantee, PureDP

if TYPE_CHECKING:
    from celosia.ledger import KindTotal

_LETTERS: Final = (("ε", "epsilon"), ("δ", "delta"), ("ρ", "rho"), ("μ", "mu"))


def cost(guarantee: Guarantee) -> str:
    """Format the numbers of a guarantee."""
    match guarantee:
        case PureDP(epsilon=epsilon):
            return _is("ε", epsilon)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return join_values([_is("ε", epsilon), _is("δ", delta)]) if delta else _is("ε", epsilon)
        case ZCDP(rho=rho):
            return _is("ρ", rho)
        case _:
            return str(guarantee)


def left(guarantee: Guarantee) -> str:
    """Format the remainder of a budget; a long number is rounded down, so that it can be spent."""
    names = [(letter, name) for letter, name in _LETTERS if hasattr(guarantee, name)]
    numbers = [(letter, getattr(guarantee, name)) for letter, name in names]
    if not numbers or not all(isinstance(number, Fraction) for _, number in numbers):
        return str(guarantee)
    return join_values(_has(letter, number) for letter, number in numbers if number or letter != "δ")


def name_kind(total: "KindTotal") -> str:
    """Return the name of a kind of release, with their number."""
    return f"{translate(total.message)} ({write_number(total.releases)})"


def spent(guarantee: Guarantee) -> dict[str, float]:
    """Return a guarantee's numbers by name, for JSON."""
    names = [name for name in ("epsilon", "delta", "rho", "mu") if hasattr(guarantee, name)]
    return {name: _at_least(getattr(guarantee, name)) for name in names}


def _is(letter: str, number: Fraction) -> str:
    text = plain_number(number)
    if text.startswith("≈"):
        return f"{letter} ≤ {translate(at_least(_at_least(number)))}"
    return f"{letter} = {translate(text)}"


def _has(letter: str, number: Fraction) -> str:
    text = plain_number(number)
    if not text.startswith("≈"):
        return f"{letter} = {translate(text)}"
    with localcontext(prec=6, rounding=ROUND_FLOOR):
        down = Decimal(number.numerator) / Decimal(number.denominator)
    return f"{letter} ≥ {write_number(float(down), '.6g')}"


def _at_least(number: Fraction) -> float:
    """Return the nearest double if its decimal is the number, else one that is not below it."""
    near = float(number)
    return near if Fraction(repr(near)) == number or Fraction(near) >= number else math.nextafter(near, math.inf)
