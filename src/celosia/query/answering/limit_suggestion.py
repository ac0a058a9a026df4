"""Suggested contribution limits: bias and noise of each choice, from a private measurement.

Small limits cut off rows (bias), large ones need more noise. Both are stated for a count of rows in one group, on
average over the groups. For a sum multiply both by the largest absolute value of the column: the best choice is the
same.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.html_table import draw_table
from celosia.core.messages.message import Message, Numeral
from celosia.core.release import Release

if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.data.table import Table
    from celosia.statistics.base.target import Target

_MAX_LINES = 7
_COLUMNS = (
    *("query.limit_groups", "query.limit_rows", "query.limit_rows_kept", "query.limit_persons_kept"),
    *("query.limit_bias", "query.limit_noise", "query.limit_error"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Two limits, the shares that they keep, and what a count in one group is off by on average.

    ``rows_kept`` is the share of rows, ``persons_kept`` the share of persons in groups (what a count of persons keeps);
    None where no bucket shows a person. ``bias`` and ``noise`` are in rows.
    """

    groups: int
    rows: int
    rows_kept: float | None
    persons_kept: float | None
    bias: float
    noise: float

    @property
    def error(self) -> float:
        """Bias and noise together."""
        return self.bias + self.noise


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class LimitSuggestion(Release[tuple[Candidate, ...]]):
    """Candidates for the limits of a table, from a noisy histogram of persons. Made by ``Session.suggest_limits``.

    ``histogram`` has the noisy numbers of persons, by buckets of groups and rows; those below ``threshold`` were taken
    as empty. ``planned`` is what a later query spends.

    >>> import celosia as cl
    >>> from celosia.mechanisms import Laplace
    >>> event = Laplace(epsilon=1, sensitivity=1).event
    >>> few = Candidate(groups=1, rows=1, rows_kept=0.4, persons_kept=0.5, bias=60.0, noise=1.0)
    >>> most = Candidate(groups=2, rows=8, rows_kept=0.9, persons_kept=1.0, bias=10.0, noise=16.0)
    >>> LimitSuggestion(value=(few, most), event=event, guarantee=cl.PureDP(epsilon=1)).best.rows
    8
    """

    histogram: "NDArray[np.int64] | None" = None
    threshold: int = 0
    cells: int = 1
    planned: "Target | None" = None

    @property
    def best(self) -> Candidate:
        """The candidate with the smallest error; of equal ones the one with the least noise."""
        return min(self.value, key=lambda candidate: (candidate.error, candidate.noise))

    def apply(self, table: "Table", candidate: Candidate | None = None) -> "Table":
        """Return the table with the best limits, or those of another candidate; open a new session on it.

        >>> import celosia as cl, pyarrow as pa
        >>> visits = cl.table(
        ...     pa.table({"who": [1, 1, 2], "sex": ["F", "F", "M"]}), schema=cl.Schema(sex=cl.Category("F", "M")),
        ...     name="visits", person="who", max_groups_per_person=1, max_rows_per_group=1,
        ... )
        >>> suggestion = cl.Session(visits, budget=cl.PureDP(epsilon=1)).suggest_limits("sex", epsilon="0.5")
        >>> suggestion.apply(visits, suggestion.value[-1])
        <Table visits(sex), unit person: who, 2 groups, 1024 rows in each>
        """
        if table.person is None:
            raise ParameterError("query.suggestion_needs_person", table=table.name)
        chosen = self.best if candidate is None else candidate
        return replace(table, max_groups_per_person=chosen.groups, max_rows_per_group=chosen.rows)

    def to_arrow(self) -> "pa.Table":
        """Return the candidates as an Arrow table; ``best`` is true for one of them."""
        import pyarrow as pa

        names = ("groups", "rows", "rows_kept", "persons_kept", "bias", "noise", "error")
        columns = {name: [getattr(candidate, name) for candidate in self.value] for name in names}
        return pa.table(columns | {"best": [candidate is self.best for candidate in self.value]})

    def plot(self, *, title: str = "", language: str = "en") -> "alt.LayerChart":
        """Draw the error against the limit of rows, one line for each limit of groups near the best one."""
        from celosia.plots import Curve, Labels, curves

        groups = sorted({candidate.groups for candidate in self.value})
        first = max(0, min(groups.index(self.best.groups) - _MAX_LINES // 2, len(groups) - _MAX_LINES))
        lines = []
        for most in groups[first : first + _MAX_LINES]:
            own = [candidate for candidate in self.value if candidate.groups == most]
            lines.append(
                Curve(
                    name=_groups(most).render(language), x=[each.rows for each in own], y=[each.error for each in own]
                )
            )
        labels = Labels(
            title=title or Message("query.limits_title"),
            subtitle=self._summary(),
            x=Message("query.limits_rows_axis"),
            y=Message("query.limits_error_axis"),
            language=language,
        )
        return curves(lines, labels=labels, x_log=True, y_log=True)

    def _summary(self) -> Message:
        groups, rows = str(self.best.groups), str(self.best.rows)  # as a program writes them, without marks
        return Message("query.best_limits", groups=groups, rows=rows, cells=_groups(self.cells))

    def _lines(self) -> list[tuple[Numeral, ...]]:
        """The candidates as texts; the best one has a star."""
        return [
            (
                Numeral(f"{each.groups:,}{' *' if each is self.best else ''}"),
                Numeral(f"{each.rows:,}"),
                _percent(each.rows_kept),
                _percent(each.persons_kept),
                *(Numeral(f"{number:,.4g}") for number in (each.bias, each.noise, each.error)),
            )
            for each in self.value
        ]

    def describe(self, language: str = "en") -> str:
        """Return the candidates as a table of text, and what should be known about them, in a language."""
        head = [Message(code).render(language) for code in _COLUMNS]
        table = [head, *([item.render(language) for item in row] for row in self._lines())]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(item.rjust(width) for item, width in zip(row, widths, strict=True)) for row in table]
        return "\n".join([*lines, *(note.render(language) for note in (self._summary(), *self.notes))])

    def __str__(self) -> str:
        return self.describe()

    @property
    def notes(self) -> tuple[Message, ...]:
        """What should be known about the numbers."""
        empty = Message("query.small_buckets_empty", least=self.threshold)
        seen = any(candidate.rows_kept is not None for candidate in self.value)
        return (empty,) if seen else (empty, Message("query.too_few_persons"))

    def _repr_html_(self) -> str:
        lines, words = self._lines(), [self._summary(), *self.notes, str(self.guarantee)]
        return draw_table(tuple(map(Message, _COLUMNS)), lines, notes=words, most=len(lines))

    def __repr__(self) -> str:
        best: Any = self.best
        marks = ", seeded=True" if self.seeded else ""
        return f"<LimitSuggestion {best.groups} groups, {best.rows} rows in each; {self.guarantee}{marks}>"


def _percent(share: float | None) -> Numeral:
    return Numeral("–" if share is None else f"{share:.1%}")


def _groups(number: int) -> Message:
    return Message("query.one_group") if number == 1 else Message("query.some_groups", number=number)
