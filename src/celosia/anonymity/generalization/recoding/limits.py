"""Top coding, bottom coding and rounding: numbers that stand out become those of many.

A very high income or age is rare and known to others. Coding hides how far it is above a limit, but not that it is.
Rounding hides small differences by which a record could be matched with another file (Hundepool et al. 2012,
*Statistical Disclosure Control*, section 3.3).
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from celosia.anonymity.generalization.recoding.columns import replace_column
from celosia.anonymity.hierarchies.categories import write_values
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

Replacement: TypeAlias = Literal["limit", "mean", "median"]
_REPLACEMENTS: Final = ("limit", "mean", "median")
_LEAST_BEYOND: Final = 3  # records whose mean or median may be released: of fewer, one would know the other


@dataclass(frozen=True, slots=True, kw_only=True)
class TopCode:
    """Replace the numbers above a limit by one value.

    Parameters
    ----------
    column
        The column.
    at
        The limit.
    label
        A text such as ``">10"``, which turns the column into text. By default it stays numeric.
    replacement
        The number without a label: the limit, or the (weighted) mean or median of the numbers above it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"children": [2, 15, 11, 13]}), roles=Roles(quasi_identifiers=["children"]))
    >>> TopCode(column="children", at=10, label=">10").apply(data).get_column("children").to_pylist()
    ['2', '>10', '>10', '>10']
    >>> TopCode(column="children", at=10, replacement="mean").apply(data).get_column("children").to_pylist()
    [2, 13, 13, 13]
    """

    column: str
    at: float
    label: str | None = None
    replacement: Replacement = "limit"

    def __post_init__(self) -> None:
        """Raise unless the limit is a number."""
        _check_limit(self.column, self.at, self.replacement)

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the coded file; the spread of a coded value is the part of the column's range above the limit."""
        numbers = data.get_numbers(self.column)
        return _code(data, self, beyond=numbers > self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class BottomCode:
    """Replace the numbers below a limit by one value. The parameters are those of ``TopCode``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"income": [900.0, -50.0]}), roles=Roles(quasi_identifiers=["income"]))
    >>> BottomCode(column="income", at=0).apply(data).get_column("income").to_pylist()
    [900.0, 0.0]
    """

    column: str
    at: float
    label: str | None = None
    replacement: Replacement = "limit"

    def __post_init__(self) -> None:
        """Raise unless the limit is a number."""
        _check_limit(self.column, self.at, self.replacement)

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the coded file; the spread of a coded value is the part of the column's range below the limit."""
        numbers = data.get_numbers(self.column)
        return _code(data, self, beyond=numbers < self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Round the numbers of a column to multiples of a base; halves go to the even multiple.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"income": [1234, 1250, 1260]}), roles=Roles(quasi_identifiers=["income"]))
    >>> Round(column="income", to=100).apply(data).get_column("income").to_pylist()
    [1200, 1200, 1300]
    """

    column: str
    to: float

    def __post_init__(self) -> None:
        """Raise unless the base is above 0."""
        if not _is_number(self.to) or not self.to > 0:
            raise ParameterError(
                "anonymity_recoding.base_not_positive", name=safe_repr(self.column), value=safe_repr(self.to)
            )

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the rounded file; the spread of a value is the base's part of the column's range."""
        import pyarrow as pa

        numbers = data.get_numbers(self.column)
        exponent = Decimal(str(self.to)).as_tuple().exponent
        digits = -exponent if isinstance(exponent, int) and exponent < 0 else 0
        rounded = np.round(np.round(numbers / self.to) * self.to, digits)
        integers = pa.types.is_integer(data.get_column(self.column).type)
        # Of integers, a multiple of 1 is exact, one of 2 stands for 2 numbers.
        width = min(1.0, max(0.0, self.to - integers) / max(_measure_range(numbers), self.to))
        spread = np.where(np.isnan(numbers), 0.0, width)
        hierarchy = data.hierarchies.get(self.column)
        return replace_column(data, self.column, _fit_numbers(data, self.column, rounded), spread, hierarchy=hierarchy)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check_limit(column: str, limit: float, replacement: str) -> None:
    if not _is_number(limit):
        raise ParameterError("anonymity_recoding.limit_not_number", name=safe_repr(column), value=safe_repr(limit))
    if replacement not in _REPLACEMENTS:
        known = ", ".join(_REPLACEMENTS)
        raise ParameterError("anonymity_recoding.unknown_replacement", value=safe_repr(replacement), known=known)


def _code(data: Microdata, step: TopCode | BottomCode, *, beyond: "NDArray[np.bool_]") -> Microdata:
    """Return the file with one value where the numbers are beyond the limit."""
    numbers = data.get_numbers(step.column)
    if not beyond.any() and step.label is None:
        return data
    hidden = float(np.abs(numbers[beyond] - step.at).max(initial=0.0))
    spread = np.where(beyond, hidden / max(_measure_range(numbers), hidden, np.finfo(float).tiny), 0.0)
    if step.label is None:
        value = _find_replacement(numbers[beyond], data.weights[beyond], step)
        column = _fit_numbers(data, step.column, np.where(beyond, value, numbers))
        return replace_column(data, step.column, column, spread, hierarchy=data.hierarchies.get(step.column))
    return replace_column(data, step.column, _write_label(data, step.column, step.label, beyond), spread)


def _find_replacement(
    numbers: "NDArray[np.float64]", weights: "NDArray[np.float64]", step: TopCode | BottomCode
) -> float:
    if step.replacement == "limit":
        return float(step.at)
    if 0 < len(numbers) < _LEAST_BEYOND:
        raise InputError("anonymity_recoding.too_few_beyond", name=safe_repr(step.column), least=_LEAST_BEYOND)
    order = np.lexsort((weights, numbers))  # sums in the order of the records would show it in their last digits
    match step.replacement:
        case "mean":
            return float(np.average(numbers[order], weights=weights[order]))
        case "median":
            reached = np.cumsum(weights[order])
            return float(numbers[order][np.searchsorted(reached, reached[-1] / 2)])


def _measure_range(numbers: "NDArray[np.float64]") -> float:
    known = numbers[~np.isnan(numbers)]
    return float(known.max() - known.min()) if known.size else 0.0


def _fit_numbers(data: Microdata, name: str, numbers: "NDArray[np.float64]") -> "pa.Array":
    """Return numbers in the type of their column if they are all integers or it has fractions; else as doubles."""
    import pyarrow as pa

    kind = data.get_column(name).type
    known = numbers[~np.isnan(numbers)]
    fits = pa.types.is_floating(kind) or (pa.types.is_integer(kind) and (known == np.round(known)).all())
    return pa.array(numbers, mask=np.isnan(numbers)).cast(kind if fits else pa.float64(), safe=False)


def _write_label(data: Microdata, name: str, label: str, beyond: "NDArray[np.bool_]") -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    (coded,) = data.encode([name])
    texts = pa.array(write_values(coded.labels), pa.string())
    column = texts.take(pa.array(coded.codes, mask=coded.codes < 0))
    return pc.if_else(pa.array(beyond), pa.scalar(label), column)
