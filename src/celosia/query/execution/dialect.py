"""Differences between engines, and literals and functions that all of them share.

Summaries must be the same to the last bit on every engine, and no content of a column may raise an error, because an
error would reveal something about a row. So expressions use only operations that IEEE 754, 64-bit integers and SQL
define: comparisons, ``CASE``, four operations on doubles, ``floor``, integer remainders. An engine adds how it counts
days and seconds, sums without overflow, and digests texts with a secret key.
"""

import copy
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from celosia.data.sources.text_format import TextFormat
from celosia.query.plan.text_functions import write_pattern

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir

PRIME: Final = 2**31 - 1
"""Modulus of hashes: products of two remainders fit 64 bits."""

_UNITS: Final = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D"}
_DIGITS = 8  # of a digest, hexadecimal
_MAX_LITERALS: Final = 1_000  # kept, because the same few stand in every query


class Dialect(ABC):
    """How one engine counts days, sums integers and digests texts, as Ibis expressions."""

    text: TextFormat = TextFormat()
    """The declared text format of the table."""

    @abstractmethod
    def days(self, date: "ir.Value") -> "ir.Value":
        """Return days since 1970-01-01; null for an infinite date."""

    @abstractmethod
    def seconds(self, moment: "ir.Value") -> "ir.Value":
        """Return seconds since 1970 in UTC, rounded down; null for an infinite time."""

    @abstractmethod
    def from_hexadecimal(self, digits: "ir.Value") -> "ir.Value":
        """Return the integer of a text of eight hexadecimal digits."""

    @abstractmethod
    def small_table(self, table: "pa.Table") -> "ir.Table":
        """Return a small public table as a table of the engine; nothing is stored for it."""

    def hide_condition(self, condition: "ir.Value") -> "ir.Value":
        """Return an equal condition of which the engine learns nothing before it has read a row."""
        return condition

    def hide_number(self, number: "ir.Value") -> "ir.Value":
        """Return an equal int64 or float64, of whose comparisons the engine learns nothing before it reads a row."""
        return number

    def remove_collation(self, text: "ir.Value") -> "ir.Value":
        """Return a string column that is compared byte by byte."""
        return text.cast("string")

    def finite_decimal(self, number: "ir.Value") -> "ir.Value":
        """Return a decimal number; null if it is NaN or infinite."""
        return number

    def from_decimal(self, number: "ir.Value") -> "ir.Value":
        """Return a decimal number as the nearest double; null if it is NaN or infinite."""
        return number.cast("float64")

    def with_format(self, text: TextFormat) -> "Dialect":
        """Return this dialect for a table whose texts have a declared format."""
        if text == self.text:
            return self
        found = copy.copy(self)
        found.text = text
        return found

    def from_text(self, text: "ir.Value", kind: str) -> "ir.Value":
        """Return a text parsed as ``float64``, ``boolean``, ``date`` or ``timestamp``, null if it is invalid."""
        from celosia.query.execution.text_values import read_text

        return read_text(text, kind, self)

    def matches(self, text: "ir.Value", pattern: str) -> "ir.Value":
        """Return whether a text matches a pattern of ``celosia.data.sources.text_values``, from ^ to $."""
        return text.re_search(pattern)

    def rewrite(self, text: "ir.Value", pattern: str, template: str) -> "ir.Value":
        """Return a template with the groups of the matched pattern in the place of {1}, {2} and so on."""
        return text.re_replace(pattern, template.replace("{", "\\").replace("}", ""))

    def trim(self, text: "ir.Value") -> "ir.Value":
        """Return a text without blanks at both ends."""
        return engine_function("trim", ("string",), "string")(text)

    def first_word(self, text: "ir.Value") -> "ir.Value":
        """Return the part of an ISO text before its time."""
        part = engine_function("split_part", ("string", "string", "int64"), "string")
        return part(part(text, " ", 1), "T", 1)

    def to_number(self, text: "ir.Value") -> "ir.Value":
        """Return the double of a text of digits, a point and an exponent."""
        return text.try_cast("float64")

    def prefer_cast(self, text: "ir.Value", number: "ir.Value") -> "ir.Value":  # noqa: ARG002 - for overriding
        """Return the number of a text: ``number``, or an equal cast where that is faster."""
        return number

    def to_date(self, iso: "ir.Value") -> "ir.Value":
        """Return the date of an ISO text such as 2021-1-31; null if there is no such day."""
        return iso.try_cast("date")

    def to_timestamp(self, iso: "ir.Value") -> "ir.Value":
        """Return the instant of an ISO text with a zone; null if there is no such day."""
        return iso.try_cast("timestamp('UTC')")

    def total(self, number: "ir.Value", where: "ir.Value | None" = None) -> "ir.Value":
        """Return the sum of 64-bit integers, wide enough for any number of rows."""
        return number.sum(where=where).cast("decimal(38, 0)")

    def flush_tiny(self, number: "ir.Value") -> "ir.Value":
        """Return a double that can be divided; some engines raise an error if a quotient underflows."""
        return number

    @abstractmethod
    def date(self, days: "ir.Value") -> "ir.Value":
        """Return the date of a number of days since 1970, which lies in the years 1 to 9999."""

    def truncate_days(self, days: "ir.Value", unit: str) -> "ir.Value":
        """Return the first day of the year, quarter, month or week of a day.

        The engine's own calendar is proleptic Gregorian, as Python's. By arithmetic, an expression of the day would
        stand in the query dozens of times.
        """
        return self.days(self.date(days).truncate(_UNITS[unit]))

    def add_months(self, days: "ir.Value", number: int) -> "ir.Value":
        """Return the same day some months later, or the last day of a shorter month."""
        import ibis

        return self.days(self.date(days) + ibis.interval(months=number))

    def change_case(self, text: "ir.Value", old: str, new: str) -> "ir.Value":
        """Return a text in which letters of ``new`` replace those of ``old``: capitals for small ones, or back."""
        return engine_function("translate", ("string", "string", "string"), "string")(text, old, new)

    def trim_letters(self, text: "ir.Value", letters: str, name: str) -> "ir.Value":
        """Return a text without these letters at both ends (``trim``), or at one (``ltrim``, ``rtrim``)."""
        return engine_function(name, ("string", "string"), "string")(text, letters)

    def is_like(self, text: "ir.Value", parts: Sequence[str | int]) -> "ir.Value":
        """Return whether a text matches the parts of a LIKE pattern; most engines escape by a backslash."""
        return text.like(write_pattern(parts, "%_\\"))

    def digest(self, text: "ir.Value", secret: str) -> "ir.Value":
        """Return 32 bits of a text, keyed with a secret: the same on every engine."""
        import ibis

        md5 = engine_function("md5", ("string",), "string")  # the same 32 digits on all engines
        left = engine_function("left", ("string", "int64"), "string")
        return self.from_hexadecimal(left(md5(ibis.literal(secret) + text), _DIGITS))


