"""Format numbers and guarantees in a language, with only the meaningful digits.

Spent amounts are rounded up and remaining amounts down, so that a page never shows a stronger guarantee than the
ledger. The separators follow the Unicode CLDR: ``12,345.6`` in English, ``12.345,6`` in Spanish, which does not group
four digits.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final

from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP

_MARKS: Final = {"en": (",", "."), "es": (".", ",")}
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MIN_POWER, _MAX_POWER = -5, 15  # powers of ten between which numbers have no exponent
_DEFAULT_DIGITS: Final = 4
_MAX_DECIMALS: Final = 9
_ROUNDINGS: Final = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "near": ROUND_HALF_EVEN}
_NO_BREAK_SPACE: Final = "\N{NO-BREAK SPACE}"
_SYMBOLS: Final = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ"}


def format_number(
    value: "float | Fraction | Decimal",
    code: str,
    *,
    decimals: int | None = None,
    digits: int = _DEFAULT_DIGITS,
    rounded: str = "near",
    grouped: bool = False,
) -> str:
    """Return a number with ``decimals``, or with significant ``digits`` but all digits of its integer part.

    ``grouped`` also separates the thousands of four digits, for columns with longer numbers.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    exact = _round(value, digits, decimals, rounded)
    power = exact.adjusted() if exact else 0
    if not _MIN_POWER <= power < _MAX_POWER:
        mantissa = _group_digits(_trim_zeros(exact.scaleb(-power)), code)
        return f"{mantissa}{_NO_BREAK_SPACE}×{_NO_BREAK_SPACE}10{str(power).translate(_SUPERSCRIPTS)}"
    return _group_digits(f"{exact:f}" if decimals is not None else _trim_zeros(exact), code, always=grouped)


def _round(value: "float | Fraction | Decimal", digits: int, decimals: int | None, rounded: str) -> Decimal:
    """Return the number, rounded once from its exact value."""
    fraction = Fraction(value)
    if decimals is None:
        whole = len(str(abs(int(fraction))))
        context = Context(prec=max(digits, whole), rounding=_ROUNDINGS[rounded])
        return context.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))
    scaled = fraction * 10**decimals
    steps = math.ceil(scaled) if rounded == "up" else math.floor(scaled) if rounded == "down" else round(scaled)
    return Decimal((int(steps < 0), tuple(map(int, str(abs(steps)))), -decimals))


def _trim_zeros(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _group_digits(text: str, code: str, *, always: bool = False) -> str:
    group, point = _MARKS[code]
    sign = "−" if text.startswith("-") else ""
    whole, _, rest = text.removeprefix("-").partition(".")
    if len(whole) > (4 if code == "es" and not always else 3):
        whole = f"{int(whole):,}".replace(",", group)
    return f"{sign}{whole}{point}{rest}" if rest else f"{sign}{whole}"


def decimals_for(width: float) -> int:
    """Return the decimals of a number with an interval of this width: two digits of the width."""
    if not math.isfinite(width) or width <= 0:
        return 0
    return min(_MAX_DECIMALS, max(0, 1 - math.floor(math.log10(width))))


def format_guarantee(guarantee: Guarantee, code: str, *, rounded: str = "up") -> str:
    """Return a guarantee in symbols; a spent delta of zero is omitted, a remaining one is shown."""
    if not isinstance(guarantee, PureDP | ApproxDP | ZCDP | GaussianDP):
        return str(guarantee)
    parts = [(sign, getattr(guarantee, name)) for name, sign in _SYMBOLS.items() if hasattr(guarantee, name)]
    shown = [part for part in parts if part[1] or part[0] != "δ" or rounded != "up"]
    return "; ".join(
        f"{sign}{_NO_BREAK_SPACE}={_NO_BREAK_SPACE}{format_number(number, code, rounded=rounded)}"
        for sign, number in shown
    )


def compute_share(spent: Guarantee, limit: Guarantee) -> float | None:
    """Return the spent part of a limit, between 0 and 1: the largest over its numbers; None if incomparable."""
    if type(spent) is not type(limit) or not isinstance(spent, PureDP | ApproxDP | ZCDP | GaussianDP):
        return None
    parts = [_divide(getattr(spent, name), getattr(limit, name)) for name in _SYMBOLS if hasattr(spent, name)]
    return min(1.0, max(parts))


def _divide(spent: Fraction, limit: Fraction) -> float:
    return float(spent / limit) if limit else float(spent > 0)
