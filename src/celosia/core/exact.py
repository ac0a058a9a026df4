"""Parameters, checked on entry (exact rational numbers, names and adjacencies), and the values made of them.

Privacy parameters are compared, added and subtracted for years; floats would drift. So every parameter becomes a
``Fraction`` on entry: ``"0.1"`` means exactly 1/10, the float ``0.1`` means exactly the binary fraction that it is.
Values without a meaning (NaN, infinity, subnormals, booleans) are refused here, once, for all packages.
"""

import dataclasses
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import ClassVar, Self, SupportsIndex, TypeAlias, cast

from celosia.core.adjacency import Adjacency, SameChanges
from celosia.core.errors import GuaranteeMismatchError, ParameterError
from celosia.core.messages.message import Message

Exact: TypeAlias = int | float | Fraction | Decimal | str
"""The types that a parameter accepts."""

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,5})?", re.ASCII)
_RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
_HALF_A_PAIR = re.compile(r"[\ud800-\udfff]")  # of surrogates
_MAX_DIGITS = 1_000
_MAX_RATIO_BITS = 3_300  # of numerator and denominator together: such a ratio fits in _MAX_DIGITS characters
_ROUNDED_BITS = 128  # significant bits of a number that short_at_least rounds up
_ALWAYS_IN_RANGE_BITS = 1_000  # a ratio this short is within the two magnitudes below
_MIN_MAGNITUDE = Fraction(2) ** -1022  # the smallest normal double: below it a parameter is a mistake, not a choice
_MAX_MAGNITUDE = 2**1023
_MAX_EPSILON = 2**16
_MIN_TARGET = Fraction(1, 10**100)  # of epsilon or rho: no noise that can be drawn is wide enough for less
MIN_DELTA = Fraction(1, 10**200)
"""The least delta of a target, other than 0."""
_MAX_NAME_LENGTH = 200
_MAX_LITERAL_LENGTH = 20  # digits of a fraction that str() does not round


def exact(value: Exact, *, name: str) -> Fraction:
    """Return the rational number that ``value`` stands for."""
    fraction = value if type(value) is Fraction else Fraction(value) if type(value) is int else _parse(value, name)
    if fraction.numerator.bit_length() + fraction.denominator.bit_length() <= _ALWAYS_IN_RANGE_BITS:
        return fraction
    if fraction != 0 and not _MIN_MAGNITUDE <= abs(fraction) <= _MAX_MAGNITUDE:
        raise ParameterError("core.magnitude_out_of_range", name=name, value=safe_repr(value))
    if _count_bits(fraction) > _MAX_RATIO_BITS:  # a record could not be written down and read back
        raise ParameterError("core.too_many_digits", name=name, most=_MAX_DIGITS, value=safe_repr(value))
    return fraction


def exact_positive(value: Exact, *, name: str) -> Fraction:
    """Return ``value`` as a fraction, or refuse it if it is zero or less."""
    fraction = exact(value, name=name)
    if fraction.numerator <= 0:
        raise ParameterError("core.not_positive", name=name, value=safe_repr(value))
    return fraction


def exact_non_negative(value: Exact, *, name: str) -> Fraction:
    """Return ``value`` as a fraction, or refuse it if it is negative."""
    fraction = exact(value, name=name)
    if fraction.numerator < 0:
        raise ParameterError("core.negative_number", name=name, value=safe_repr(value))
    return fraction


def exact_epsilon(value: Exact) -> Fraction:
    """Return an epsilon that a mechanism can spend: positive, and small enough to protect anything at all."""
    return _exact_cost(value, name="epsilon")


def _exact_cost(value: Exact, *, name: str) -> Fraction:
    fraction = exact_positive(value, name=name)
    if fraction > _MAX_EPSILON:
        raise ParameterError("core.privacy_loss_too_large", name=name, most=_MAX_EPSILON, value=safe_repr(value))
    return fraction


def exact_target(
    *, epsilon: Exact | None, delta: Exact | None, rho: Exact | None
) -> tuple[Fraction, Fraction, Fraction | None]:
    """Return the epsilon, the delta and the rho that one release may spend: an epsilon, perhaps with a delta, or a rho.

    An epsilon or a delta that is not given is 0, a rho None.
    """
    if rho is None:
        if epsilon is None:
            raise ParameterError("core.missing_target")
        return _exact_amount(epsilon, name="epsilon"), Fraction(0) if delta is None else exact_delta(delta), None
    if epsilon is not None or delta is not None:
        raise ParameterError("core.rho_stands_alone", rho=safe_repr(rho))
    return Fraction(0), Fraction(0), _exact_amount(rho, name="rho")


def _exact_amount(value: Exact, *, name: str) -> Fraction:
    fraction = _exact_cost(value, name=name)
    if fraction < _MIN_TARGET:
        raise ParameterError("core.target_too_small", name=name, value=safe_repr(value))
    return fraction


