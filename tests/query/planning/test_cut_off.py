"""What limits cut off: exact numbers, what one person changes, what is paid, and intervals for the true values."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core import FormatError, NoIntervalError, ParameterError
from celosia.noise import Seeded
from celosia.query import CutOff
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.planning.analysis import analyze_plan
from celosia.query.planning.strategy import read_target, strategies_for
from celosia.query.serial.release import release_from_json, release_to_json
from celosia.query.sql.parser import parse_sql
from celosia.statistics.base.target import Target
from celosia.testing import check_mechanism
from tests.query.samples import persons_table
from tests.query.worlds import WorldEngine

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.query.planning.analysis import AnalyzedPlan

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
TOTAL = "SELECT COUNT(*) FROM visits"
BY_SEX = "SELECT sex, COUNT(*) FROM visits GROUP BY sex"
BY_MONTH = "SELECT sex, month, COUNT(*) FROM visits GROUP BY sex, month"


def visits(rows: list[Row], most: int | None = 600, **options: Any) -> Table:
    who, sex, month = zip(*rows, strict=True)
    source = pa.table({"who": who, "sex": sex, "month": month, "cost": [7] * len(rows), "town": ["A"] * len(rows)})
    return cl.table(source, schema=SCHEMA, name="visits", max_rows_per_person=most, **(LIMITS | options))


def asked(table: Table, sql: str) -> AnalyzedPlan:
    return analyze_plan(parse_sql(sql, {"visits": table}), {"visits": table})


def exact(table: Table, sql: str, engine: Any = None) -> tuple[Any, Any]:
    """Rows kept and cut off in each cell, and persons kept and cut off."""
    question = asked(table, sql)
    assert question.cells is not None
    with engine or DuckDBEngine({"visits": table}) as opened:
        rows, persons = opened.summaries(question.plan, question.cut_off, question.bounding, SECRET, question.cells)
    return np.asarray(rows, dtype=np.int64), np.asarray(persons, dtype=np.int64)


def exact_in_all(tables: list[Table], sql: str) -> list[tuple[Any, ...]]:
    """The same of several tables, by queries that are made once."""
    question = asked(tables[0], sql)
    assert question.cells is not None
    with WorldEngine(*({"visits": table} for table in tables)) as engine:
        return engine.summaries_of_all(question, question.cut_off, question.cells)


def test_rows_beyond_the_limits_are_counted() -> None:
    rows, persons = exact(visits(BASE), TOTAL)
    assert (rows.tolist(), persons.tolist()) == ([[2 + 1 + 2, 1 + 2]], [[1, 2]])
    rows, persons = exact(visits(BASE), BY_SEX)
    assert (rows.tolist(), persons.tolist()) == ([[4, 3], [1, 0]], [[1, 2]])
    rows, persons = exact(visits(BASE), "SELECT COUNT(*) FROM visits WHERE month > 2")
    assert (rows.tolist(), persons.tolist()) == ([[3, 2]], [[1, 1]])
    rows, persons = exact(visits(BASE), BY_MONTH)  # one month of each, with at most two rows
    assert (int(rows.sum()), persons.tolist()) == (8, [[1, 2]])


@pytest.mark.parametrize("sql", [TOTAL, BY_SEX, BY_MONTH])
def test_a_person_changes_no_more_than_was_stated(sql: str) -> None:
    for most in (1, 100, 600):
        worlds = BASE, [*BASE, *HEAVY], [row for row in BASE if row[0] != 3] + HEAVY
        without, added, other = exact_in_all([visits(rows, most) for rows in worlds], sql)
        assert (added[0] >= without[0]).all()
        assert (added[0] - without[0]).sum() <= most
        assert (added[0] - without[0]).sum() >= min(most, 500) - added[0].size
        assert np.abs(other[0] - without[0]).sum() <= 2 * most
        assert np.abs(added[1] - without[1]).sum() == 1


def test_postgresql_counts_the_same(postgres: str) -> None:
    import sqlalchemy as sa

    from celosia.query.engines.postgres import PostgresEngine

    engine = sa.create_engine(postgres.replace("postgresql://", "postgresql+psycopg://"))
    rows = [{"who": who, "sex": sex, "month": month} for who, sex, month in [*BASE, *HEAVY]]
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS visits"))
        connection.execute(
            sa.text("CREATE TABLE visits (who bigint, sex text, month integer, cost integer, town text)")
        )
        connection.execute(sa.text("INSERT INTO visits VALUES (:who, :sex, :month, 7, 'A')"), rows)
    engine.dispose()
    for groups, most in ((1, 600), (2, 30), (3, 30)):
        limits = LIMITS | {"max_groups_per_person": groups, "max_rows_per_person": most}
        table = cl.table(postgres, schema=SCHEMA, name="visits", **limits)
        found = exact(table, BY_MONTH, PostgresEngine({"visits": table}))
        here = exact(visits([*BASE, *HEAVY], most, max_groups_per_person=groups), BY_MONTH)
        assert all((one == other).all() for one, other in zip(found, here, strict=True))


def test_the_noise_passes_the_kit_on_neighbours() -> None:
    tables = visits(BASE, 3), visits([*BASE, *HEAVY], 3)
    (strategy,) = strategies_for(asked(tables[0], BY_SEX), Target(epsilon=Fraction(20)))
    pairs = zip(*(exact(table, BY_SEX) for table in tables), strict=True)
    for part, pair, epsilon in zip(strategy.parts[1:], pairs, (3, 1), strict=True):
        assert part.noise is not None
        report = check_mechanism(part.noise.mechanism, [pair], samples=500, processes=2)
        assert report.lower_bound <= epsilon == part.share


@pytest.mark.parametrize("budget", [cl.PureDP(epsilon=1), cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ZCDP(rho=1)])
def test_a_fifth_of_the_cost_measures_what_is_cut_off(budget: Any) -> None:
    """Laplace, Gaussian and concentrated: the whole cost stays as asked, four fifths are for the answer."""
    session = cl.Session(visits(BASE, 9), budget=budget)
    target = {"rho": 1} if isinstance(budget, cl.ZCDP) else {"epsilon": 1}
    before = session.sql(BY_SEX).preview(**target)
    assert [(line.name, line.share) for line in before.lines] == [
        ("count", Fraction(4, 5)),
        ("rows_cut_off", Fraction(3, 20)),
        ("persons_cut_off", Fraction(1, 20)),
    ]
    assert "no person has more than 9 rows" in str(before)
    many = "SELECT sex, " + ", ".join(f"COUNT(*) FILTER (WHERE month < {i}) AS n{i}" for i in range(2, 7))
    for sql in (BY_SEX, f"{many} FROM visits GROUP BY sex", "SELECT MEDIAN(month), COUNT(month) FROM visits"):
        for strategy in strategies_for(asked(visits(BASE, 9), sql), read_target(budget, **target)):
            weights = [part.weight for part in strategy.parts]
            assert (sum(weights), weights[-2:]) == (1, [Fraction(3, 20), Fraction(1, 20)])
    release = session.sql(BY_SEX).release(**target)
    spent: Any = release.guarantee
    assert (spent.rho if isinstance(budget, cl.ZCDP) else spent.epsilon) <= 1


def test_what_cannot_be_measured_costs_nothing_and_is_said() -> None:
    each = "SELECT AVG(n) FROM (SELECT who, CLIP(COUNT(*), 0, 9) AS n FROM visits GROUP BY who)"
    for sql in (each, "SELECT COUNT(DISTINCT who) FROM visits"):
        question = asked(visits(BASE), sql)
        assert (question.may_cut, question.cut_off) == (False, ())
    session = cl.Session(visits(BASE, None), budget=cl.PureDP(epsilon=1), source=Seeded(1))
    release = session.sql(TOTAL, epsilon=1)
    assert (release.cut_off, release.true_intervals) == (None, {})
    assert any("The limits may cut off more" in note for note in release.notes)
    with pytest.raises(NoIntervalError, match=r"the limits may cut off more.*max_rows_per_person"):
        release.true_interval()
    left, right = (cl.table(
        persons_table(name).source.frame, schema=persons_table(name).schema, name=name, max_rows_per_person=9,  # type: ignore[union-attr] # a frame
        person="who", max_groups_per_person=1, max_rows_per_group=1,
    ) for name in ("deaths", "visits"))  # fmt: skip
    joined = cl.Session([left, right], budget=cl.PureDP(epsilon=1)).query("deaths").join("visits").count()
    assert analyze_plan(joined.plan, {"deaths": left, "visits": right}).cut_off == ()


ALL = (
    "SELECT sex, COUNT(*) AS n, COUNT(cost) AS c, SUM(cost) AS s, AVG(cost) AS m, VARIANCE(cost) AS v, "
    "STDDEV(cost) AS sd, COUNT(DISTINCT month) AS d, COUNT(DISTINCT who) AS p, MEDIAN(cost) AS q, COUNT(*) + 1 AS x, "
    "COUNT(*) FILTER (WHERE month < 4) / COUNT(*) AS r FROM visits GROUP BY sex"
)


def answered(sql: str = ALL, **options: Any) -> Any:
    table = visits([*BASE, *HEAVY], **options)
    return cl.Session(table, budget=cl.PureDP(epsilon=10**6), source=Seeded(3)).sql(sql, epsilon=60_000)


def test_true_values_lie_in_their_intervals_and_not_in_those_of_the_noise() -> None:
    release = answered()
    low, high = release.true_interval()
    assert low.column_names == high.column_names == ["sex", "n", "c", "s", "m", "v", "sd", "d", "p", "x", "r"]
    rows = [*BASE, *HEAVY]
    for place, sex in enumerate(low["sex"].to_pylist()):
        own = [row for row in rows if row[1] == sex]
        early = len([row for row in own if row[2] < 4]) / len(own)
        truth = {"n": len(own), "c": len(own), "s": 7 * len(own), "m": 7.0, "v": 0, "sd": 0, "d": 6}
        truth |= {"p": len({row[0] for row in own}), "x": len(own) + 1, "r": early}
        for name, value in truth.items():
            assert low[name][place].as_py() <= value + 1e-3
            assert value <= high[name][place].as_py() + 1e-3
    first = {name: high[name][0].as_py() - low[name][0].as_py() for name in ("n", "c", "x")}
    assert first["n"] < 1  # all rows are those that count and those cut off
    assert first["c"] > 100  # but values may be missing in what was cut off
    assert first["x"] < 1
    assert release.confidence_interval()[1]["n"].to_pylist()[0] < 257
    shown = release.to_arrow(0.9).column_names
    assert shown[:6] == ["sex", "n", "n_low", "n_high", "n_true_low", "n_true_high"]
    assert release.name_interval(0.9) == "90 % noise interval"
    assert release.name_interval(0.9, true=True) == "90 % interval for the true value"


def test_true_means_that_share_a_count_lie_in_their_intervals() -> None:
    release = answered(
        "SELECT sex, COUNT(*) AS n, COUNT(cost) AS c, SUM(cost) AS s, AVG(cost) AS m, COUNT(month) AS k, "
        "AVG(month) AS o FROM visits GROUP BY sex"
    )
    low, high = release.true_interval()
    assert low.column_names == ["sex", "n", "c", "s", "m", "k", "o"]
    for place, sex in enumerate(low["sex"].to_pylist()):
        own = [row for row in [*BASE, *HEAVY] if row[1] == sex]
        size, months = len(own), [row[2] for row in own]
        truth = {"n": size, "c": size, "s": 7 * size, "m": 7.0, "k": size, "o": sum(months) / size}
        for name, value in truth.items():
            assert low[name][place].as_py() <= value + 1e-3
            assert value <= high[name][place].as_py() + 1e-3
    assert high["n"][0].as_py() - low["n"][0].as_py() < 1


def test_what_is_kept_is_told_beside_the_answer() -> None:
    release = answered(BY_SEX)
    assert release.cut_off.rows == pytest.approx(7 / 508, abs=1e-3)  # 2 + 2 of three women, 1 man, 2 of the heavy one
    assert release.cut_off.persons == pytest.approx(1 / 4, abs=1e-3)
    assert release.cut_off.rows_low <= 7 / 508 <= release.cut_off.rows_high
    assert release.notes[0] == release.cut_off.describe()
    again = release_from_json(release_to_json(release))
    assert again.cut_off == release.cut_off
    assert again.true_interval(0.9) == release.true_interval(0.9)


def test_private_keys_are_measured_where_they_are_shown() -> None:
    table = visits([*BASE, *HEAVY, *((100 + i, "F", 1) for i in range(200))])
    session = cl.Session(table, budget=cl.ApproxDP(epsilon=200, delta="1e-3"), source=Seeded(3))
    release = session.sql("SELECT town, COUNT(*) AS n FROM visits GROUP BY town", epsilon=200)
    low, high = release.true_interval()
    assert 600 < low["n"][0].as_py() <= 708 <= high["n"][0].as_py() < 900
    nobody = cl.Session(visits(BASE), budget=cl.ApproxDP(epsilon=1, delta="1e-9"), source=Seeded(3))
    empty = nobody.sql("SELECT town, COUNT(*) AS n FROM visits GROUP BY town", epsilon=1)
    assert (empty.value.num_rows, empty.cut_off, empty.true_interval()[0].num_rows) == (0, None, 0)


def test_shares_that_cannot_be_are_refused() -> None:
    fine = {"rows_low": 0.1, "rows_high": 0.3, "persons": 1, "persons_low": 0, "persons_high": 1}
    with pytest.raises(ParameterError, match="rows must be between 0 and 1"):
        CutOff(rows=1.5, max_rows_per_person=3, **fine)
    written = release_to_json(answered(BY_SEX))
    for wrong in ({"rows": 2}, {"max_rows_per_person": "many"}, {"rows": None}):
        with pytest.raises(FormatError):
            release_from_json(written | {"cut_off": written["cut_off"] | wrong})
    for name in ("intervals", "true_intervals"):
        with pytest.raises(FormatError, match="each once"):
            release_from_json(written | {name: written[name] * 2})
