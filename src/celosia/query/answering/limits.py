"""A private measurement from which contribution limits are chosen: persons by their numbers of groups and of rows.

Each person counts once: in the bucket of its number of groups, and of its number of rows in one of them, which the
session's secret chooses. One person changes one number of the histogram by one, whatever its rows, so the noise is that
of a single count. Over that choice, a person's groups times the rows in the chosen one are on average all its rows: the
histogram gives the number of rows that any limits keep, though no person is counted twice (``proofs/limits.md``).
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import Exact, exact_integer, exact_level, safe_repr
from celosia.core.messages.message import Message
from celosia.noise.source import Seeded
from celosia.query.answering.limit_suggestion import Candidate, LimitSuggestion
from celosia.query.execution.bounding import BUCKETS
from celosia.query.plan.to_sql import render
from celosia.query.planning.analysis import AnalyzedPlan, analyze_plan
from celosia.query.planning.measurements import Measurement
from celosia.query.planning.preview import Line, Preview, describe_noise
from celosia.query.planning.strategy import strategy_for
from celosia.statistics import Bins, ContributionBounds, Measure, Noise
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from celosia.core import Event, Guarantee, Release, Source
    from celosia.query.builder import Query
    from celosia.query.engines.base import Engine

MOST_ROWS: Final = 1024
"""The default of the largest limit of rows in a group to try."""

_FALSE_ALARM = 0.05  # that some empty bucket of the histogram is taken for one with persons
_MEASUREMENT: Final = Measurement(measure=Bins(BUCKETS**2), columns=(), answers=(), distinct="contributions")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsPlan:
    """Plan of one suggestion of limits: its measurement, and the queries for which the limits are meant.

    ``groups`` and ``rows`` are the limits that are tried; the last bucket of rows is open. ``planned`` is what a later
    query spends.
    """

    analyzed: AnalyzedPlan
    groups: tuple[int, ...]
    rows: tuple[int, ...]
    noise: Noise
    planned: Target

    @property
    def event(self) -> "Event":
        """The event, known before anything is read."""
        return self.noise.event

    @property
    def text(self) -> str:
        """The measurement as the history of a session shows it."""
        return f"Limits of contribution for {render(self.analyzed.plan)}"

    @property
    def threshold(self) -> int:
        """The number of persons below which a bucket is taken as empty: noise alone rarely reaches it anywhere."""
        return self.noise.margin(1 - _FALSE_ALARM / self.noise.width) + 1

    def measure(self, engine: "Engine", secret: "Sequence[int]", source: "Source") -> "NDArray[np.int64]":
        """Read the data through the engine and return the histogram with noise; the event must have been paid for."""
        cells, bounding = self.analyzed.cells, replace(self.analyzed.bounding, groups=1)
        assert cells is not None  # noqa: S101 - for the type checker: the keys are public
        (found,) = engine.summaries(self.analyzed.plan, [_MEASUREMENT], bounding, secret, cells)
        square = np.asarray(found, dtype=np.int64).sum(axis=0).reshape(BUCKETS, BUCKETS)
        # Persons with more rows than the largest limit are in the open bucket; none is in more groups than there are.
        last = len(self.rows)
        rows = np.concatenate([square[:, :last], square[:, last:].sum(axis=1, keepdims=True)], axis=1)
        return self.noise.release(rows[: len(self.groups)].reshape(1, -1), source)

    def suggest(self, release: "Release[NDArray[np.int64]]") -> LimitSuggestion:
        """Return a suggestion of limits from the noisy histogram; this is post-processing."""
        persons = np.asarray(release.value).reshape(len(self.groups), len(self.rows) + 1)
        shown = np.where(persons >= self.threshold, persons, 0).astype(np.float64)
        assert self.analyzed.cells is not None  # noqa: S101 - for the type checker: the keys are public
        candidates = tuple(self._candidate(shown, groups, rows) for groups in self.groups for rows in self.rows)
        return LimitSuggestion(
            value=candidates,
            event=release.event,
            guarantee=release.guarantee,
            seeded=release.seeded,
            histogram=persons,
            threshold=self.threshold,
            cells=len(self.analyzed.cells),
            planned=self.planned,
        )

    def preview(self, cost: "Guarantee", remaining: "Guarantee", *, affordable: bool, level: Exact) -> Preview:
        """Describe the measurement before it is paid for."""
        certain = exact_level(level)
        line = Line(
            name="persons",
            mechanism=describe_noise(self.noise),
            share=Fraction(1),
            error=float(self.noise.margin(certain)),
        )
        note = Message("query.persons_in_buckets", buckets=self.noise.width, least=self.threshold)
        cells = None if self.analyzed.cells is None else len(self.analyzed.cells)
        return Preview(
            cost=cost,
            remaining=remaining,
            affordable=affordable,
            cells=cells,
            lines=(line,),
            bounds=(),
            notes=(note,),
            level=certain,
            complexity=self.analyzed.complexity,
        )

    def _candidate(self, persons: "NDArray[np.float64]", groups: int, rows: int) -> Candidate:
        size = _middles(self.groups), _middles((*self.rows, 2 * self.rows[-1]))
        present, all_rows = persons.sum(axis=1), np.outer(*size)
        kept = np.outer(np.minimum(size[0], groups), np.minimum(size[1], rows))
        cut = float((persons * (all_rows - kept)).sum())
        return Candidate(
            groups=groups,
            rows=rows,
            rows_kept=_share(float((persons * kept).sum()), float((persons * all_rows).sum())),
            persons_kept=_share(float((present * np.minimum(size[0], groups)).sum()), float((present * size[0]).sum())),
            bias=cut / self.analyzed.bounding.cells,
            noise=self._expected_noise(groups, rows),
        )

    def _expected_noise(self, groups: int, rows: int) -> float:
        """Return the mean error of a count by noise alone, in rows, at the planned target."""
        bounding = replace(self.analyzed.bounding, groups=groups, rows=rows)
        (part,) = strategy_for(replace(self.analyzed, bounding=bounding), self.planned).parts
        assert part.noise is not None and isinstance(part.measurement.measure, Measure)  # noqa: S101, PT018 - a count is measured
        factor = np.sqrt(0.5 if part.noise.kind == "Laplace" else 2 / np.pi)
        return float(factor * np.sqrt(part.noise.variance) / part.measurement.measure.row_sensitivity.l1)


def plan_limits(query: "Query", target: Target, *, planned: Target, most_rows: object = MOST_ROWS) -> LimitsPlan:
    """Plan the measurement for the groups and rows of a query, from public knowledge alone."""
    analyzed = analyze_plan(query.plan, query.session.tables)
    if analyzed.bounding.unit == "row":
        raise ParameterError("query.limits_need_person")
    if analyzed.cells is None:
        raise QueryError("query.groups_not_public")
    groups, rows = _doublings(len(analyzed.cells)), _row_limits(most_rows)
    width = len(groups) * (len(rows) + 1)
    once = ContributionBounds(adjacency=analyzed.bounding.adjacency, unit=analyzed.bounding.unit)
    sensitivity = Bins(width).sensitivity(once)
    if target.rho is None:
        noise = Noise.laplace(target.epsilon, sensitivity, 1, width, once)
    else:
        noise = Noise.gaussian(target.rho, sensitivity, 1, width, once)
    noise.release(np.zeros((1, width), dtype=np.int64), Seeded(0))  # noise that is too wide is refused now
    return LimitsPlan(analyzed=analyzed, groups=groups, rows=rows, noise=noise, planned=planned)


def _doublings(most: int) -> tuple[int, ...]:
    """Return the powers of two below ``most``, and ``most``."""
    return (*(2**place for place in range((most - 1).bit_length())), most)


def _row_limits(most: Any) -> tuple[int, ...]:
    number = exact_integer(most, name="most_rows")
    if not 2 <= number < 2 ** (BUCKETS - 1) or number & (number - 1):
        raise ParameterError("query.most_rows_not_a_power", exponent=BUCKETS - 2, value=safe_repr(most))
    return _doublings(number)


def _middles(ends: "Sequence[int]") -> "NDArray[np.float64]":
    """Return the geometric middle of each bucket; a bucket begins after the end of the one before."""
    # Geometric, because few persons have many rows.
    return np.sqrt([(low + 1.0) * high for low, high in zip((0, *ends), ends, strict=False)])


def _share(part: float, whole_part: float) -> float | None:
    return part / whole_part if whole_part > 0 else None