def exact_delta(value: Exact) -> Fraction:
    """Return a delta that one release may spend: 0, or large enough for noise that can be drawn, and below 1."""
    fraction = exact_non_negative(value, name="delta")
    if fraction >= 1 or 0 < fraction < MIN_DELTA:
        raise ParameterError("core.delta_out_of_range", delta=safe_repr(value))
    return fraction


def exact_probability(value: Exact, *, name: str) -> Fraction:
    """Return a number between 0 and 1, both included."""
    fraction = exact(value, name=name)
    if not 0 <= fraction <= 1:
        raise ParameterError("core.outside_unit_interval", name=name, value=safe_repr(value))
    return fraction


def exact_level(value: Exact, *, name: str = "level") -> float:
    """Return a confidence level: greater than 0 and less than 1, as a float."""
    level = float(exact(value, name=name))
    if not 0 < level < 1:
        raise ParameterError("core.not_between_zero_and_one", name=name, value=safe_repr(value))
    return level


def exact_integer(value: int, *, name: str, least: int = 1) -> int:
    """Return ``value`` as an ``int`` of at least ``least``; a float, even 2.0, is refused."""
    number = value if type(value) is int else _index(value)
    if number is None:
        raise ParameterError("core.not_an_integer", name=name, value=safe_repr(value))
    if number < least:
        raise ParameterError("core.below_minimum", name=name, least=least, value=safe_repr(value))
    if number > _MAX_MAGNITUDE:
        raise ParameterError("core.integer_too_large", name=name, value=safe_repr(value))
    return number


def exact_text(value: object, *, name: str) -> str:
    """Return ``value`` if it is a short, non-empty, printable string."""
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= _MAX_NAME_LENGTH:
        raise ParameterError("core.not_printable_text", name=name, most=_MAX_NAME_LENGTH)
    return str.__str__(value)  # a NumPy string becomes a plain str


def is_unicode(text: str) -> bool:
    """Return whether a string can be encoded in UTF-8: whether no half of a surrogate pair is in it."""
    return text.isascii() or _HALF_A_PAIR.search(text) is None


def exact_adjacency(value: Adjacency | str, *, histories: bool = False) -> Adjacency:
    """Return the adjacency that ``value`` names: AddRemove, ReplaceOne or its string in a record.

    ``SameChanges`` is accepted only with ``histories=True``, for guarantees: data sets have no such neighbours.
    """
    try:
        found = Adjacency(value)
    except ValueError as error:
        raise ParameterError("core.unknown_adjacency", value=safe_repr(value)) from error
    if found is SameChanges and not histories:
        raise ParameterError("core.same_changes_not_allowed")
    return found


def refuse_same_changes(adjacency: Adjacency, code: str, **fields: object) -> None:
    """Raise ``GuaranteeMismatchError`` if a guarantee holds only between histories that change at the same times.

    ``code`` and ``fields`` are those of the sentence's subject.
    """
    if adjacency is SameChanges:
        raise GuaranteeMismatchError("core.same_changes_mismatch", what=Message(code, **fields))


def short_at_least(fraction: Fraction) -> Fraction:
    """Return ``fraction`` if a record can hold it, else the next larger number of 128 significant binary digits.

    Sums of exact numbers are exact, but after a hundred unlike denominators they are too long to store.
    """
    if _count_bits(fraction) <= _MAX_RATIO_BITS:
        return fraction
    places = _ROUNDED_BITS + fraction.denominator.bit_length() - fraction.numerator.bit_length()
    unit = Fraction(2) ** -places
    return math.ceil(fraction / unit) * unit


def double_at_least(fraction: Fraction) -> float:
    """Return the least double that is not below a fraction, or raise ``ParameterError`` beyond the doubles."""
    try:
        nearest = float(fraction)
    except OverflowError as error:
        raise ParameterError("core.beyond_double_range") from error
    return nearest if Fraction(nearest) >= fraction else math.nextafter(nearest, math.inf)


def double_at_most(fraction: Fraction) -> float:
    """Return the largest double that is not above a fraction, or raise ``ParameterError`` beyond the doubles."""
    return -double_at_least(-fraction)


def format_exact(fraction: Fraction) -> str:
    """Write a fraction as the shortest Python literal that ``exact`` reads back to the same number."""
    if fraction.denominator == 1:
        return str(fraction.numerator)
    if abs(fraction.numerator).bit_length() <= 53 and Fraction(float(fraction)) == fraction:
        return repr(float(fraction))
    # "0.1" and "1e-06" are decimals, not doubles: the nearest double's shortest text is the decimal itself.
    decimal = repr(float(fraction))
    return repr(decimal if Fraction(decimal) == fraction else str(fraction))


