"""Limits from a private histogram of persons: what is measured, paid and refused."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core import BudgetExceededError, LaplaceEvent, ParameterError, QueryError
from celosia.core.errors import EngineError
from celosia.noise import Seeded
from celosia.query.answering.limits import LimitsPlan, plan_limits
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.execution.bounding import BUCKETS
from celosia.statistics.base.target import Target
from celosia.testing import check_mechanism
from tests.query.samples import Pretending, outcome, persons_table, rows_table

if TYPE_CHECKING:
    from celosia.data.table import Table

SCHEMA = cl.Schema(sex=cl.Category("F", "M"), month=cl.Integer(1, 6), town=cl.Text())
Row = tuple[int, str, int]
ONE = Target(epsilon=Fraction(1))


def visits(rows: list[Row], *, groups: int = 1, most: int = 1, **options: Any) -> Table:
    who, sex, month = zip(*rows, strict=True) if rows else ((), (), ())
    source = pa.table(
        {
            "who": pa.array(who, pa.int64()),
            "sex": pa.array(sex, pa.string()),
            "month": pa.array(month, pa.int64()),
            "town": pa.array(["A"] * len(rows), pa.string()),
        }
    )
    limits: dict[str, Any] = {"max_groups_per_person": groups, "max_rows_per_group": most}
    return cl.table(source, schema=SCHEMA, name="visits", person="who", **limits, **options)


def plan_for(table: Table, *by: str, target: Target = ONE, most_rows: int = 8) -> LimitsPlan:
    query = cl.Session(table, budget=cl.PureDP(epsilon=1)).query()
    return plan_limits((query.group_by(*by) if by else query).count(), target, planned=target, most_rows=most_rows)


def scale_of(plan: LimitsPlan) -> Fraction:
    assert isinstance(plan.event, LaplaceEvent)
    return plan.event.scale


class Silent:
    """Noise that adds nothing, to see the exact histogram."""

    def __init__(self, noise: Any) -> None:
        self.width, self.event, self.margin = noise.width, noise.event, noise.margin

    def release(self, summary: Any, source: object) -> Any:
        del source
        return summary


def exact(table: Table, *by: str, engine: Any = None) -> Any:
    plan = plan_for(table, *by)
    silent = dataclasses.replace(plan, noise=Silent(plan.noise))  # type: ignore[arg-type] # it stands for noise
    with engine or DuckDBEngine({"visits": table}) as opened:
        found = silent.measure(opened, (1, 2), Seeded(1))
    return np.asarray(found).reshape(len(plan.groups), len(plan.rows) + 1)


BASE: list[Row] = [(1, "F", 1), (1, "F", 2), (1, "M", 2), (2, "M", 6), (3, "F", 3), (3, "F", 3), (3, "F", 3)]
HEAVY: list[Row] = [(9, "FM"[row // 6 % 2], 1 + row % 6) for row in range(500)]


def test_persons_are_counted_by_groups_and_rows() -> None:
    assert exact(visits(BASE)).tolist() == [[1, 0, 2, 0, 0]]
    by_sex = exact(visits(BASE), "sex")
    assert by_sex.sum() == 3
    assert by_sex[0].tolist() == [1, 0, 1, 0, 0]
    assert by_sex[1, :2].sum() == 1


@pytest.mark.parametrize("by", [(), pytest.param(("sex",), marks=pytest.mark.thorough), ("sex", "month")])
def test_a_person_with_many_rows_changes_one_number_by_one(by: tuple[str, ...]) -> None:
    without, added = exact(visits(BASE), *by), exact(visits([*BASE, *HEAVY]), *by)
    assert np.abs(added - without).sum() == 1
    assert (added - without)[-1, -1] == 1
    replaced = exact(visits([row for row in BASE if row[0] != 3] + HEAVY), *by)
    assert np.abs(replaced - without).sum() == 2
    nobody = exact(visits([]), *by)
    assert nobody.sum() == 0


def test_postgresql_counts_the_same(postgres: str) -> None:
    import sqlalchemy as sa

    engine = sa.create_engine(postgres.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS visits"))
        connection.execute(sa.text("CREATE TABLE visits (who bigint, sex text, month integer, town text)"))
        rows = [{"who": who, "sex": sex, "month": month} for who, sex, month in [*BASE, *HEAVY]]
        connection.execute(sa.text("INSERT INTO visits VALUES (:who, :sex, :month, 'A')"), rows)
    engine.dispose()
    limits: dict[str, Any] = {"max_groups_per_person": 1, "max_rows_per_group": 1}
    table = cl.table(postgres, schema=SCHEMA, name="visits", person="who", **limits)
    from celosia.query.engines.postgres import PostgresEngine

    found = exact(table, "sex", "month", engine=PostgresEngine({"visits": table}))
    assert found.tolist() == exact(visits([*BASE, *HEAVY]), "sex", "month").tolist()


def test_the_noise_passes_the_kit_on_neighbours() -> None:
    tables = visits(BASE), visits([*BASE, *HEAVY])
    pair = tuple(exact(table, "sex").reshape(1, -1) for table in tables)
    mechanism = plan_for(tables[0], "sex").noise.mechanism
    report = check_mechanism(mechanism, [pair], samples=500, processes=2)
    assert report.lower_bound <= 1


def test_the_noise_is_for_one_person_whatever_the_limits() -> None:
    for table, scale in ((visits(BASE), 1), (visits(BASE, groups=6, most=100), 1)):
        assert scale_of(plan_for(table, "month")) == scale
    assert scale_of(plan_for(visits(BASE, adjacency=cl.ReplaceOne), "month")) == 2
    rho = Target(rho=Fraction(1, 2))
    assert plan_for(visits(BASE), "month", target=rho).noise.kind == "Gaussian"


def test_limits_that_are_tried_are_public() -> None:
    plan = plan_for(visits(BASE), "month")
    assert (plan.groups, plan.rows) == ((1, 2, 4, 6), (1, 2, 4, 8))
    assert plan_for(visits(BASE)).groups == (1,)


def test_a_session_pays_for_a_suggestion() -> None:
    session = cl.Session(visits([*BASE, *HEAVY]), budget=cl.PureDP(epsilon=1), source=Seeded(7))
    before = session.preview_limits("sex", epsilon="0.25")
    assert (before.affordable, session.history) == (True, ())
    found = session.suggest_limits("sex", where="month < 6", epsilon="0.25", planned=2)
    assert session.spent == cl.PureDP(epsilon="0.25", unit="person")
    assert session.history[0].question == (
        "Limits of contribution for SELECT sex, COUNT(*) FROM visits WHERE month < 6 GROUP BY sex"
    )
    assert found.guarantee == session.history[0].cost
    assert found.event == session.history[0].event
    with pytest.raises(BudgetExceededError):
        session.suggest_limits("sex", epsilon=1)
    assert len(session.history) == 1


def test_a_ledger_remembers_a_suggestion() -> None:
    ledger = cl.open_ledger("memory://")
    session = cl.Session(visits(BASE), budget=cl.ApproxDP(epsilon=1, delta="1e-6"), ledger=ledger)
    session.suggest_limits("sex", epsilon="0.25")
    assert session.spent == cl.ApproxDP(epsilon="0.25", delta=0, unit="person")
    assert session.history[0].state == "answered"


def test_rho_budgets_pay_with_gaussian_noise() -> None:
    session = cl.Session(visits(BASE), budget=cl.ZCDP(rho=1))
    found = session.suggest_limits("sex", rho="0.25", planned="0.1")
    assert found.guarantee == cl.ZCDP(rho="0.25", unit="person")
    assert found.best.noise > 0


def test_a_failure_while_reading_stays_paid_for() -> None:
    session = cl.Session(
        persons_table(), budget=cl.PureDP(epsilon=1), engine=Pretending(error=RuntimeError("person 7 has 638 rows"))
    )
    with pytest.raises(EngineError) as caught:
        session.suggest_limits("sex", epsilon="0.5")
    assert "638" not in str(caught.value)
    assert session.spent == cl.PureDP(epsilon="0.5", unit="person")


def test_what_is_wrong_costs_nothing() -> None:
    session = cl.Session(persons_table(), budget=cl.PureDP(epsilon=1))
    engine = session._context.engine = Pretending()
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: session.suggest_limits("town", epsilon=1), QueryError, "keys="),
        (lambda: session.suggest_limits("nothing", epsilon=1), QueryError, "nothing"),
        (lambda: session.suggest_limits("sex"), ParameterError, "epsilon="),
        (lambda: session.suggest_limits("sex", epsilon=0), ParameterError, "epsilon"),
        (lambda: session.suggest_limits("sex", rho=1), ParameterError, "epsilon="),
        (lambda: session.suggest_limits("sex", epsilon="1e-30"), ParameterError, "64-bit"),
        (lambda: session.suggest_limits("sex", epsilon=1, planned=-1), ParameterError, "epsilon"),
        *(
            (lambda most=most: session.suggest_limits(epsilon=1, most_rows=most), ParameterError, "most_rows")
            for most in (0, 1, 3, 2**20, "many", None, 2.5)
        ),
    ]
    for action, kind, words in wrong:
        with pytest.raises(kind, match=words):
            action()
    with pytest.raises(ParameterError, match="person="):
        cl.Session(rows_table(), budget=cl.PureDP(epsilon=1)).suggest_limits(epsilon=1)
    assert (session.history, engine.reads) == ((), 0)
    assert outcome(lambda: session.suggest_limits("town", keys=["A"], epsilon=1))[0] == "answered"


def test_shares_and_errors_are_near_the_truth() -> None:
    numbers = np.random.default_rng(5)
    size = np.minimum(638, np.ceil(np.exp(numbers.normal(np.log(4), 1.05, 6000)))).astype(int)
    who = np.repeat(np.arange(6000), size)
    month = numbers.integers(1, 7, len(who))
    rows = pa.table({"who": who, "month": month})
    limits: dict[str, Any] = {"max_groups_per_person": 1, "max_rows_per_group": 1}
    table = cl.table(rows, schema=cl.Schema(month=cl.Integer(1, 6)), name="visits", person="who", **limits)
    session = cl.Session(table, budget=cl.PureDP(epsilon=4), source=Seeded(5))
    found = session.suggest_limits("month", epsilon=4, planned="0.5")
    each = np.zeros((6000, 7), dtype=np.int64)
    np.add.at(each, (who, month), 1)
    present = np.maximum((each > 0).sum(axis=1), 1)
    for candidate in found.value:
        kept = (np.minimum(each, candidate.rows).sum(axis=1) * np.minimum(present, candidate.groups) / present).sum()
        assert candidate.rows_kept == pytest.approx(kept / len(who), abs=0.03)
        pairs = np.minimum(present, candidate.groups).sum() / present.sum()
        assert candidate.persons_kept == pytest.approx(pairs, abs=0.03)
        assert candidate.bias == pytest.approx((len(who) - kept) / 6, abs=0.04 * len(who) / 6)
        assert candidate.noise == pytest.approx(2 * candidate.groups * candidate.rows, rel=0.1)
    assert found.best.groups == 6


def test_noise_hides_few_persons() -> None:
    plan = plan_for(visits(BASE), "sex", target=Target(epsilon=Fraction(1, 10)))
    made_up = [np.zeros((2, BUCKETS**2), dtype=np.int64)]
    noisy = plan.measure(Pretending(made_up), (1, 2), Seeded(3))
    release = cl.Release(value=noisy, event=plan.event, guarantee=cl.PureDP(epsilon="0.1"))
    found = plan.suggest(release)
    assert {candidate.rows_kept for candidate in found.value} == {None}
    assert (found.best.groups, found.best.rows) == (1, 1)
    assert "No bucket shows enough persons" in str(found)
