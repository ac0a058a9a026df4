"""Kinds of columns: what a column may hold, declared by the owner without looking at the data.

Bounds and categories are public: they decide how much noise is needed, so they must never be read from the data. A
value that is not of the kind (null, NaN, an infinity, an unknown category, a string that is no number) follows the
column's *null rule*: ``"drop"`` leaves the row out of computations with the column; a value replaces it. Only then are
numbers clipped to their bounds.
"""

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias, TypeVar

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact, format_exact, safe_repr
from celosia.data.schema.axis import Axis, axis_between, integer_axis
from celosia.data.schema.values import (
    as_boolean,
    as_categories,
    as_category,
    as_date,
    as_integer,
    as_text,
    as_timestamp,
)

Value: TypeAlias = "int | Fraction | str | bool | dt.date | dt.datetime"
"""A clean value of a column, a key to group by, or a replacement for nulls."""

DROP: Final = "drop"
"""The null rule that leaves out rows without a value."""

MAX_KEYS: Final = 100_000
"""The most values of a column that can be grouped by without a list of keys."""

T = TypeVar("T")

_EPOCH = dt.date(1970, 1, 1)
_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NULL_OUTSIDE_BOUNDS: Final = "data.invalid_null_rule"


class Kind(ABC):
    """Base of the kinds of columns: a null rule, an axis for numbers, and a domain if it is public and short.

    >>> Integer(0, 120).axis
    Axis(0, 120, 1)
    """

    __slots__ = ()

    null: Value

    @property
    def nullable(self) -> bool:
        """Whether rows without a value are left out; the number of remaining rows is then private.

        >>> Integer(0, 120).nullable, Integer(0, 120, null=0).nullable
        (True, False)
        """
        return _is_drop(self.null)

    @property
    @abstractmethod
    def axis(self) -> Axis | None:
        """The axis on which the column is summed, or None if it does not hold numbers.

        >>> Boolean().axis, Text().axis
        (Axis(0, 1, 1), None)
        """

    def domain(self) -> tuple[Value, ...] | None:
        """Return all possible values of the column, in order, or None if they are too many or private.

        >>> Category("F", "M").domain(), Text().domain()
        (('F', 'M'), None)
        """
        return None

    @abstractmethod
    def _arguments(self) -> tuple[str, ...]:
        """Return the constructor arguments, without the null rule."""

    def __repr__(self) -> str:
        rule = () if _is_drop(self.null) else (f"null={_literal(self.null)}",)
        return f"{type(self).__name__}({', '.join((*self._arguments(), *rule))})"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Integer(Kind):
    """Integers between two bounds, both included.

    >>> Integer(0, 120)
    Integer(0, 120)
    """

    low: int
    high: int
    null: int | str
    _axis: Axis = field(init=False, repr=False, compare=False)

    def __init__(self, low: int, high: int, *, null: int | str = DROP) -> None:
        _set_bounds(self, low, high, null, as_integer)
        _set(self, _axis=integer_axis(self.low, self.high))

    @property
    def axis(self) -> Axis:
        """Steps of one, or of a power of two where there would be more than 2^30 of them, or some beyond 2^52.

        >>> Integer(0, 10**12).axis.grid
        Fraction(1024, 1)
        """
        return self._axis

    def domain(self) -> tuple[Value, ...] | None:
        """Return all the numbers, unless they are too many to list.

        >>> Integer(1, 3).domain()
        (1, 2, 3)
        """
        return tuple(range(self.low, self.high + 1)) if self.high - self.low < MAX_KEYS else None

    def _arguments(self) -> tuple[str, ...]:
        return str(self.low), str(self.high)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Real(Kind):
    """Real numbers between two bounds, rounded to the nearest multiple of ``grid``.

    The default grid has about 2^30 steps, far finer than any noise.

    >>> Real(0, 300, grid="0.1").axis
    Axis(0, 3000, '0.1')
    """

    low: Fraction
    high: Fraction
    grid: Fraction | None
    null: Fraction | str
    _axis: Axis = field(init=False, repr=False, compare=False)

    def __init__(self, low: Exact, high: Exact, *, grid: Exact | None = None, null: Exact = DROP) -> None:
        axis = axis_between(low, high, grid)
        first, last = exact(low, name="low"), exact(high, name="high")
        _set(self, low=first, high=last, grid=None if grid is None else axis.grid, _axis=axis)
        _set(self, null=_parse_null_rule(null, exact, _inside(first, last), _NULL_OUTSIDE_BOUNDS))

    @property
    def axis(self) -> Axis:
        """The steps between the bounds.

        >>> Real(-1, 1).axis.steps == 2**30
        True
        """
        return self._axis

    def _arguments(self) -> tuple[str, ...]:
        grid = () if self.grid is None else (f"grid={format_exact(self.grid)}",)
        return format_exact(self.low), format_exact(self.high), *grid


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Boolean(Kind):
    """True or false; as a number one or zero.

    >>> Boolean().domain()
    (False, True)
    """

    null: bool | str

    def __init__(self, *, null: bool | str = DROP) -> None:
        _set(self, null=_parse_null_rule(null, as_boolean, lambda _: True, "data.invalid_boolean_null_rule"))

    @property
    def axis(self) -> Axis:
        """Zero and one.

        >>> Boolean().axis
        Axis(0, 1, 1)
        """
        return integer_axis(0, 1)

    def domain(self) -> tuple[Value, ...]:
        """Return both values.

        >>> Boolean().domain()
        (False, True)
        """
        return (False, True)

    def _arguments(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Category(Kind):
    """One of a public list of values, texts or integers; ``ordered`` if the list goes from small to large.

    >>> Category("F", "M")
    Category('F', 'M')
    >>> Category(["low", "middle", "high"], ordered=True).values
    ('low', 'middle', 'high')
    """

    values: tuple[str | int, ...]
    ordered: bool
    null: str | int

    def __init__(self, *values: str | int | Iterable[str | int], ordered: bool = False, null: str | int = DROP) -> None:
        names = as_categories(values)
        if DROP in names:
            raise ParameterError("data.reserved_category_value", drop=DROP)
        _set(self, values=names, ordered=as_boolean(ordered, name="ordered"))
        _set(self, null=_parse_null_rule(null, as_category, names.__contains__, "data.invalid_category_null_rule"))

    @property
    def axis(self) -> None:
        """None: a category is not a number.

        >>> Category(1, 2).axis is None
        True
        """
        return

    def domain(self) -> tuple[Value, ...]:
        """Return the values in the order in which they were given.

        >>> Category("F", "M").domain()
        ('F', 'M')
        """
        return self.values

    def _arguments(self) -> tuple[str, ...]:
        return *map(repr, self.values), *(("ordered=True",) if self.ordered else ())


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Text(Kind):
    """Strings that are not known in advance; to group by them, the keys themselves are selected privately.

    >>> Text(), Text(null="unknown").nullable
    (Text(), False)
    """

    null: str

    def __init__(self, *, null: str = DROP) -> None:
        _set(self, null=_parse_null_rule(null, as_text, lambda _: True, "data.invalid_text_null_rule"))

    @property
    def axis(self) -> None:
        """None: a string is not a number.

        >>> Text().axis is None
        True
        """
        return

    def _arguments(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Date(Kind):
    """Days between two dates, both included; strings are parsed as ``YYYY-MM-DD``.

    >>> Date("2021-01-01", "2021-12-31").axis.steps
    364
    """

    low: dt.date
    high: dt.date
    null: dt.date | str
    _axis: Axis = field(init=False, repr=False, compare=False)

    def __init__(self, low: dt.date | str, high: dt.date | str, *, null: dt.date | str = DROP) -> None:
        _set_bounds(self, low, high, null, as_date)
        _set(self, _axis=integer_axis((self.low - _EPOCH).days, (self.high - _EPOCH).days))

    @property
    def axis(self) -> Axis:
        """Days since 1970-01-01.

        >>> Date("1970-01-01", "1970-01-31").axis
        Axis(0, 30, 1)
        """
        return self._axis

    def domain(self) -> tuple[Value, ...] | None:
        """Return all the days, unless they are too many to list.

        >>> len(Date("2021-01-01", "2021-12-31").domain())
        365
        """
        first, last = self.low.toordinal(), self.high.toordinal()
        return tuple(map(dt.date.fromordinal, range(first, last + 1))) if last - first < MAX_KEYS else None

    def _arguments(self) -> tuple[str, ...]:
        return _literal(self.low), _literal(self.high)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Timestamp(Kind):
    """Timestamps between two, to the second, in UTC; strings are parsed as ``YYYY-MM-DD HH:MM:SS``.

    A time without a zone is taken as UTC, a date as its first second.

    >>> Timestamp("2021-01-01", "2021-01-02").axis.steps
    86400
    """

    low: dt.datetime
    high: dt.datetime
    null: dt.datetime | str
    _axis: Axis = field(init=False, repr=False, compare=False)

    def __init__(self, low: dt.datetime | str, high: dt.datetime | str, *, null: dt.datetime | str = DROP) -> None:
        _set_bounds(self, low, high, null, as_timestamp)
        first, last = ((end - _MIDNIGHT) // dt.timedelta(seconds=1) for end in (self.low, self.high))
        _set(self, _axis=integer_axis(first, last))

    @property
    def axis(self) -> Axis:
        """Seconds since 1970-01-01 in UTC, or a power of two of them if they are more than 2^30.

        >>> Timestamp("1970-01-01", "1970-01-01 00:01:00").axis
        Axis(0, 60, 1)
        """
        return self._axis

    def _arguments(self) -> tuple[str, ...]:
        return _literal(self.low), _literal(self.high)


def _set(kind: Kind, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(kind, name, value)


def _is_drop(null: object) -> bool:
    return isinstance(null, str) and null == DROP


def _parse_null_rule(null: Any, read: Callable[..., T], fits: Callable[[Any], bool], code: str) -> T | str:
    """Return a null rule, or raise the error of a code."""
    if _is_drop(null):
        return DROP
    try:
        value = read(null, name="null")
        if fits(value):
            return value
    except ParameterError:
        pass
    raise ParameterError(code, drop=DROP, null=safe_repr(null))


def _inside(first: Any, last: Any) -> Callable[[Any], bool]:
    return lambda value: first <= value <= last


def _set_bounds(kind: Kind, low: object, high: object, null: object, parse: Callable[..., Any]) -> None:
    first, last = parse(low, name="low"), parse(high, name="high")
    if first > last:
        raise ParameterError("data.low_above_high", low=safe_repr(low), high=safe_repr(high))
    _set(kind, low=first, high=last, null=_parse_null_rule(null, parse, _inside(first, last), _NULL_OUTSIDE_BOUNDS))


def _literal(value: object) -> str:
    if isinstance(value, Fraction):
        return format_exact(value)
    if isinstance(value, dt.datetime):
        return repr(value.replace(tzinfo=None).isoformat(sep=" "))
    return repr(value.isoformat()) if isinstance(value, dt.date) else repr(value)
