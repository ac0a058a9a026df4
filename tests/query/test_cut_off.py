"""What limits cut off: exact numbers, what one person changes, what is paid, and intervals for the true values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core import BudgetExceeded, NoInterval, ParameterError, QueryError
from celosia.core.errors import EngineError
from celosia.noise import Seeded
from celosia.query.duckdb_engine import DuckDBEngine
from celosia.query.release_json import release_from_json, release_to_json
from celosia.testing import check_mechanism
from tests.query.samples import Pretending, code_book, persons_table, rows_table

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.query.cut_off import CutOffPlan

SCHEMA = cl.Schema(sex=cl.Category("F", "M"), month=cl.Integer(1, 6), cost=cl.Integer(-10, 100), town=cl.Text())
LIMITS: dict[str, Any] = {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 2}
Row = tuple[int, str, int]
BASE: list[Row] = [
    (1, "F", 1),
    (1, "F", 2),
    (1, "F", 2),
    (2, "M", 6),
    (3, "F", 3),
    (3, "F", 4),
    (3, "F", 5),
    (3, "F", 6),
]
HEAVY: list[Row] = [(9, "FM"[row // 6 % 2], 1 + row % 6) for row in range(500)]
SECRET = (1, 2)


def visits(rows: list[Row], **options: Any) -> Table:  # noqa: ANN401 - of table()
    who, sex, month = zip(*rows, strict=True)
    source = pa.table({"who": who, "sex": sex, "month": month, "cost": [7] * len(rows), "town": ["A"] * len(rows)})
    return cl.table(source, schema=SCHEMA, name="visits", **(LIMITS | options))


def plan_for(table: Table, sql: str, most: int, *, epsilon: str = "1") -> CutOffPlan:
    session = cl.Session(table, budget=cl.PureDP(epsilon=1))
    return session._plan_cut_off(sql, most, {"epsilon": epsilon})


class Silent:
    """Noise that adds nothing, to see the exact numbers."""

    def release(self, summary: Any, source: object) -> Any:  # noqa: ANN401 - as it came
        del source
        return summary


BY_SEX = "SELECT sex, COUNT(*) FROM visits GROUP BY sex"
BY_MONTH = "SELECT sex, month, COUNT(*) FROM visits GROUP BY sex, month"


def exact(table: Table, sql: str, most: int, engine: Any = None) -> Any:  # noqa: ANN401 - the numbers
    plan = dataclasses.replace(plan_for(table, sql, most), noise=Silent())  # type: ignore[arg-type] # stands for noise
    with engine or DuckDBEngine({"visits": table}) as opened:
        return np.asarray(plan.noisy(opened, SECRET, Seeded(1)))[:, 0]


def test_rows_beyond_the_limits_are_counted() -> None:
    assert exact(visits(BASE), "SELECT COUNT(*) FROM visits", 10).tolist() == [1 + 2]
    assert exact(visits(BASE), BY_SEX, 10).tolist() == [1 + 2, 0]
    assert exact(visits(BASE), "SELECT COUNT(*) FROM visits WHERE month > 2", 10).tolist() == [2]
    by_month = exact(visits(BASE), BY_MONTH, 10)
    assert by_month.sum() == 1 + 3 or by_month.sum() == 2 + 3  # one month of each, with at most two rows


@pytest.mark.parametrize("most", [1, 7, 100, 600])
@pytest.mark.parametrize("sql", ["SELECT COUNT(*) FROM visits", BY_SEX, BY_MONTH])
def test_a_person_changes_no_more_than_was_stated(sql: str, most: int) -> None:
    without, added = exact(visits(BASE), sql, most), exact(visits([*BASE, *HEAVY]), sql, most)
    assert (added >= without).all()
    assert (added - without).sum() <= most
    assert (added - without).sum() >= min(most, 400) - len(added)
    other = exact(visits([row for row in BASE if row[0] != 3] + HEAVY), sql, most)
    assert np.abs(other - without).sum() <= 2 * most


def test_postgresql_counts_the_same(postgres: str) -> None:
    import sqlalchemy as sa

    from celosia.query.postgres_engine import PostgresEngine

    engine = sa.create_engine(postgres.replace("postgresql://", "postgresql+psycopg://"))
    rows = [{"who": who, "sex": sex, "month": month} for who, sex, month in [*BASE, *HEAVY]]
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS visits"))
        connection.execute(
            sa.text("CREATE TABLE visits (who bigint, sex text, month integer, cost integer, town text)")
        )
        connection.execute(sa.text("INSERT INTO visits VALUES (:who, :sex, :month, 7, 'A')"), rows)
    engine.dispose()
    for limits, most in ((1, 600), (2, 30), (3, 30)):
        table = cl.table(postgres, schema=SCHEMA, name="visits", **(LIMITS | {"max_groups_per_person": limits}))
        here = visits([*BASE, *HEAVY], max_groups_per_person=limits)
        found = exact(table, BY_MONTH, most, PostgresEngine({"visits": table}))
        assert found.tolist() == exact(here, BY_MONTH, most).tolist()


def test_the_noise_passes_the_kit_on_neighbours() -> None:
    tables = visits(BASE), visits([*BASE, *HEAVY])
    pair = tuple(exact(table, BY_SEX, 3)[:, None] for table in tables)
    report = check_mechanism(plan_for(tables[0], BY_SEX, 3).noise.mechanism, [pair], samples=500, processes=2)
    assert report.lower_bound <= 1


def test_a_session_pays_and_says_before_what_it_costs() -> None:
    session = cl.Session(visits([*BASE, *HEAVY]), budget=cl.PureDP(epsilon=1), source=Seeded(7))
    before = session.preview_cut_off(BY_SEX, 500, epsilon="0.25")
    assert (before.affordable, before.cells, session.history) == (True, 2, ())
    assert "no person has more than 500 rows" in str(before)
    cut = session.measure_cut_off(BY_SEX, 500, epsilon="0.25")
    assert session.spent == cl.PureDP(epsilon="0.25", unit="person")
    assert session.history[0].question == f"Rows cut off by the limits in {BY_SEX}"
    assert cut.to_arrow(0.9).column_names == ["sex", "cut_off", "cut_off_low", "cut_off_high"]
    assert repr(cut) == "<CutOff of 2 groups; PureDP(epsilon=0.25, unit='person'), seeded=True>"
    with pytest.raises(BudgetExceeded):
        session.measure_cut_off(BY_SEX, 500, epsilon=1)
    rho = cl.Session(visits(BASE), budget=cl.ZCDP(rho=1)).measure_cut_off(BY_SEX, 10, rho="0.5")
    assert rho.guarantee == cl.ZCDP(rho="0.5", unit="person")


def test_what_is_wrong_costs_nothing() -> None:
    session = cl.Session([persons_table(), code_book()], budget=cl.PureDP(epsilon=1))
    engine = session._engine = Pretending()
    count = "SELECT COUNT(*) FROM deaths"
    each = "SELECT AVG(n) FROM (SELECT who, CLIP(COUNT(*), 0, 9) AS n FROM deaths GROUP BY who)"
    wrong: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
        (each, 5, {"epsilon": 1}, QueryError, "cut off anything"),
        ("SELECT COUNT(DISTINCT who) FROM deaths", 5, {"epsilon": 1}, QueryError, "cut off anything"),
        ("SELECT town, COUNT(*) FROM deaths GROUP BY town", 5, {"epsilon": 1}, QueryError, "keys="),
        (count, 0, {"epsilon": 1}, ParameterError, "max_rows_per_person"),
        (count, 2**40, {"epsilon": 1}, ParameterError, "max_rows_per_person"),
        (count, "many", {"epsilon": 1}, ParameterError, "max_rows_per_person"),
        (count, 5, {}, ParameterError, "epsilon="),
        (count, 5, {"epsilon": "1e-30"}, ParameterError, "64-bit"),
        (17, 5, {"epsilon": 1}, ParameterError, "query must be"),
    ]
    for query, most, target, kind, words in wrong:
        with pytest.raises(kind, match=words):
            session.measure_cut_off(query, most, **target)
    rows = cl.Session(rows_table(), budget=cl.PureDP(epsilon=1))
    with pytest.raises(QueryError, match="No limits"):
        rows.measure_cut_off(count, 5, epsilon=1)
    two = cl.Session([persons_table(), persons_table("visits")], budget=cl.PureDP(epsilon=1))
    with pytest.raises(QueryError, match="join on the person"):
        two.measure_cut_off(two.query("deaths").join("visits").count(), 5, epsilon=1)
    assert (session.history, engine.reads) == ((), 0)


def test_a_failure_while_reading_stays_paid_for() -> None:
    session = cl.Session(persons_table(), budget=cl.PureDP(epsilon=1))
    session._engine = Pretending(error=RuntimeError("person 7 has 638 rows"))
    with pytest.raises(EngineError) as caught:
        session.measure_cut_off("SELECT COUNT(*) FROM deaths", 700, epsilon="0.5")
    assert "638" not in str(caught.value)
    assert session.spent == cl.PureDP(epsilon="0.5", unit="person")


ALL = (
    "SELECT sex, COUNT(*) AS n, COUNT(cost) AS c, SUM(cost) AS s, AVG(cost) AS m, VARIANCE(cost) AS v, "
    "COUNT(DISTINCT month) AS d, COUNT(DISTINCT who) AS p, MEDIAN(cost) AS q, COUNT(*) + 1 AS x "
    "FROM visits GROUP BY sex"
)


def asked(sql: str = ALL) -> tuple[Any, Any]:
    session = cl.Session(visits([*BASE, *HEAVY]), budget=cl.PureDP(epsilon=10**6), source=Seeded(3))
    return session.measure_cut_off(sql, 600, epsilon=30_000), session.sql(sql, epsilon=30_000)


def test_true_values_lie_in_their_intervals_and_not_in_those_of_the_noise() -> None:
    cut, answer = asked()
    low, high = cut.true_interval(answer)
    assert low.column_names == high.column_names == ["sex", "n", "c", "s", "m", "d", "p"]
    rows = [*BASE, *HEAVY]
    for place, sex in enumerate(low["sex"].to_pylist()):
        own = [row for row in rows if row[1] == sex]
        truth = {"n": len(own), "c": len(own), "s": 7 * len(own), "m": 7.0, "d": 6, "p": len({row[0] for row in own})}
        for name, value in truth.items():
            assert low[name][place].as_py() <= value + 1e-3
            assert value <= high[name][place].as_py() + 1e-3
    assert high["n"].to_pylist()[0] - low["n"].to_pylist()[0] < 1  # all rows are those that count and those cut off
    assert high["c"].to_pylist()[0] - low["c"].to_pylist()[0] > 100  # but values may be missing in what was cut off
    noise = answer.confidence_interval()[1]
    assert noise["n"].to_pylist()[0] < 257
    kept = cut.rows_kept(answer)
    assert kept[0] == pytest.approx(answer.value["n"][0].as_py() / len([1 for row in rows if row[1] == "F"]), rel=0.01)


def test_rows_of_an_answer_are_found_by_their_keys() -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n DESC LIMIT 1"
    cut, answer = asked(sql)
    low, _ = cut.true_interval(answer)
    assert low["sex"].to_pylist() == answer.value["sex"].to_pylist()


def test_answers_that_were_read_with_another_secret_are_refused() -> None:
    cut, answer = asked(BY_SEX)
    stored = release_from_json(release_to_json(answer))
    with pytest.raises(ParameterError, match="not read in this session"):
        cut.true_interval(stored)
    with pytest.raises(ParameterError, match="not read in this session"):
        cut.true_interval(asked(BY_SEX)[1])
    one, whole = asked("SELECT COUNT(*) FROM visits")  # one group, and it counts
    assert one.true_interval(release_from_json(release_to_json(whole)), 0.9)[0].num_rows == 1


def test_what_has_no_interval_says_that_the_limits_may_cut_off_more() -> None:
    for sql in ("SELECT MEDIAN(cost) FROM visits", "SELECT AVG(cost) FROM visits"):
        cut, answer = asked(sql)
        with pytest.raises(NoInterval, match="the limits may cut off more"):
            cut.true_interval(answer)
    with pytest.raises(ParameterError, match="COUNT"):
        cut.rows_kept(answer)


def test_answers_to_other_queries_are_refused() -> None:
    cut, _ = asked(BY_SEX)
    _, other = asked("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex")
    with pytest.raises(ParameterError, match="its columns are others"):
        cut.true_interval(other)
    hidden, answer = asked("SELECT COUNT(*) FROM visits GROUP BY sex")
    with pytest.raises(ParameterError, match="must show all its keys"):
        hidden.true_interval(answer)