@functools.cache
def engine_function(name: str, arguments: tuple[str, ...], result: str) -> Any:
    """Return a function of the engine by its name, for use in Ibis expressions."""
    import ibis
    from ibis.expr import datatypes

    def stub() -> None:
        """Never runs: Ibis reads the name and the types only."""

    types = [datatypes.dtype(argument) for argument in arguments]
    parameters = [
        inspect.Parameter(f"x{place}", inspect.Parameter.POSITIONAL_ONLY, annotation=type_)
        for place, type_ in enumerate(types)
    ]
    stub.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what Ibis looks at
    return ibis.udf.scalar.builtin(stub, name=name, signature=(tuple(types), datatypes.dtype(result)))


def double_literal(value: float) -> "ir.Value":
    """Return a literal of exactly this double: decimal literals have another type in each engine."""
    return _cast_text("Infinity" if value == float("inf") else "-Infinity" if value == -float("inf") else repr(value))


@functools.lru_cache(_MAX_LITERALS)
def _cast_text(number: str) -> "ir.Value":
    import ibis

    return ibis.literal(number).cast("float64")


@functools.lru_cache(_MAX_LITERALS, typed=True)
def integer_literal(value: int) -> "ir.Value":
    """Return a 64-bit integer literal; a bare one has 32 bits in PostgreSQL, Spark and DuckDB."""
    import ibis

    # Ibis would drop a cast to the type that it infers for the literal.
    return ibis.literal(value).cast("int64")


@functools.lru_cache(_MAX_LITERALS)
def null_literal(kind: str) -> "ir.Value":
    """Return a null of a type."""
    import ibis

    return ibis.literal(None, type=kind)


def parenthesize(condition: "ir.Value") -> "ir.Value":
    """Return a condition that can be an operand: Ibis puts no parentheses around NOT and IN, which bind loosely."""
    import ibis

    if not condition.type().is_boolean():
        return condition
    true, false = ibis.literal(True), ibis.literal(False)  # noqa: FBT003 - literals
    return ibis.cases((condition, true), (~condition, false), else_=null_literal("boolean"))


def floor_divide(number: "ir.Value", divisor: int) -> "ir.Value":
    """Return the quotient, rounded down, of an integer below 2^53 by a positive integer.

    Integer division differs between engines. A quotient of doubles is exact if it is an integer; otherwise it is
    further from an integer than its rounding error, because dividend times 2^-53 is less than one.
    """
    return (number.cast("float64") / double_literal(float(divisor))).floor().cast("int64")