def _parse(value: Exact, name: str) -> Fraction:
    if isinstance(value, bool):
        raise ParameterError("core.not_a_number", name=name, value=repr(value))
    if isinstance(value, str):
        return _parse_text(value.strip(), name)
    if isinstance(value, Decimal):
        return _parse_decimal(value, name)
    if isinstance(value, Fraction):
        return Fraction(value)
    index = _index(value)
    if index is not None:
        return Fraction(index)
    if hasattr(value, "as_integer_ratio") and not isinstance(value, type):  # float, and NumPy's floats of any width
        try:
            return Fraction(*value.as_integer_ratio())
        except (OverflowError, ValueError) as error:  # infinity, NaN
            raise ParameterError("core.not_finite", name=name, value=value) from error
    raise ParameterError("core.unsupported_number_type", name=name, type=type(value).__name__)


def _parse_text(text: str, name: str) -> Fraction:
    if len(text) <= _MAX_DIGITS:
        if text.isdigit() and text.isascii():  # most numbers of records
            return Fraction(int(text))
        if _DECIMAL.fullmatch(text):
            return _parse_decimal(Decimal(text), name)
        if _RATIO.fullmatch(text) and int(text.partition("/")[2]) != 0:
            return Fraction(text)
    raise ParameterError("core.text_not_a_number", name=name, value=safe_repr(text))


def _parse_decimal(value: Decimal, name: str) -> Fraction:
    # Check the exponent before taking the power of ten: Decimal("1e99999") would be a very long integer.
    if not value.is_finite() or (
        value != 0 and (abs(value.adjusted()) > _MAX_DIGITS or len(value.as_tuple().digits) > _MAX_DIGITS)
    ):
        raise ParameterError("core.number_of_unusual_size", name=name, value=safe_repr(value))
    return Fraction(value) if value != 0 else Fraction(0)


def _index(value: object) -> int | None:
    """Return ``value`` as an int (NumPy's too), or None; booleans and arrays are not numbers."""
    try:
        return None if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def _count_bits(fraction: Fraction) -> int:
    return fraction.numerator.bit_length() + fraction.denominator.bit_length()


def safe_repr(value: object) -> str:
    """Return the ``repr`` of a parameter for an error message, cut at 60 characters."""
    try:
        text = str(value) if isinstance(value, Fraction) else repr(value)
    except ValueError:  # Python refuses to write integers of more than 4300 digits
        return Message("core.very_long_value", type=type(value).__name__)
    return text if len(text) <= 60 else f"{text[:57]}..."


# ------------------------------------------------------------------------------------------------------- reprs


_field_names: dict[type["ReprMixin"], tuple[str, ...]] = {}


def field_names(kind: type["ReprMixin"]) -> tuple[str, ...]:
    """Return the names of the fields of a kind of record."""
    names = _field_names.get(kind)
    if names is None:
        names = _field_names[kind] = tuple([field.name for field in dataclasses.fields(kind)])
    return names


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ReprMixin:
    """A frozen value whose ``repr`` is the call that makes it, with exact numbers and without defaults.

    >>> from celosia.mechanisms import Laplace
    >>> Laplace(epsilon="0.1", sensitivity=1)
    Laplace(epsilon='0.1', sensitivity=1)
    """

    _last_in_repr: ClassVar[tuple[str, ...]] = ("grid", "dimension", "adjacency", "unit", "arithmetic")

    def _position_in_repr(self, name: str) -> int:
        return self._last_in_repr.index(name) if name in self._last_in_repr else -1

    def _derived_fields(self) -> tuple[str, ...]:
        """Return the names of the fields that the constructor computes from others, and does not accept beside them."""
        return ()

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        # A copy is constructed from the parameters, without the derived fields.
        given = {name: getattr(self, name) for name in field_names(type(self))}
        for name in self._derived_fields():
            del given[name]
        return partial(type(self), **given), ()

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return self._format(_format_literal)

    def __str__(self) -> str:
        """Return the ``repr`` with long fractions rounded, to read but not to evaluate."""
        return self._format(_format_rounded)

    def _format(self, write: Callable[[object], str]) -> str:
        shown = [
            f"{field.name}={write(getattr(self, field.name))}"
            for field in sorted(dataclasses.fields(self), key=lambda field: self._position_in_repr(field.name))
            if getattr(self, field.name) != field.default and field.name not in self._derived_fields()
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _format_literal(value: object) -> str:
    if isinstance(value, Fraction):
        return format_exact(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_literal, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _format_rounded(value: object) -> str:
    """Format a value as a literal, but a fraction of many digits as an approximate number."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_rounded, value))}{',' if len(value) == 1 else ''})"
    text = _format_literal(value)
    return text if not isinstance(value, Fraction) or len(text) <= _MAX_LITERAL_LENGTH else f"≈{float(value):.6g}"
