"""Fit an estimator inside the engine: it requests sums of integers and receives them with noise.

No row leaves the database, and no exact sum leaves this file. The request follows from the schema alone, so
its cost is reserved before anything is read. A row counts where every column that was named has a value; the rows of
one person are averaged towards zero as in every query; the effect on the noise is in ``proofs/fitting.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import exact_adjacency, safe_repr
from celosia.core.guarantees import ApproxDP, PureDP
from celosia.core.messages.message import Message
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Category, Kind
from celosia.data.schema.schema import Schema
from celosia.ledger.budget_account import as_account
from celosia.mechanisms.gaussian import Gaussian
from celosia.mechanisms.laplace import Laplace
from celosia.query.plan.expressions import Call, Column, Expression, conjunction
from celosia.query.plan.nodes import Aggregate, Base, Key, Plan
from celosia.query.plan.suggestions import suggest
from celosia.query.plan.to_sql import render
from celosia.query.planning.analysis import AnalyzedPlan, analyze_plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.statistics import (
    Bins,
    ContributionBounds,
    Learner,
    Part,
    Provenance,
    SummaryRequest,
    check_learner,
    unit_sensitivity,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.data.table import Table
    from celosia.query.builder import Query
    from celosia.query.engines.base import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """What one fit reads: a plan, the measurements in every class, and what the estimator makes of them."""

    learner: Learner
    request: SummaryRequest
    plan: Plan
    measurements: tuple[Measurement, ...]
    bounding: ContributionBounds
    cells: Cells
    question: str
    where: str | None = None
    schema: str | None = None

    def read_sums(self, engine: "Engine", secret: Sequence[int]) -> "NDArray[Any]":
        """Return the exact numbers; the event must have been paid for, and noise must come before anything else."""
        sums = engine.summaries(self.plan, self.measurements, self.bounding, secret, self.cells)
        # Python's integers, for a sum over classes could be beyond 64 bits where no class is.
        whole = [
            found if part.by_class else found.astype(object).sum(axis=0, keepdims=True)
            for part, found in zip(self.request.parts, sums, strict=True)
        ]
        return self.request.combine(whole)

    def measure(self, engine: "Engine", secret: Sequence[int], source: "Source") -> "NDArray[np.int64]":
        """Read the data through the engine and return the numbers with noise; the event must have been paid for."""
        return self.request.release(self.read_sums(engine, secret), source)

    def finish(self, noisy: "NDArray[np.int64]", *, seeded: bool) -> Any:
        """Hand the noisy numbers to the estimator; what it does with them is post-processing."""
        assert isinstance(self.plan.relation, Base)  # noqa: S101 - for the type checker: a fit reads one table
        provenance = Provenance(seeded=seeded, table=self.plan.relation.table, where=self.where, schema=self.schema)
        return self.learner.finish_fit(noisy, self.request, provenance)


@dataclass(frozen=True, slots=True)
class FittedRows:
    """The rows that a fit reads: those of one table, perhaps filtered."""

    tables: "Mapping[str, Table]"
    name: str
    filter: Expression | None = None

    @property
    def table(self) -> "Table":
        """The table with its schema."""
        return self.tables[self.name]


def plan_fitting(estimator: object, rows: "Query", features: Sequence[str], target: str | None = None) -> Fitting:
    """Plan a fit over the rows that a query has so far, from public knowledge alone; refuse what cannot be fitted."""
    assert isinstance(rows.draft.relation, Base)  # noqa: S101 - for the type checker: a fit reads one table
    fitted = FittedRows(rows.session.tables, rows.draft.relation.table, rows.draft.filter)
    exact = isinstance(as_account(rows.session).limit, PureDP | ApproxDP)
    return plan_table_fitting(estimator, fitted, features, target, exact=exact)


def plan_table_fitting(
    estimator: object, rows: FittedRows, features: Sequence[str], target: str | None = None, *, exact: bool
) -> Fitting:
    """Plan a fit over rows of a table, as `plan_fitting` does; ``exact`` as in ``Learner.plan_fit``."""
    learner, table = check_learner(estimator), rows.table
    names, kinds = check_columns(table, features, target)
    question = analyze_plan(_plan(rows, names, rows.filter), rows.tables)
    known: _Known = {
        "droppable": rows.filter is not None or table.person is not None or any(kind.nullable for kind in kinds),
        "exact": exact,
    }
    request = _request(learner, table, dict(zip(names, kinds, strict=True)), target, question, known)
    keyed = any(part.by_class for part in request.parts)
    given = range(len(features)) if keyed else range(len(names))
    present = [names[place] for place in given if kinds[place].nullable and _is_missed(place, request)]
    conditions = [Call("not", (Call("is_null", (Column(name),)),)) for name in present]
    plan = _plan(rows, names, conjunction(rows.filter, *conditions), target if keyed else None, request)
    asked = analyze_plan(plan, rows.tables)
    assert asked.cells is not None  # noqa: S101 - for the type checker: classes are listed
    return Fitting(
        learner=learner,
        request=request,
        plan=plan,
        measurements=tuple(_make_measurement(part, names, kinds) for part in request.parts),
        bounding=asked.bounding,
        cells=asked.cells,
        question=_describe_fit(estimator, rows, features, target),
        where=None if rows.filter is None else render(rows.filter),
        schema=Schema(dict(zip(names, kinds, strict=True))).to_toml(),
    )


class _Known(TypedDict):
    """What else is known of a fit, as ``Learner.plan_fit`` takes it."""

    droppable: bool
    exact: bool


def check_own(estimator: object, session: object) -> None:
    """Refuse an estimator with its own account, noise source or guarantee."""
    budget = getattr(estimator, "budget", None)
    if budget is not None and as_account(budget) is not as_account(session):
        raise ParameterError("query.session_pays_for_fit")
    if getattr(estimator, "source", None) is not None:
        raise ParameterError("query.session_supplies_fit_noise")
    near, kept = getattr(estimator, "adjacency", None), as_account(session).budget.adjacency
    if near is not None and exact_adjacency(near) is not kept:
        raise ParameterError("query.table_decides_adjacency", value=kept.value)


def check_columns(table: "Table", features: object, target: object) -> tuple[tuple[str, ...], tuple[Kind, ...]]:
    """Return the names of the features and, last, of the target, with their kinds; refuse what is no column."""
    if isinstance(features, str) or not isinstance(features, Sequence) or not features:
        raise QueryError("query.features_not_a_list", example=repr(next(iter(table.schema))))
    names = (*features, *(() if target is None else (target,)))
    for name in names:
        if not isinstance(name, str) or name not in table.schema:
            hint = suggest(name, table.schema) if isinstance(name, str) else Message("query.columns_by_name")
            raise QueryError("query.unknown_feature_column", table=table.name, column=safe_repr(name), hint=hint)
    if len(set(names)) < len(names):
        raise QueryError("query.repeated_feature_or_target", names=safe_repr(names))
    return names, tuple(table.schema[name] for name in names)


def _plan(
    rows: FittedRows,
    names: Sequence[str],
    condition: Expression | None,
    label: str | None = None,
    request: SummaryRequest | None = None,
) -> Plan:
    """The rows that count, class by class where there is a label; the counts name the columns that are read."""
    values = None if request is None else request.classes
    keys = () if label is None else (Key(name="class", expression=Column(label), values=values),)
    counts = tuple(
        Aggregate(kind="count", columns=(Column(name),), name=f"count_{place}") for place, name in enumerate(names)
    )
    return Plan(relation=Base(rows.name), filter=condition, keys=keys, aggregates=counts)


def _request(
    learner: Learner,
    table: "Table",
    kinds: "Mapping[str, Kind]",
    target: str | None,
    question: AnalyzedPlan,
    known: "_Known",
) -> SummaryRequest:
    """Return the request of the estimator; the number of classes of a person depends on the classes."""
    features = {name: kind for name, kind in kinds.items() if name != target}
    label = None if target is None else kinds[target]
    bounding = question.bounding
    request = learner.plan_fit(features, label, bounding=bounding, **known)
    if any(part.by_class for part in request.parts):
        groups = min(table.max_groups_per_person or 1, request.cells)
        bounding = replace(bounding, groups=groups, cells=request.cells)
        request = learner.plan_fit(features, label, bounding=bounding, **known)
    _check_noise(request, bounding, droppable=known["droppable"])
    return request


def _check_noise(request: SummaryRequest, bounding: ContributionBounds, *, droppable: bool) -> None:
    """Refuse numbers whose noise is not made for as much as one unit can change here."""
    if bounding.unit != "row" and not _bounds_averages(request):
        raise ParameterError("query.fit_adds_person_averages")
    needed = unit_sensitivity(request.row_sensitivity, bounding, droppable=droppable)
    mechanism = request.noise.mechanism
    if isinstance(mechanism, Laplace):
        enough = mechanism.event.sensitivity >= needed.l1
    else:
        enough = isinstance(mechanism, Gaussian) and mechanism.event.sensitivity_squared >= needed.l2_squared
    if not enough:
        raise ParameterError("query.estimator_understates_noise")


def _bounds_averages(request: SummaryRequest) -> bool:
    """Whether the row sensitivity holds for averaged rows of a person; a custom combination must do nothing."""
    if request.combination is not None:
        return request.bounds_averages
    probe = np.arange(1, request.sum_count + 1).astype(object) ** 2
    return np.array_equal(request.combine([probe]), probe)


def _is_missed(place: int, request: SummaryRequest) -> bool:
    """Whether a row without a value in a column would still count in some of the sums."""
    return any(place not in part.columns for part in request.parts)


def _make_measurement(part: Part, names: Sequence[str], kinds: Sequence[Kind]) -> Measurement:
    """Return the measurement of a part; refuse one that the engine cannot compute within the stated bounds."""
    columns = [kinds[place] for place in part.columns]
    if isinstance(part.measure, Bins):
        sizes = [len(kind.domain() or ()) for kind in columns]
        if sizes != [part.measure.count]:
            raise QueryError("query.bins_need_public_values", count=part.measure.count)
    elif len(part.measure.axes) != len(columns):
        raise QueryError("query.measure_columns_mismatch", wanted=len(part.measure.axes), found=len(columns))
    for place, axis, kind in zip(part.columns, part.measure.axes, columns, strict=False):
        _check_axis(names[place], axis, kind)
    return Measurement(measure=part.measure, columns=tuple(Column(names[place]) for place in part.columns), answers=())


def _check_axis(name: str, axis: Axis, kind: Kind) -> None:
    """The axis of a measure must cover the column's own, in steps that are a power of two times as long."""
    fine = Axis(0, max(len(kind.values) - 1, 1), Fraction(1)) if isinstance(kind, Category) else kind.axis
    if fine is None:
        raise QueryError("query.feature_not_numeric", name=name, kind=repr(kind))
    factor = axis.grid / fine.grid
    doubled = factor.denominator == 1 and not factor.numerator & (factor.numerator - 1)
    if not doubled or axis.low > fine.low or axis.high < fine.high:
        raise QueryError("query.estimator_bounds_differ", name=name, kind=repr(kind))


def _describe_fit(estimator: object, rows: FittedRows, features: Sequence[str], target: str | None) -> str:
    """Return the text of the fit in the history of a session."""
    what = ", ".join(features) if target is None else f"{target} ~ {', '.join(features)}"
    condition = "" if rows.filter is None else f" WHERE {render(rows.filter)}"
    return f"{type(estimator).__name__}().fit({what}) FROM {rows.name}{condition}"
