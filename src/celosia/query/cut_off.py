"""What contribution limits cut off, measured with noise, and intervals for the true values that include it.

A noise interval holds the number that the limits leave. How much they cut off can only be bounded with a public fact:
no person has more than a stated number of rows. Then the rows cut off in all groups together are that many for one
person, and can be counted with noise of that scale. The statement and its assumptions are in ``proofs/cut-off.md``.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import NoInterval, ParameterError, QueryError
from celosia.core.exact import Exact, exact_level, quote, whole
from celosia.core.release import Release
from celosia.noise.source import Seeded
from celosia.query.expressions import Column
from celosia.query.needs import Need
from celosia.query.plan import Aggregate, Base, Joined, Projected, Relation
from celosia.query.preview import Line, Preview, noise_words
from celosia.query.question import Question
from celosia.query.render import render
from celosia.statistics import Bounding, CutRows, FirstMoments, Measure, MomentsOfAll, Noise, SecondMoments, Total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core import Event, Guarantee, Source
    from celosia.query.engine import Engine
    from celosia.query.release import TableRelease
    from celosia.query.target import Target

    Ends = tuple[NDArray[Any], NDArray[Any]]

__all__ = ["CutOff", "CutOffPlan", "plan_cut_off"]

_LARGEST_MOST = 2**31
_MEANS = (FirstMoments, SecondMoments, MomentsOfAll)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOffPlan:
    """The measurement of what the limits cut off in the groups of a query.

    >>> import celosia as cl, pyarrow as pa
    >>> from celosia.query.question import question_of
    >>> from celosia.query.target import Target
    >>> visits = cl.table(
    ...     pa.table({"who": [1, 1, 2], "sex": ["F", "F", "M"]}), schema=cl.Schema(sex=cl.Category("F", "M")),
    ...     name="visits", person="who", max_groups_per_person=1, max_rows_per_group=1,
    ... )
    >>> query = cl.Session(visits, budget=cl.PureDP(epsilon=1)).query().group_by("sex").count()
    >>> question = question_of(query.plan, {"visits": visits})
    >>> plan_cut_off(question, Target(epsilon=Fraction(1, 2)), 100).event
    LaplaceEvent(scale=200, sensitivity=100, dimension=2, unit='person')
    """

    question: Question
    most: int
    noise: Noise

    @property
    def event(self) -> "Event":
        """What is run, known before anything is read."""
        return self.noise.event

    @property
    def text(self) -> str:
        """The measurement as the history of a session shows it."""
        return f"Rows cut off by the limits in {render(self.question.plan)}"

    def noisy(self, engine: "Engine", secret: "Sequence[int]", source: "Source") -> "NDArray[np.int64]":
        """Read the data through the engine and return noisy numbers of rows; the event must have been paid for."""
        question, need = self.question, Need(measure=CutRows(self.most), columns=(), serves=())
        assert question.cells is not None  # noqa: S101 - for the type checker: the keys are public
        (found,) = engine.summaries(question.plan, [need], question.bounding, secret, question.cells)
        return self.noise.release(found, source)

    def conclude(self, release: "Release[NDArray[np.int64]]", is_own: "Callable[[TableRelease], bool]") -> "CutOff":
        """Return the noisy numbers with what can be made of them; ``is_own`` knows the answers of the same session."""
        return CutOff(
            value=np.asarray(release.value),
            event=release.event,
            guarantee=release.guarantee,
            seeded=release.seeded,
            plan=self,
            is_own=is_own,
        )

    def preview(self, cost: "Guarantee", remaining: "Guarantee", *, affordable: bool, level: Exact) -> Preview:
        """Describe the measurement before it is paid for."""
        certain = exact_level(level)
        error = float(self.noise.margin(certain))
        line = Line(name="cut_off", mechanism=noise_words(self.noise), share=Fraction(1), error=error)
        return Preview(
            cost=cost,
            remaining=remaining,
            affordable=affordable,
            cells=self.question.dimension,
            lines=(line,),
            bounds=(),
            notes=(_assumption(self.most),),
            level=certain,
        )


def plan_cut_off(question: Question, target: "Target", most: object) -> CutOffPlan:
    """Plan the measurement from public knowledge alone; refuse a query whose limits cut off nothing.

    >>> import celosia as cl
    >>> deaths = cl.table(cl.data.deaths(), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> cl.Session(deaths, budget=cl.PureDP(epsilon=1)).measure_cut_off("SELECT COUNT(*) FROM deaths", 5, epsilon=1)
    Traceback (most recent call last):
    ...
    celosia.core.errors.QueryError: No limits of a person cut off anything in this query: its noise interval is ...
    """
    if not question.may_cut:
        message = (
            "No limits of a person cut off anything in this query: its noise interval is about the true value, but for "
            "values that are clipped to their bounds."
        )
        raise QueryError(message)
    if not _reads_one_table(question.plan.relation):
        message = "What limits cut off can be measured in one table of persons, not in a join on the person."
        raise QueryError(message)
    if question.cells is None:
        message = "The groups must be public: list them with keys=, or declare the column as a Category."
        raise QueryError(message)
    number = whole(most, name="max_rows_per_person")  # type: ignore[arg-type] # looks for itself
    if number > _LARGEST_MOST:
        message = f"max_rows_per_person must be at most 2^31, not {quote(most)}."
        raise ParameterError(message)
    near, cells = question.bounding, len(question.cells)
    once = Bounding(cells=cells, adjacency=near.adjacency, unit=near.unit)
    sensitivity = CutRows(number).sensitivity(once)
    if target.rho is None:
        noise = Noise.laplace(target.epsilon, sensitivity, cells, 1, once)
    else:
        noise = Noise.gaussian(target.rho, sensitivity, cells, 1, once)
    replace(noise, cells=1).release(np.zeros((1, 1), dtype=np.int64), Seeded(0))  # too wide is refused now
    return CutOffPlan(question=question, most=number, noise=noise)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class CutOff(Release["NDArray[np.int64]"]):
    """Noisy numbers of rows that the limits cut off, one for each group. Made by ``Session.measure_cut_off``.

    >>> import celosia as cl, pyarrow as pa
    >>> visits = cl.table(
    ...     pa.table({"who": [1] * 90 + [2] * 10, "sex": ["F"] * 90 + ["M"] * 10}), name="visits",
    ...     schema=cl.Schema(sex=cl.Category("F", "M")), person="who", max_groups_per_person=1, max_rows_per_group=20,
    ... )
    >>> session = cl.Session(visits, budget=cl.PureDP(epsilon=2000))
    >>> query = session.query().group_by("sex").count()
    >>> cut = session.measure_cut_off(query, 100, epsilon=1000)
    >>> cut.to_arrow().to_pylist()
    [{'sex': 'F', 'cut_off': 70}, {'sex': 'M', 'cut_off': 0}]
    >>> low, high = cut.true_interval(query.release(epsilon=1000))
    >>> low["count"].to_pylist()[0] <= 90 <= high["count"].to_pylist()[0]
    True
    """

    plan: CutOffPlan
    is_own: "Callable[[TableRelease], bool]"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the intervals for true values assume."""
        return (_assumption(self.plan.most),)

    def to_arrow(self, level: Exact | None = None) -> "pa.Table":
        """Return keys and rows cut off; with a ``level`` also ``cut_off_low`` and ``cut_off_high``."""
        import pyarrow as pa

        question, estimate = self.plan.question, CutRows(self.plan.most).answer("count", self.value, self.plan.noise)
        assert question.cells is not None and estimate.interval is not None  # noqa: S101, PT018 - for the type checker
        columns: dict[str, Any] = dict(
            zip((key.name for key in question.plan.keys), question.cells.columns(), strict=True)
        )
        columns["cut_off"] = estimate.value
        if level is not None:
            ends = estimate.interval(exact_level(level))
            columns |= dict(zip(("cut_off_low", "cut_off_high"), ends, strict=True))
        return pa.table({name: pa.array(column) for name, column in columns.items()})

    def rows_kept(self, answer: "TableRelease") -> list[float]:
        """Return the estimated share of rows that the limits leave, for an answer that has ``COUNT(*)``."""
        counts = [
            name for name, aggregate in self._aggregates() if (aggregate.kind, aggregate.columns) == ("count", ())
        ]
        if not counts:
            message = "The share of rows needs a count of rows in the answer: ask for COUNT(*) as well."
            raise ParameterError(message)
        rows = np.maximum(np.asarray(answer.value[counts[0]].to_pylist(), dtype=np.float64), 0.0)
        cut = np.maximum(self.value[self._places(answer), 0], 0)
        shares: list[float] = (rows / np.maximum(rows + cut, 1.0)).tolist()
        return shares

    def true_interval(self, answer: "TableRelease", level: Exact = 0.95) -> "tuple[pa.Table, pa.Table]":
        """Return the lower and upper ends of intervals for the true values of an answer to the same query.

        With probability ``level`` or more each holds what the query would give without limits and noise, if no person
        has more rows than was stated. There are some for counts, sums, and means beside a count of the same column.
        Where limits choose among groups, the answer must have been read in the same session.
        """
        import pyarrow as pa

        certain, places = exact_level(level), self._places(answer)
        self._check_own(answer)
        ends = {
            name: found
            for name, aggregate in self._aggregates()
            if (found := self._ends(name, aggregate, answer, places, certain)) is not None
        }
        if not ends:
            message = "Nothing in this answer has an interval for the true value: the limits may cut off more."
            raise NoInterval(message)
        shown = [name for name in answer.value.column_names if name in answer.keys or name in ends]
        low, high = (
            pa.table({name: pa.array(ends[name][i]) if name in ends else answer.value[name] for name in shown})
            for i in (0, 1)
        )
        return low, high

    def _check_own(self, answer: "TableRelease") -> None:
        """Refuse an answer in which other groups of a person may have counted than those that were measured."""
        bounding = self.plan.question.bounding
        if bounding.groups < bounding.cells and not self.is_own(answer):
            message = (
                "The answer was not read in this session, and other groups of a person may have counted in it: "
                "release the query in this session, or allow each person as many groups as there are."
            )
            raise ParameterError(message)

    def _aggregates(self) -> list[tuple[str, Aggregate]]:
        """The columns of the answer that are aggregates as they were measured."""
        plan = self.plan.question.plan
        known = {aggregate.name: aggregate for aggregate in plan.aggregates}
        return [
            (name, known[expression.name])
            for name, expression in plan.outputs
            if isinstance(expression, Column) and expression.name in known
        ]

    def _places(self, answer: "TableRelease") -> "NDArray[np.int64]":
        """The cell of each row of an answer, by its keys."""
        question = self.plan.question
        assert question.cells is not None  # noqa: S101 - for the type checker: the keys are public
        if answer.value.column_names != [name for name, _ in question.plan.outputs]:
            message = "The answer is not one to this query: its columns are others."
            raise ParameterError(message)
        keys = {getattr(expression, "name", ""): name for name, expression in question.plan.outputs}
        if any(key.name not in keys for key in question.plan.keys):
            message = "The answer must show all its keys, so that its rows can be told apart."
            raise ParameterError(message)
        known = {row: place for place, row in enumerate(zip(*question.cells.columns(), strict=True))} or {(): 0}
        shown = [answer.value[keys[key.name]].to_pylist() for key in question.plan.keys]
        rows = list(zip(*shown, strict=True)) if shown else [()] * answer.value.num_rows
        if any(row not in known for row in rows):
            message = "The answer is not one to this query: it has other keys."
            raise ParameterError(message)
        return np.array([known[row] for row in rows], dtype=np.int64)

    def _ends(
        self, name: str, aggregate: Aggregate, answer: "TableRelease", places: "NDArray[np.int64]", level: float
    ) -> "Ends | None":
        need, quantity = next(
            (need, quantity)
            for need in self.plan.question.needs
            for own, quantity in need.serves
            if own == aggregate.name
        )
        measure = need.measure
        if name not in answer.intervals or not isinstance(measure, Measure):
            return None
        count = self._count_of(need) if quantity == "mean" else None
        if quantity not in ("count", "rows", "distinct", "sum") and (count is None or count not in answer.intervals):
            return None
        sure = 1 - (1 - level) / (2 if count is None else 3)  # the failures of all parts add up to that of the whole
        noisy, reach = self.value[places, 0].astype(np.float64), self.plan.noise.margin(sure)
        cut = np.maximum(noisy + reach, 0.0)
        low, high = (np.asarray(end, dtype=np.float64) for end in answer.intervals[name](sure))
        rows = _with_rounding(measure, cut)
        if quantity == "sum":
            return _sum_ends(measure, (low, high), cut, rows)
        if count is None:
            # Of all rows exactly those are missing that were cut off; of persons or values it may be fewer.
            every_row = aggregate.kind == "count" and not aggregate.columns
            return low + np.maximum(noisy - reach, 0.0) if every_row else low, high + rows
        axis = measure.axes[0]
        counted = np.maximum(np.asarray(answer.intervals[count](sure)[0], dtype=np.float64), 0.0)
        weight = np.where(rows > 0, rows / np.maximum(counted + rows, 1e-300), np.where(counted > 0, 0.0, 1.0))
        return low - weight * (low - float(axis.low)), high + weight * (float(axis.high) - high)

    def _count_of(self, need: Need) -> str | None:
        """The column of the answer that counts the rows of which a mean is taken."""
        if not isinstance(need.measure, _MEANS):
            return None
        counts = {own for own, quantity in need.serves if quantity == "count"}
        return next((name for name, aggregate in self._aggregates() if aggregate.name in counts), None)

    def __repr__(self) -> str:
        marks = ", seeded=True" if self.seeded else ""
        return f"<CutOff of {len(self.value)} groups; {self.guarantee}{marks}>"


def _with_rounding(measure: Measure, cut: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Rows cut off, and what was lost when averages of persons were rounded down: less than a part of each feature."""
    return cut * (1 + measure.width / measure.footprint.l1) if measure.axes else cut


def _sum_ends(measure: Measure, ends: "Ends", cut: "NDArray[np.float64]", rows: "NDArray[np.float64]") -> "Ends":
    """A sum and what the rows cut off can add to it: each lies between the bounds."""
    axis = measure.axes[0]
    if isinstance(measure, Total):  # rounded towards 0, by less than a step
        rounding = cut * float(axis.grid)
        low, high = cut * min(0.0, float(axis.low)) - rounding, cut * max(0.0, float(axis.high)) + rounding
    else:
        low, high = rows * min(0.0, float(axis.low)), rows * max(0.0, float(axis.high))
    return ends[0] + low, ends[1] + high


def _reads_one_table(relation: Relation) -> bool:
    match relation:
        case Base():
            return True
        case Projected(relation=inner) | Joined(left=inner, by="key"):
            return _reads_one_table(inner)
        case _:
            return False


def _assumption(most: int) -> str:
    return (
        f"Intervals for the true value hold if no person has more than {most:,} rows in the table. They are about "
        "values within their bounds."
    )
