"""The answer to a query: a table of noisy numbers, what they cost, and how far off each of them may be.

It holds nothing that was not noised or public. There are two kinds of intervals. A *noise interval* holds the number
without noise that the contribution limits leave, of values clipped to their bounds. An *interval for the true value*
holds the number without noise and without limits. In a table of rows the two are the same. In a table of persons the
second needs a declared ``max_rows_per_person``; without it the limits may cut off more.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import NoIntervalError, ParameterError
from celosia.core.exact import Exact, exact_level, safe_repr
from celosia.core.html_table import draw_table, write_interval
from celosia.core.messages.message import Message
from celosia.core.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.query.planning.cut_off import CutOff

    Interval = Callable[[float], "tuple[NDArray[Any], NDArray[Any]]"]

_MAX_SHOWN = 20
_MAX_BARS = 200
_SHOWN_LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class TableRelease(Release["pa.Table"]):
    """A private table: one row for each cell, keys first unless the query says otherwise.

    ``true_intervals`` is None where limits cut off nothing: then the noise intervals are for the true values.
    ``cut_off`` says how much the limits keep, where that was measured.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(sex=cl.Category("F", "M")), name="deaths")
    >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
    >>> release = session.query().group_by("sex").count().release(epsilon=1)
    >>> release.to_arrow().column_names, release.guarantee
    (['sex', 'count'], PureDP(epsilon=1))
    >>> low, high = release.confidence_interval(0.95)
    >>> low.column_names
    ['sex', 'count']
    """

    keys: tuple[str, ...] = ()
    notes: tuple[Message, ...] = ()
    intervals: "Mapping[str, Interval]" = field(default_factory=dict)
    true_intervals: "Mapping[str, Interval] | None" = None
    cut_off: "CutOff | None" = None

    def to_arrow(self, level: Exact | None = None) -> "pa.Table":
        """Return the answer as an Arrow table; with a ``level`` each number has its intervals beside it.

        The ends of the noise interval of ``count`` are called ``count_low`` and ``count_high``, those of the interval
        for the true value, where it is another one, ``count_true_low`` and ``count_true_high``.
        """
        if level is None:
            return self.value
        import pyarrow as pa

        names: list[str] = []
        columns: list[object] = []
        for name in self.value.column_names:
            names.append(name)
            columns.append(self.value[name])
            for word, intervals in (("", self.intervals), ("_true", self.true_intervals or {})):
                if name in intervals:
                    names += [f"{name}{word}_low", f"{name}{word}_high"]
                    columns += [self._end(name, end) for end in intervals[name](exact_level(level))]
        return pa.table(columns, names=names)

    def to_pandas(self, level: Exact | None = None) -> "pd.DataFrame":
        """Return the answer as a pandas DataFrame, with intervals beside the numbers if a ``level`` is given."""
        from celosia.data.sources.frames import to_pandas

        return to_pandas(self.to_arrow(level))

    def to_polars(self, level: Exact | None = None) -> "pl.DataFrame":
        """Return the answer as a Polars DataFrame, with intervals beside the numbers if a ``level`` is given."""
        from celosia.data.sources.frames import to_polars

        return to_polars(self.to_arrow(level))

    def item(self) -> Any:
        """Return the answer of a query that has just one.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)))
        >>> session = cl.Session(deaths, budget=cl.PureDP(epsilon=1))
        >>> 199_900 < session.query().count().release(epsilon=1).item() < 200_100
        True
        """
        if self.value.num_rows != 1 or self.value.num_columns != 1:
            raise ParameterError("query.answer_not_single_value")
        return self.value.column(0)[0].as_py()

    def confidence_interval(self, level: Exact = 0.95) -> "tuple[pa.Table, pa.Table]":
        """Return two tables of the shape of the answer, without what has no interval: the lower and the upper ends.

        Each is a noise interval: with probability ``level`` or more it holds the number without noise, as the table's
        limits and bounds leave it. Rows of a person beyond the limits are not in it, and may be many.
        """
        if not self.intervals:
            raise NoIntervalError("query.answer_without_intervals")
        return self._ends_of(self.intervals, level)

    def true_interval(self, level: Exact = 0.95) -> "tuple[pa.Table, pa.Table]":
        """Return the lower and the upper ends of the intervals for true values, of the columns that have one.

        With probability ``level`` or more each holds what the query gives without noise and limits, of values within
        their bounds. In a table of persons that relies on the declared ``max_rows_per_person``.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)))
        >>> release = cl.Session(deaths, budget=cl.PureDP(epsilon=1)).query().count().release(epsilon=1)
        >>> release.true_interval() == release.confidence_interval()  # in a table of rows nothing is cut off
        True
        """
        if self.true_intervals is None:
            return self.confidence_interval(level)
        if not self.true_intervals:
            raise NoIntervalError(
                "query.no_true_interval_undeclared" if self.cut_off is None else "query.no_true_interval"
            )
        return self._ends_of(self.true_intervals, level)

    def _ends_of(self, intervals: "Mapping[str, Interval]", level: Exact) -> "tuple[pa.Table, pa.Table]":
        import pyarrow as pa

        ends = {name: interval(exact_level(level)) for name, interval in intervals.items()}
        shown = [name for name in self.value.column_names if name in self.keys or name in ends]
        low, high = (
            pa.table(
                [self.value[name] if name not in ends else self._end(name, ends[name][i]) for name in shown],
                names=shown,
            )
            for i in (0, 1)
        )
        return low, high

    def name_interval(self, level: Exact = 0.95, *, true: bool = False) -> Message:
        """Return what an interval is called: a noise interval, where limits may cut off rows of a person.

        With ``true`` it is the name of the interval for the true value.

        >>> import celosia as cl
        >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)))
        >>> cl.Session(deaths, budget=cl.PureDP(epsilon=1)).query().count().release(epsilon=1).name_interval("0.9")
        '90 % interval'
        """
        certain = 100 * exact_level(level)
        if true:
            return Message("query.true_interval", level=certain)
        return Message("query.interval" if self.true_intervals is None else "query.noise_interval", level=certain)

    def _end(self, name: str, end: "NDArray[Any]") -> "pa.Array":
        """Return one end of the intervals of a column; dates and categories have the type of the column."""
        import pyarrow as pa

        return pa.array(end, type=self.value[name].type if end.dtype == object else None)

    def plot(
        self, column: str | None = None, *, level: Exact = 0.95, title: str = "", language: str = "en"
    ) -> "alt.LayerChart":
        """Draw one column of the answer as bars with their intervals; the first that has intervals by default."""
        from celosia.plots import Labels, intervals

        name = self._draw_chart(column)
        if self.value.num_rows > _MAX_BARS:
            raise ParameterError("query.too_many_bars", most=_MAX_BARS)
        low, high = self.intervals[name](exact_level(level))
        keys = [key for key in self.value.column_names if key in self.keys]
        rows = (
            zip(*(self.value[key].to_pylist() for key in keys), strict=True)
            if keys
            else [(Message("query.all_rows").render(language),)]
        )
        return intervals(
            [", ".join(map(str, row)) for row in rows],
            np.asarray(self.value[name].to_pylist(), dtype=np.float64),
            (low, high),
            labels=Labels(title=title or name, x=", ".join(keys), y=name, language=language),
            interval=self.name_interval(level),
        )

    def _draw_chart(self, column: str | None) -> str:
        import pyarrow as pa

        types = {name: self.value[name].type for name in self.intervals}
        names = [name for name, kind in types.items() if pa.types.is_integer(kind) or pa.types.is_floating(kind)]
        if not names:
            raise NoIntervalError("query.nothing_to_draw")
        name = names[0] if column is None else column
        if name not in names:
            raise ParameterError("query.column_cannot_be_drawn", known=", ".join(names), value=safe_repr(column))
        return name

    def _repr_html_(self) -> str:
        head: list[str] = []
        columns: list[Sequence[object]] = []
        for name in self.value.column_names:
            values = self.value.slice(0, _MAX_SHOWN)[name].to_pylist()
            head.append(name)
            columns.append([str(value) for value in values] if name in self.keys else values)
            for intervals in (self.intervals, self.true_intervals or {}):
                if name in intervals:
                    low, high = (end.tolist() for end in intervals[name](_SHOWN_LEVEL))
                    head.append(self.name_interval(_SHOWN_LEVEL, true=intervals is not self.intervals))
                    columns.append([write_interval(*ends) for ends in zip(low, high, strict=True)][:_MAX_SHOWN])
        more = [f"… {self.value.num_rows - _MAX_SHOWN:,} more rows"] if self.value.num_rows > _MAX_SHOWN else []
        rows = list(zip(*columns, strict=True))
        return draw_table(head, rows, notes=[*more, str(self.guarantee), *self.notes])

    def __repr__(self) -> str:
        rows = [tuple(row.values()) for row in self.value.slice(0, 3).to_pylist()]
        more = ", …" if self.value.num_rows > 3 else ""
        shown = f"{', '.join(self.value.column_names)}: {', '.join(map(str, rows))}{more}"
        marks = ", seeded=True" if self.seeded else ""
        return f"<TableRelease {shown}; {self.guarantee}{marks}>"
