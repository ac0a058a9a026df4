"""Dates by month, quarter, year or decade."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from celosia.anonymity.hierarchies.levels import Levels, make_levels
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa

Unit: TypeAlias = Literal["week", "month", "quarter", "year", "decade"]
_DAYS: Final = {"week": 7.0, "month": 30.436875, "quarter": 91.310625, "year": 365.2425, "decade": 3652.425}


@dataclass(frozen=True, slots=True, init=False)
class Dates:
    """A hierarchy of dates and timestamps.

    Parameters
    ----------
    units
        The unit of levels 1, 2 and so on, from short to long; weeks do not go with the others, which they cross.
    low, high
        The first and the last date that may occur: a label's part of the domain is its part of that time.

    Examples
    --------
    >>> import pyarrow as pa
    >>> born = Dates(["month", "year"], low=date(1920, 1, 1), high=date(2019, 12, 31))
    >>> levels = born.generalize(pa.array([date(1980, 5, 17), date(1980, 11, 2)]), name="born")
    >>> [labels.to_pylist() for labels in levels.labels[1:]]
    [['1980-05', '1980-11'], ['1980'], ['*']]
    """

    units: tuple[Unit, ...]
    low: date
    high: date

    def __init__(self, units: Sequence[Unit], *, low: date, high: date) -> None:
        known = list(_DAYS)
        places = [known.index(unit) for unit in units if unit in known]
        crossing = "week" in units and len(units) > 1
        if not units or len(places) < len(units) or crossing or places != sorted(set(places)):
            raise ParameterError("anonymity.unknown_date_units", units=safe_repr(list(units)), known=", ".join(known))
        if not all(isinstance(end, date) for end in (low, high)):
            raise ParameterError("anonymity.ends_not_dates")
        if not low <= high:
            raise ParameterError("anonymity.dates_not_rising")
        object.__setattr__(self, "units", tuple(units))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def height(self) -> int:
        """The number of levels, with the dates themselves and ``*``."""
        return len(self.units) + 2

    def generalize(self, values: "pa.Array", *, name: str) -> Levels:
        """Return dates at every level; each must be between the first and the last one."""
        import pyarrow as pa

        if not (pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)):
            raise SchemaError("anonymity.dates_need_dates", name=safe_repr(name), type=str(values.type))
        days = values.cast(pa.timestamp("s"), safe=False).cast(pa.date32(), safe=False).to_pylist()
        if days and not self.low <= min(days) <= max(days) <= self.high:
            low, high = self.low.isoformat(), self.high.isoformat()
            raise SchemaError("anonymity.value_outside_cuts", name=safe_repr(name), low=low, high=high)
        total = (self.high - self.low).days + 1
        texts = [[_write(day, unit) for day in days] for unit in self.units]
        sizes = [1.0, *(min(_DAYS[unit], total) for unit in self.units), float(total)]
        return make_levels(values, texts, [np.full(len(days), size / total) for size in sizes])


def _write(day: date, unit: Unit) -> str:
    match unit:
        case "week":
            year, week, _ = day.isocalendar()
            return f"{year:04}-W{week:02}"
        case "month":
            return f"{day.year:04}-{day.month:02}"
        case "quarter":
            return f"{day.year:04}-Q{(day.month + 2) // 3}"
        case "year":
            return f"{day.year:04}"
        case "decade":
            return f"{day.year // 10:03}0s"
