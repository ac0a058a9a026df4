"""Fitting inside an engine: the integers are those of the rows, the noise is enough, and only noise comes out."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core import AddRemove, ReplaceOne
from celosia.core.errors import BudgetExceededError, EngineError, InputError, ParameterError, QueryError
from celosia.data.schema.axis import Axis
from celosia.data.sources.classify import SparkSource
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded
from celosia.query.answering.fitting import Fitting, plan_fitting
from celosia.query.engines.registry import open_engine
from celosia.query.execution import person_level, row_level
from celosia.statistics import Bins, Part, SummaryRequest, unit_sensitivity
from tests.query.engines.test_postgres import uploaded
from tests.query.learners import Adding, by_hand
from tests.query.samples import Pretending
from tests.query.worlds import SECRET, WorldEngine, WorldSums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from celosia.core.adjacency import Adjacency
    from celosia.data.table import Table

    Placed = Callable[[Table], Table]

SCHEMA = cl.Schema(
    age=cl.Integer(0, 120),
    weight=cl.Real(0, 300, grid="0.1", null=70),
    dose=cl.Real(-1, 1),
    smokes=cl.Boolean(),
    sex=cl.Category("F", "M"),
    ward=cl.Category(1, 2, 3, null=2),
    ill=cl.Boolean(),
)
NUMBERS = ["age", "weight", "dose", "smokes"]


def patients(rows: int = 200, seed: int = 5) -> pa.Table:
    """Rows with everything in them: nulls, NaN, values outside the bounds, unknown categories."""
    random = np.random.default_rng(seed)

    def holes(values: Sequence[Any], share: float = 0.1) -> list[Any]:
        return [None if random.random() < share else value for value in values]

    doses = random.normal(0, 0.7, rows)
    doses[random.random(rows) < 0.05] = np.inf
    return pa.table(
        {
            "age": pa.array(holes(random.integers(-20, 150, rows).tolist()), pa.int64()),
            "weight": pa.array(holes(random.normal(80, 90, rows).tolist()), pa.float64()),
            "dose": pa.array(holes(doses.tolist()), pa.float64()),
            "smokes": pa.array(holes((random.random(rows) < 0.4).tolist()), pa.bool_()),
            "sex": pa.array(holes(random.choice(["F", "M", "X"], rows).tolist()), pa.string()),
            "ward": pa.array(holes(random.choice([1, 2, 3, 9], rows).tolist()), pa.int64()),
            "ill": pa.array(holes((random.random(rows) < 0.3).tolist()), pa.bool_()),
            "who": pa.array(random.integers(0, 40, rows).tolist(), pa.int64()),
        }
    )


def declared(frame: pa.Table, **options: Any) -> Table:
    return cl.table(frame, schema=SCHEMA, name="patients", **options)


def session_on(table: Table, **options: Any) -> cl.Session:
    return cl.Session(table, **({"budget": cl.PureDP(epsilon=100)} | options))


def planned(
    learner: Adding, table: Table, features: Sequence[str], target: str | None = None, where: str | None = None
) -> Fitting:
    rows = session_on(table, budget=cl.PureDP(epsilon=1, adjacency=table.adjacency, unit=table.unit)).query()
    return plan_fitting(learner, rows if where is None else rows.where(where), features, target)


def values(frame: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(frame.column(name).to_pylist() for name in names), strict=True))


# --------------------------------------------------------------------------------------------------- the same integers

CASES: dict[str, dict[str, Any]] = {
    "numbers": {"features": NUMBERS},
    "regression": {"features": ["age", "dose"], "target": "weight"},
    "classes": {"features": ["age", "dose", "weight"], "target": "ill", "by_class": True},
    "text classes": {"features": ["age", "smokes"], "target": "sex", "by_class": True},
    "categories": {"features": ["ward", "sex"], "target": "ill", "by_class": True},
    "numbers and categories": {"features": ["age", "sex", "ward", "dose"]},
    "some rows": {"features": ["age", "dose"], "where": "age >= 18 AND sex = 'F'"},
    "no rows": {"features": ["age", "dose"], "where": "age > 119 AND age < 1"},
    "no rows of a class": {"features": ["age"], "target": "ward", "by_class": True, "where": "ward IN (1, 2)"},
    "combined": {"features": ["age", "dose"], "target": "ill", "by_class": True, "combined": True},
}


def check_case(case: dict[str, Any], placed: Placed, frame: pa.Table) -> None:
    """Compare what the engine sums with the same rows, one by one, in Python."""
    options = {name: case[name] for name in ("by_class", "combined") if name in case}
    features, target, where = case["features"], case.get("target"), case.get("where")
    learner = Adding(**options)
    table = placed(declared(frame))
    fitting = planned(learner, table, features, target, where)
    with open_engine({table.name: table}) as engine:
        engine.check(fitting.plan)
        found = fitting.read_sums(engine, SECRET)
    rows = frame if where is None else kept(frame, where)
    keyed = options.get("by_class", False)
    names = features if keyed or target is None else [*features, target]
    labels: list[Any] | None = rows.column(target).to_pylist() if keyed else None
    if labels is not None and target == "ward":
        labels = [label if label in (1, 2, 3) else 2 for label in labels]  # its null rule
    kinds = [SCHEMA[name] for name in names]
    assert found.tolist() == by_hand(fitting.request, values(rows, names), kinds, labels)
    if where != CASES["no rows"]["where"]:
        assert any(found.tolist())


def kept(frame: pa.Table, where: str) -> pa.Table:
    frames = frame.to_pandas()
    age = frames["age"].clip(0, 120)
    ward = frames["ward"].where(frames["ward"].isin([1, 2, 3]), 2)
    mask = {
        CASES["some rows"]["where"]: (age >= 18) & (frames["sex"] == "F"),
        CASES["no rows"]["where"]: age > 120,
        CASES["no rows of a class"]["where"]: ward < 3,
    }[where]
    return frame.filter(pa.array(mask.fillna(value=False).tolist(), pa.bool_()))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(2)
def test_duckdb_sums_what_the_rows_hold(name: str) -> None:
    check_case(CASES[name], lambda table: table, patients())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(3)
def test_postgres_sums_what_the_rows_hold(name: str, postgres: str) -> None:
    check_case(CASES[name], lambda table: uploaded_as(postgres, table), patients(60))


def uploaded_as(url: str, table: Table) -> Table:
    placed = uploaded(url, table)
    return dataclasses.replace(placed, name=placed.source.table)  # type: ignore[union-attr] # in a database


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_spark_sums_what_the_rows_hold(spark: Any) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        frame = patients(60)
        moved = spark.createDataFrame(frame)
        # One takes Spark seconds; models below are of the others.
        check_case(CASES["text classes"], lambda table: dataclasses.replace(table, source=SparkSource(moved)), frame)


def test_no_rows_at_all() -> None:
    check_case(CASES["numbers"] | {"where": CASES["no rows"]["where"]}, lambda table: table, patients(0))
    check_case(CASES["classes"] | {"where": CASES["no rows"]["where"]}, lambda table: table, patients(0))


def test_sums_beyond_64_bits_stay_exact() -> None:
    learner = Adding(degree=2)
    fitting = planned(learner, declared(patients(1)), ["age"])
    huge = [np.array([[2**70, -(2**80), 3]], dtype=object)]
    assert fitting.read_sums(Pretending(huge), SECRET).tolist() == [2**70, -(2**80), 3]
    with pytest.raises(InputError, match="more rows than can be added up"):
        fitting.measure(Pretending(huge), SECRET, Seeded(7))


@given(
    ages=st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40)), max_size=12),
    low=st.integers(-1000, 1000),
    width=st.integers(1, 2**34),
)
@settings(max_examples=12)
def test_any_bounds_and_numbers(ages: list[int | None], low: int, width: int) -> None:
    kind = cl.Integer(low, low + width)
    doses = [None if age is None else age / 7 for age in ages]
    frame = pa.table({"a": pa.array(ages, pa.int64()), "b": pa.array(doses, pa.float64())})
    schema = cl.Schema(a=kind, b=cl.Real(low, low + width, null=low))
    table = cl.table(frame, schema=schema, name="t")
    fitting = planned(Adding(), table, ["a", "b"])
    with open_engine({"t": table}) as engine:
        found = fitting.read_sums(engine, SECRET)
    assert found.tolist() == by_hand(fitting.request, values(frame, ["a", "b"]), list(schema.values()))


# --------------------------------------------------------------------------------------------- enough noise for anybody


@st.composite
def crowds(draw: Any) -> tuple[list[dict[str, Any]], ...]:
    """Rows of some persons, and versions of them in which one person is gone or has other rows."""

    def rows_of(who: int) -> list[dict[str, Any]]:
        row = st.fixed_dictionaries(
            {
                "who": st.just(who),
                "age": st.one_of(st.none(), st.sampled_from([0, 1, 60, 119, 120])),
                "dose": st.sampled_from([-1.0, -0.3, 0.0, 0.7, 1.0]),
                "sex": st.sampled_from(["F", "M", None]),
                "ill": st.sampled_from([True, False, None]),
            }
        )
        found: list[dict[str, Any]] = draw(st.lists(row, max_size=5))
        return found

    others = [row for who in range(draw(st.integers(0, 2))) for row in rows_of(who)]
    first, *second = (rows_of(99) for _ in range(3))
    return others + first, others, *(others + rows for rows in second)


def worlds(found: Sequence[list[dict[str, Any]]], **options: Any) -> list[Table]:
    types = pa.schema(
        [("who", pa.int64()), ("age", pa.int64()), ("dose", pa.float64()), ("sex", pa.string()), ("ill", pa.bool_())]
    )
    schema = cl.Schema({name: SCHEMA[name] for name in ("age", "dose", "sex", "ill")})
    frames = [pa.Table.from_pylist(rows, schema=types) for rows in found]
    return [cl.table(frame, schema=schema, name="patients", **options) for frame in frames]


@given(
    found=crowds(),
    by_class=st.booleans(),
    groups=st.integers(1, 3),
    rows=st.integers(1, 3),
    where=st.sampled_from([None, "dose < 0.9"]),
    adjacency=st.sampled_from([AddRemove, ReplaceOne]),
)
@settings(max_examples=3 if settings().derandomize else 10)
def test_no_person_moves_more_than_is_paid_for(found: Any, by_class: bool, adjacency: Any, **drawn: Any) -> None:  # noqa: FBT001 - drawn
    limits = {"max_groups_per_person": drawn["groups"], "max_rows_per_group": drawn["rows"]}
    chosen = found[:2] if adjacency is AddRemove else [found[0], *found[2:]]
    tables = worlds(chosen, adjacency=adjacency, person="who", **limits)
    learner = Adding(by_class=by_class)
    fitting = planned(learner, tables[0], ["age", "sex"], "ill" if by_class else None, drawn["where"])
    assert fitting.bounding.unit == "person"
    assert learner.asked[-1] == (fitting.bounding, True)
    first, *others = all_exact(fitting, tables)
    noise: Any = fitting.request.noise.mechanism
    needed = unit_sensitivity(fitting.request.row_sensitivity, fitting.bounding, droppable=True)
    assert noise.event.sensitivity == needed.l1
    for other in others:
        moved = other.astype(object) - first.astype(object)
        assert np.abs(moved).sum() <= needed.l1
        assert (moved**2).sum() <= needed.l2_squared


@given(
    found=crowds(),
    rows=st.integers(1, 2),
    name=st.sampled_from(["line, functional", "logistic"]),
    adjacency=st.sampled_from([AddRemove, ReplaceOne]),
)
@settings(max_examples=3 if settings().derandomize else 8)
def test_no_person_moves_combined_numbers_more_than_is_paid_for(
    found: tuple[list[dict[str, Any]], ...], rows: int, name: str, adjacency: Adjacency
) -> None:
    chosen = found[:2] if adjacency is AddRemove else [found[0], *found[2:]]
    tables = worlds(chosen, adjacency=adjacency, person="who", max_groups_per_person=2, max_rows_per_group=rows)
    kind, parameters, _, _ = ESTIMATORS[name]
    features, target = (["age"], "dose") if name == "line, functional" else (["age", "dose"], "ill")
    query = session_on(tables[0], budget=cl.PureDP(epsilon=1, adjacency=adjacency, unit=tables[0].unit)).query()
    fitting = plan_fitting(getattr(cl.learn, kind)(**parameters), query, features, target)
    first, *others = all_exact(fitting, tables)
    paid: Any = fitting.request.noise.mechanism
    assert all(np.abs(other - first).sum() <= paid.event.sensitivity for other in others)


@given(
    found=crowds(),
    adjacency=st.sampled_from([AddRemove, ReplaceOne]),
    where=st.sampled_from([None, "dose < 0.9"]),
)
@settings(max_examples=15)
def test_no_row_moves_more_than_is_paid_for(found: Any, adjacency: Any, where: str | None) -> None:
    more = {"who": 7, "age": 0, "dose": -1.0, "sex": "M", "ill": False}
    rows = found[0][:4]
    last = found[0][-1] if found[0] else more
    chosen = [[*rows, last], rows] if adjacency is AddRemove else [[*rows, last], [*rows, more]]
    tables = worlds(chosen, adjacency=adjacency)
    fitting = planned(Adding(by_class=True), tables[0], ["age", "dose"], "ill", where)
    first, second = all_exact(fitting, tables)
    needed = unit_sensitivity(fitting.request.row_sensitivity, fitting.bounding, droppable=True)
    moved = second.astype(object) - first.astype(object)
    assert np.abs(moved).sum() <= needed.l1
    assert (moved**2).sum() <= needed.l2_squared


@pytest.mark.parametrize(("by_class", "groups"), [(False, 1), (True, 1), (True, 2)])
def test_a_person_at_the_corner_moves_exactly_that_much(by_class: bool, groups: int) -> None:  # noqa: FBT001 - a parameter
    corner = {"who": 99, "age": 120, "dose": 1.0, "sex": "F"}
    rows = [{**corner, "ill": ill} for ill in (True, False) for _ in range(5)]
    tables = worlds([rows, []], person="who", max_groups_per_person=groups, max_rows_per_group=3)
    fitting = planned(Adding(by_class=by_class), tables[0], ["age", "dose"], "ill" if by_class else None)
    first, second = all_exact(fitting, tables)
    needed = unit_sensitivity(fitting.request.row_sensitivity, fitting.bounding)
    assert np.abs(first.astype(object) - second).sum() == needed.l1
    alone = worlds([[rows[0]], []])
    one = planned(Adding(by_class=by_class), alone[0], ["age", "dose"], "ill" if by_class else None)
    assert needed.l1 == 3 * groups * unit_sensitivity(one.request.row_sensitivity, one.bounding).l1


def all_exact(fitting: Fitting, tables: Sequence[Table]) -> list[Any]:
    """The exact numbers in every world, of queries that are made once."""
    WorldSums.worlds = len(tables)
    with (
        WorldEngine(*({table.name: table} for table in tables)) as engine,
        mock.patch.multiple(person_level, Sums=WorldSums),
        mock.patch.multiple(row_level, Sums=WorldSums),
    ):
        found = engine.summaries(fitting.plan, fitting.measurements, fitting.bounding, SECRET, fitting.cells)
    return [fitting.read_sums(Pretending(list(world)), SECRET) for world in zip(*found, strict=True)]


def test_a_person_with_few_rows_counts_with_all_of_them() -> None:
    frame = patients(120)
    limits: dict[str, Any] = {"person": "who", "max_groups_per_person": 9, "max_rows_per_group": 120}
    for case in ("classes", "categories"):
        chosen = CASES[case]
        keyed = chosen.get("by_class", False)
        alone, persons = (
            planned(Adding(by_class=keyed), table, chosen["features"], chosen.get("target"))
            for table in (declared(frame), declared(frame, **limits))
        )
        sums = []
        for fitting, table in ((alone, declared(frame)), (persons, declared(frame, **limits))):
            with open_engine({table.name: table}) as engine:
                sums.append(fitting.read_sums(engine, SECRET).tolist())
        assert sums[0] == sums[1]


# ---------------------------------------------------------------------------------------------------- paying, and order


def test_the_noise_is_the_sessions_and_only_noise_comes_out() -> None:
    frame = patients()
    session = session_on(declared(frame), source=Seeded(7))
    learner = session.fit(Adding(epsilon=2), features=NUMBERS, where="age >= 18")
    assert isinstance(learner, Adding)
    fitting = planned(Adding(epsilon=2), declared(frame), NUMBERS, None, "age >= 18")
    with open_engine({"patients": declared(frame)}) as engine:
        exact = fitting.read_sums(engine, SECRET)
    assert learner.noisy is not None
    source = Seeded(7)
    source.words(4)  # what a session takes first: its secret
    assert learner.noisy.tolist() == fitting.request.release(exact, source).tolist()
    assert learner.noisy.tolist() != exact.tolist()
    assert learner.provenance is not None
    assert (learner.provenance.seeded, learner.provenance.table, learner.provenance.where) == (
        True,
        "patients",
        "age >= 18",
    )
    assert session.spent == cl.PureDP(epsilon=2)
    assert [entry.state for entry in session.account.history] == ["committed"]
    assert session.history[0].question == "Adding().fit(age, weight, dose, smokes) FROM patients WHERE age >= 18"


def test_the_pace_is_kept_and_left_before_the_commit() -> None:
    happened: list[str] = []

    @contextlib.contextmanager
    def pace() -> Iterator[None]:
        happened.append("in")
        yield
        happened.append("out")

    session = session_on(declared(patients(20)), pace=pace)
    commit = InMemoryBudget.commit

    def watched(*args: Any, **kwargs: Any) -> None:
        happened.append("commit")
        commit(*args, **kwargs)

    with mock.patch.object(InMemoryBudget, "commit", watched):
        session.fit(Adding(), ["age"])
    assert happened == ["in", "out", "commit"]


def test_a_ledger_remembers_and_refuses_what_is_too_much() -> None:
    ledger = cl.open_ledger("memory://")
    ledger.set_budget(cl.PureDP(epsilon="1.5"), dataset="patients")
    session = session_on(declared(patients(20)), ledger=ledger, budget=None)
    session.fit(Adding(epsilon=1), ["age"])
    assert [(one.state, one.kind) for one in ledger.reservations(dataset="patients")] == [("committed", "model")]
    with pytest.raises(BudgetExceededError):
        session.fit(Adding(epsilon=1), ["age"])
    assert ledger.account("patients").spent == cl.PureDP(epsilon=1)
    with pytest.raises(ParameterError, match="source"):
        session_on(declared(patients(20)), ledger=ledger, budget=None, source=Seeded(7))


def test_what_fails_after_it_was_paid_for_stays_paid() -> None:
    cases: list[Exception] = [ValueError("row 42 is 7"), EngineError("The engine is gone."), MemoryError("7")]
    for error in cases:
        session = session_on(declared(patients(20)), engine=Pretending(error=error))
        learner = Adding(epsilon=1)
        with pytest.raises(EngineError) as raised:
            session.fit(learner, ["age"])
        assert "42" not in str(raised.value)
        assert raised.value.__cause__ is None
        assert raised.value.__context__ is None
        assert learner.noisy is None
        assert session.spent == cl.PureDP(epsilon=1)
        assert session.account.history[0].state == "failed"


class Iterating:
    """An estimator that looks at rows again and again."""


NOTHING: dict[str, Any] = {
    "learns from sums alone": {"estimator": Iterating()},
    "has no column 'agge' in its schema. Did you mean age": {"features": ["agge"]},
    "has no column 'who'": {"features": ["who"]},
    "has no column 'weigth'": {"target": "weigth"},
    "has no column 3": {"features": [3]},
    "features must be a list": {"features": "age"},
    "features must be a list of": {"features": []},
    "different columns": {"features": ["age", "age"]},
    "must be different": {"features": ["age", "dose"], "target": "age"},
    "no table 'others'": {"table": "others"},
    "is not a condition": {"where": "age + 1"},
    "no column 'agge'. Did": {"where": "agge < 3"},
    "was given other bounds": {"estimator": Adding(axes=(Axis(0, 60, Fraction(1)),))},
    "the estimator was given other": {"estimator": Adding(axes=(Axis(0, 400, Fraction(1, 3)),))},
    "states less noise": {"estimator": Adding(quiet=Fraction(9, 10))},
    "less noise than": {"estimator": Adding(rho=1, quiet=Fraction(9, 10))},
    "a session pays for what is fitted": {"estimator": Adding(budget=InMemoryBudget(cl.PureDP(epsilon=1)))},
    "budget must be a Session": {"estimator": Adding(budget="mine")},
    "takes its noise from the session": {"estimator": Adding(source=Seeded(7))},
    "neighbours are those of the table": {"estimator": Adding(adjacency=ReplaceOne)},
    "adjacency must be": {"estimator": Adding(adjacency="neighbours")},
}


def test_what_is_wrong_costs_nothing() -> None:
    for words, wrong in NOTHING.items():
        engine = Pretending()
        session = session_on(declared(patients(20)), budget=cl.ZCDP(rho=100), engine=engine)
        given_ = {"estimator": Adding(), "features": ["age"]} | wrong
        with pytest.raises((ParameterError, QueryError), match=words.replace(".", r"\.").replace("(", r"\(")):
            session.fit(**given_)
        assert session.spent == cl.ZCDP(rho=0)
        assert (session.history, engine.reads) == ((), 0)


def test_a_rho_needs_a_budget_that_knows_it() -> None:
    session = session_on(declared(patients(20)), budget=cl.PureDP(epsilon=1))
    with pytest.raises(ParameterError, match="of the kind PureDP"):
        session.fit(Adding(rho=1), ["age"])
    assert session.history == ()


def test_a_session_may_be_the_estimators_own_budget() -> None:
    session = session_on(declared(patients(20)))
    session.fit(Adding(budget=session), ["age"])
    session.fit(Adding(budget=session.account), ["age"])
    assert session.spent == cl.PureDP(epsilon=2)


class Nearer(Adding):
    """States a row sensitivity that does not hold for all values that its sums can have one by one."""

    def plan_fit(self, *known: Any, **more: Any) -> Any:
        request = super().plan_fit(*known, **more)
        nearer = dataclasses.replace(request.row_sensitivity, l1=request.row_sensitivity.l1 // request.width)
        return dataclasses.replace(request, row_sensitivity=nearer)


def test_averages_are_combined_for_persons_only_where_the_row_sensitivity_bounds_them() -> None:
    table = declared(patients(20), person="who", max_groups_per_person=1, max_rows_per_group=1)
    assert planned(Adding(combined=True), table, ["age"]).request.bounds_averages
    with pytest.raises(ParameterError, match="rounding could then move more"):
        planned(Nearer(combined=True), table, ["age"])


class Wrong(Adding):
    """An estimator whose measures do not fit its columns."""

    part = Part(measure=Bins(3), columns=(0,))

    def plan_fit(self, *args: Any, **kwargs: Any) -> Any:
        return dataclasses.replace(super().plan_fit(*args, **kwargs), parts=(self.part,))


class Doubled(SummaryRequest):
    """A request with a way of its own to combine what was summed."""

    __slots__ = ()

    def combine(self, sums: Any) -> Any:
        return 2 * super().combine(sums)


class Doubling(Adding):
    """Says nothing of a matrix, and combines."""

    def plan_fit(self, *args: Any, **kwargs: Any) -> SummaryRequest:
        asked = super().plan_fit(*args, **kwargs)
        return Doubled(**{each.name: getattr(asked, each.name) for each in dataclasses.fields(asked)})


def test_an_own_way_to_combine_is_refused_for_persons() -> None:
    limits: dict[str, Any] = {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 1}
    planned(Doubling(), declared(patients(5)), ["age"])
    with pytest.raises(ParameterError, match="averaged for each person"):
        planned(Doubling(), declared(patients(5), **limits), ["age"])


def test_measures_that_do_not_fit_are_refused() -> None:
    cases: list[Part] = [Part(measure=Bins(3), columns=(0,)), Part(measure=Bins(2), columns=(0, 0))]
    for part in cases:
        wrong = Wrong()
        wrong.part = part
        with pytest.raises(QueryError, match="public values"):
            planned(wrong, declared(patients(5)), ["dose"])


def test_dates_and_texts_are_no_numbers() -> None:
    table = cl.table(pa.table({"note": ["x"]}), schema=cl.Schema(note=cl.Text()), name="t")
    with pytest.raises(QueryError, match="not a number"):
        planned(Adding(axes=(Axis(0, 1, Fraction(1)),)), table, ["note"])


def test_where_nothing_can_be_missing_n_is_what_it_is() -> None:
    schema = cl.Schema(age=cl.Integer(0, 120, null=0))
    table = cl.table(patients(5), schema=schema, name="t", adjacency=ReplaceOne)
    learner = Adding()
    planned(learner, table, ["age"])
    assert learner.asked[-1][1] is False
    planned(learner, table, ["age"], where="age < 3")
    assert learner.asked[-1][1] is True


# ---------------------------------------------------------------------------------------------------------- estimators

ESTIMATORS: dict[str, tuple[str, dict[str, Any], list[str], str | None]] = {
    "scaler": ("StandardScaler", {"epsilon": 2}, NUMBERS, None),
    "components": ("PCA", {"rho": 1, "epsilon": None}, NUMBERS, None),
    "line": ("LinearRegression", {"epsilon": 2}, ["age", "dose", "smokes"], "weight"),
    "line, adassp": ("LinearRegression", {"epsilon": 1, "delta": "1e-6", "method": "adassp"}, ["age"], "weight"),
    "line, functional": ("LinearRegression", {"method": "functional"}, ["age", "dose"], "weight"),
    "ridge": ("Ridge", {"epsilon": 1, "delta": "1e-6"}, ["weight", "dose"], "age"),
    "logistic": ("LogisticRegression", {"method": "functional"}, ["age", "dose"], "ill"),
    "several classes": ("LogisticRegression", {"method": "functional"}, ["age", "dose"], "ward"),
    "normal classes": ("GaussianNB", {"epsilon": 3}, ["age", "dose"], "sex"),
    "categories": ("CategoricalNB", {"epsilon": 3}, ["ward", "sex", "smokes"], "ill"),
}


def in_memory(name: str, frame: pa.Table, source: Any) -> Any:
    """The same fit of arrays: rows without a value left out before, everything else left to the estimator."""
    kind, parameters, features, target = ESTIMATORS[name]
    frames = frame.to_pandas()
    for column, category in (("sex", ["F", "M"]), ("ward", [1, 2, 3])):
        frames[column] = frames[column].where(frames[column].isin(category))
    frames = frames.fillna({"ward": 2, "weight": 70}).replace([np.inf, -np.inf], np.nan)
    used = frames[[*features, *([] if target is None else [target])]].dropna()
    for column in {"smokes", "ill"} & set(used):
        used[column] = used[column].astype(bool)
    if "ward" in used:
        used["ward"] = used["ward"].astype(int)
    public: dict[str, Any] = {"bounds": cl.Schema({each: SCHEMA[each] for each in features})}
    if target is not None and kind in ("LinearRegression", "Ridge"):
        public["bounds_y"] = SCHEMA[target]
    elif target is not None:
        public["classes"] = list(SCHEMA[target].domain() or ())
    estimator = getattr(cl.learn, kind)(**parameters, **public, source=source)
    columns = used[features]
    return estimator.fit(columns, None if target is None else used[target])


def learned(model: Any) -> dict[str, Any]:
    """All that a fitted model tells, but where it comes from."""
    told = {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}
    return {name: value for name, value in told.items() if name not in ("provenance_", "domains_")}


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, list):
            assert all(np.array_equal(a, b) for a, b in zip(value, other[name], strict=True)), name
        else:
            assert np.array_equal(value, other[name]), name


def fitted(name: str, table: Table) -> Any:
    kind, parameters, features, target = ESTIMATORS[name]
    budget = cl.ZCDP(rho=1000) if "rho" in parameters else cl.ApproxDP(epsilon=1000, delta="1e-3")
    session = session_on(table, budget=budget, source=Seeded(7))
    return session.fit(getattr(cl.learn, kind)(**parameters), features, target)


def drawn() -> Seeded:
    source = Seeded(7)
    source.words(4)  # what a session takes first: its secret
    return source


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_fitted_in_duckdb_is_the_one_fitted_in_memory(name: str) -> None:
    frame = patients(400)
    model = fitted(name, declared(frame))
    same(learned(model), learned(in_memory(name, frame, drawn())))
    assert model.provenance_["table"] == "patients"
    kinds = cl.Schema.from_toml(model.provenance_["schema"])
    assert dict(kinds) == {each: SCHEMA[each] for each in kinds}


@pytest.mark.parametrize("name", ["line", "normal classes", "categories"])
def test_a_model_fitted_in_postgres_is_the_one_fitted_in_memory(name: str, postgres: str) -> None:
    frame = patients(100)
    same(learned(fitted(name, uploaded_as(postgres, declared(frame)))), learned(in_memory(name, frame, drawn())))


@pytest.mark.needs_java
@pytest.mark.xdist_group("spark")
def test_a_model_fitted_in_spark_is_the_one_fitted_in_memory(spark: Any, *, thorough: bool) -> None:
    frame = patients(60)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        moved = dataclasses.replace(declared(frame), source=SparkSource(spark.createDataFrame(frame)))
        for name in ("line", "categories") if thorough else ("line",):  # each takes Spark seconds
            same(learned(fitted(name, moved)), learned(in_memory(name, frame, drawn())))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.sampled(3)
def test_no_rows_are_no_error(name: str) -> None:
    fitted(name, declared(patients(0)))


def test_what_reads_rows_again_and_again_is_refused_and_costs_nothing() -> None:
    cases: list[str] = [
        "KMeans(n_clusters=2)",
        "FuzzyCMeans(n_clusters=2)",
        "LogisticRegression(method='gradient')",
        "PNSGDClassifier()",
    ]
    for estimator in cases:
        engine = Pretending()
        session = session_on(declared(patients(20)), engine=engine)
        name, _, rest = estimator.partition("(")
        options: dict[str, Any] = (
            {"n_clusters": 2} if "n_clusters" in rest else {"method": "gradient"} if "method" in rest else {}
        )
        target = None if "n_clusters" in rest else "ill"
        with pytest.raises(ParameterError, match="fit in memory"):
            session.fit(getattr(cl.learn, name)(**options), ["age", "dose"], target)
        assert (session.history, engine.reads) == ((), 0)


@pytest.mark.parametrize(
    "name", ["scaler", "line", "line, functional", "logistic", "several classes", "normal classes", "categories"]
)
@pytest.mark.sampled(2)
def test_persons_can_be_learned_from(name: str) -> None:
    kind, parameters, features, target = ESTIMATORS[name]
    table = declared(patients(200), person="who", max_groups_per_person=2, max_rows_per_group=3, adjacency=ReplaceOne)
    budget = cl.ApproxDP(epsilon=10, delta="1e-3", adjacency=ReplaceOne, unit="person")
    model = session_on(table, budget=budget).fit(getattr(cl.learn, kind)(**parameters), features, target)
    assert (model.guarantee_.unit, model.guarantee_.adjacency) == ("person", ReplaceOne)


# ------------------------------------------------------------------------------------------------------- stored models


def test_a_stored_fit_is_repeated_only_for_the_same_model() -> None:
    ledger = cl.open_ledger("memory://")
    session = session_on(declared(patients(50)), ledger=ledger, version="1")
    ana = session.for_analyst("ana")

    def ask(specification: str, features: Sequence[str], where: str | None = None, *, by: cl.Session = ana) -> Any:
        fitting = by.plan_fit(cl.learn.StandardScaler(epsilon=1), features, where=where)
        return by.ask_fit(fitting, lambda model: str(model.mean_.tolist()), specification=specification)

    first = ask("scaler", ["age", "dose"])
    assert (first.state, len(first.answer.split(","))) == ("committed", 2)
    for again in (ask("scaler", ["age", "dose"]), ask("scaler", ["age", "dose"], by=session.for_analyst("eva"))):
        assert (again.state, again.answer) == ("repeated", first.answer)
    assert session.spent == cl.PureDP(epsilon=1)
    others = [
        ("other", ["age", "dose"], None),
        ("scaler", ["dose", "age"], None),
        ("scaler", ["age", "dose"], "age > 9"),
    ]
    assert [ask(*other).state for other in others] == ["committed"] * 3
    assert session.spent == cl.PureDP(epsilon=4)
    alone = session_on(declared(patients(50)))
    with pytest.raises(ParameterError, match="Only a ledger stores fitted models"):
        ask("scaler", ["age"], by=alone)
    assert alone.spent == cl.PureDP(epsilon=0)
