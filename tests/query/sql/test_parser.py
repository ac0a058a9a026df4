"""SELECT texts become the plans that the builder makes, or are refused before anything is read."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core.errors import CelosiaError, QueryError
from celosia.core.guarantees import ApproxDP
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, Order, PerPerson, Plan, Projection
from celosia.query.plan.to_sql import render
from celosia.query.planning.analysis import analyze_plan
from celosia.query.session import Session
from celosia.query.sql.parser import parse_sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.data.table import Table
    from celosia.query.builder import Query

Tables = dict[str, "Table"]
AGE, SEX, COUNT = Column("age"), Column("sex"), Column("count")
DEATHS = Base("deaths")
ROWS = Aggregate(kind="count", name="count")
MINOR = Call("<", (AGE, Literal(18)))


def test_the_worked_example(hospital: Tables) -> None:
    text = "SELECT cause, COUNT(*), AVG(age), MEDIAN(age) FROM deaths WHERE sex = 'F' GROUP BY cause"
    assert parse_sql(text, hospital) == Plan(
        relation=DEATHS,
        filter=Call("=", (SEX, Literal("F"))),
        keys=(Key(name="cause", expression=Column("cause")),),
        aggregates=(
            ROWS,
            Aggregate(kind="mean", columns=(AGE,), name="mean_age"),
            Aggregate(kind="median", columns=(AGE,), name="median_age"),
        ),
    )


def test_everything_after_the_aggregates(hospital: Tables) -> None:
    text = (
        "SELECT sex AS s, SUM(age) / COUNT(*) AS ratio, COUNT(*) AS n FROM deaths GROUP BY sex "
        "HAVING COUNT(*) > 10 AND ratio < 50 ORDER BY n DESC, s, MAX(age) LIMIT 5"
    )
    ratio = Call("/", (Column("sum_age"), COUNT))
    assert parse_sql(text, hospital) == Plan(
        relation=DEATHS,
        keys=(Key(name="s", expression=SEX),),
        aggregates=(
            Aggregate(kind="sum", columns=(AGE,), name="sum_age"),
            ROWS,
            Aggregate(kind="max", columns=(AGE,), name="max_age"),
        ),
        outputs=(("s", Column("s")), ("ratio", ratio), ("n", COUNT)),
        having=Call("and", (Call(">", (COUNT, Literal(10))), Call("<", (ratio, Literal(50))))),
        order=(
            Order(expression=COUNT, descending=True),
            Order(expression=Column("s")),
            Order(expression=Column("max_age")),
        ),
        limit=5,
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM deaths GROUP BY FLOOR(age / 10)",
        "SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM deaths GROUP BY decade",
        "SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM deaths GROUP BY 1",
        "SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM deaths GROUP BY DECADE, 1",
        "SELECT FLOOR((d.AGE) / 10) decade, COUNT(1) FROM deaths d GROUP BY FLOOR(age / 10);",
    ],
)
def test_keys_can_be_written_in_many_ways(text: str, hospital: Tables) -> None:
    decade = Call("floor", (Call("/", (AGE, Literal(10))),))
    keys = (Key(name="decade", expression=decade),)
    assert parse_sql(text, hospital) == Plan(relation=DEATHS, keys=keys, aggregates=(ROWS,))


def test_a_column_goes_before_an_alias_in_group_by_and_after_it_in_order_by(hospital: Tables) -> None:
    plan = parse_sql("SELECT FLOOR(age / 10) AS age, COUNT(*) FROM deaths GROUP BY 1 ORDER BY age", hospital)
    assert plan.keys[0].name == "age"
    assert plan.order[0].expression == AGE
    grouped = parse_sql("SELECT FLOOR(age / 10) AS age, COUNT(*) FROM deaths GROUP BY age", hospital)
    assert grouped.keys[0].expression == AGE
    assert grouped.outputs[0] == ("age", Call("floor", (Call("/", (AGE, Literal(10))),)))


def test_unnamed_expressions_are_called_what_they_are(hospital: Tables) -> None:
    plan = parse_sql("SELECT YEAR(day), YEAR(day) + 1, COUNT(*) * 2 FROM deaths GROUP BY YEAR(day)", hospital)
    assert [name for name, _ in plan.outputs] == ["YEAR(day)", "YEAR(day) + 1", "count * 2"]
    long = parse_sql(f"SELECT COUNT(*){' + 1' * 60} FROM deaths", hospital)
    assert len(long.outputs[0][0]) == 100


def test_an_aggregate_is_measured_once(hospital: Tables) -> None:
    plan = parse_sql("SELECT COUNT(*) AS n, COUNT(*) AS m, 2 * COUNT(1) AS k FROM deaths", hospital)
    assert [aggregate.name for aggregate in plan.aggregates] == ["n"]
    assert plan.outputs == (("n", Column("n")), ("m", Column("n")), ("k", Call("*", (Literal(2), Column("n")))))


def test_subqueries_and_joins(hospital: Tables) -> None:
    text = (
        "WITH bills AS (SELECT pid, SUM(cost) AS total FROM visits GROUP BY pid) "
        "SELECT i.chapter, AVG(CLIP(total, 0, 5000)) AS bill FROM deaths d JOIN icd i ON d.cause = i.code "
        "JOIN bills b ON b.pid = d.person_id WHERE d.age < 18 GROUP BY i.chapter"
    )
    bills = PerPerson(relation=Base("visits"), columns=(("total", "sum", Column("cost")),))
    known = Join(left=DEATHS, right=Base("icd"), on=(("cause", "code"),))
    clipped = Call("clip", (Column("total"), Literal(0), Literal(5000)))
    assert parse_sql(text, hospital) == Plan(
        relation=Join(left=known, right=bills, by="person"),
        filter=MINOR,
        keys=(Key(name="chapter", expression=Column("chapter")),),
        aggregates=(Aggregate(kind="mean", columns=(clipped,), name="bill"),),
    )


def test_tables_of_rows_have_no_person(hospital: Tables) -> None:
    plan = parse_sql(
        'SELECT "Group", SUM(y) FROM (SELECT x + y AS y, "Group" FROM measurements) GROUP BY "Group"', hospital
    )
    assert isinstance(plan.relation, Projection)
    with pytest.raises(QueryError, match="no column 'PERSON'"):
        parse_sql("SELECT COUNT(DISTINCT PERSON) FROM measurements", hospital)


# ----------------------------------------------------------------------------------------------------- the builder

SAME: list[tuple[str, Callable[[Query], Query]]] = [
    ("SELECT COUNT(*) FROM deaths", lambda q: q.count()),
    (
        "SELECT COUNT(*) AS n FROM deaths WHERE age < 18 AND sex = 'F'",
        lambda q: q.where("age < 18 AND sex = 'F'").count(name="n"),
    ),
    (
        "SELECT COUNT(*) FROM deaths WHERE age < 18 AND sex = 'F'",
        lambda q: q.where("age < 18").where("sex = 'F'").count(),
    ),
    ("SELECT sex, COUNT(*) FROM deaths GROUP BY sex", lambda q: q.group_by("sex").count()),
    ("SELECT sex AS s, COUNT(*) FROM deaths GROUP BY sex", lambda q: q.group_by(s="sex").count()),
    (
        "SELECT sex, grade, COUNT(*), AVG(age) FROM deaths GROUP BY sex, grade",
        lambda q: q.group_by("sex", "grade").count().mean("age"),
    ),
    ("SELECT YEAR(day) AS y, COUNT(*) FROM deaths GROUP BY y", lambda q: q.group_by(y="YEAR(day)").count()),
    ("SELECT YEAR(day), COUNT(*) FROM deaths GROUP BY YEAR(day)", lambda q: q.group_by("YEAR(day)").count()),
    (
        "SELECT COUNT(age), COUNT(DISTINCT cause), COUNT(DISTINCT person_id) FROM deaths",
        lambda q: q.count("age").count_distinct("cause").count_persons(),
    ),
    (
        "SELECT SUM(2 * age), VARIANCE(age), STDDEV(age) AS s FROM deaths",
        lambda q: q.sum("2 * age").variance("age").std("age", name="s"),
    ),
    (
        "SELECT COVAR_SAMP(age, weight), CORR(age, weight) FROM deaths",
        lambda q: q.covariance("age", "weight").correlation("age", "weight"),
    ),
    (
        "SELECT MEDIAN(age), QUANTILE(age, 0.9), MIN(age), MAX(age) FROM deaths",
        lambda q: q.median("age").quantile("age", "0.9").min("age").max("age"),
    ),
    ("SELECT QUANTILE(age, 0.1), QUANTILE(age, 0.9) FROM deaths", lambda q: q.quantiles("age", ["0.1", "0.9"])),
    ("SELECT MODE(cause), TOP_K(cause, 2) FROM deaths", lambda q: q.mode("cause").top_k("cause", 2)),
    (
        "SELECT BUCKET(age, 0, 18, 120) AS age_bin, COUNT(*) FROM deaths GROUP BY 1",
        lambda q: q.histogram("age", [0, 18, 120]),
    ),
    (
        "SELECT sex, COUNT(*) FROM deaths GROUP BY sex HAVING COUNT(*) > 5 ORDER BY COUNT(*) DESC LIMIT 1",
        lambda q: q.group_by("sex").count().having("count > 5").order_by("count", descending=True).limit(1),
    ),
    (
        "SELECT chapter, COUNT(*) FROM deaths LEFT JOIN icd ON cause = code GROUP BY chapter",
        lambda q: q.join("icd", on={"cause": "code"}, how="left").group_by("chapter").count(),
    ),
    ("SELECT AVG(cost) FROM deaths JOIN visits ON person_id = pid", lambda q: q.join("visits").mean("cost")),
]


def test_the_builder_makes_the_same_plan(hospital: Tables) -> None:
    for text, build in SAME:
        private = [hospital[name] for name in ("deaths", "visits", "icd")]
        session = Session(private, budget=ApproxDP(epsilon=1, delta="1e-6"))
        plan = parse_sql(text, hospital)
        assert build(session.query("deaths")).plan == plan
        assert parse_sql(render(plan), hospital) == plan
        analyze_plan(plan, hospital)


# -------------------------------------------------------------------------------------------------- written and read


@st.composite
def texts(draw: st.DrawFn) -> str:
    columns = ["age", "weight", "2 * age", "CLIP(weight, 0, 100)", "CAST(alive AS INTEGER)", "age - weight"]
    functions = ["AVG({})", "SUM({})", "COUNT({})", "MEDIAN({})", "QUANTILE({}, 0.25)", "STDDEV({})", "CORR(age, {})"]
    made = [
        draw(st.sampled_from(functions)).format(draw(st.sampled_from(columns))) for _ in range(draw(st.integers(1, 3)))
    ]
    made += draw(st.sampled_from([[], ["COUNT(*)"], ["COUNT(DISTINCT person_id)"], ["MODE(cause)", "TOP_K(cause, 2)"]]))
    items = [f"{item} AS c{i}" if draw(st.booleans()) else item for i, item in enumerate(dict.fromkeys(made))]
    items += draw(st.sampled_from([[], ["COUNT(*) + 1 AS more"], ["MAX(age) / COUNT(*) AS r"]]))
    keys = draw(
        st.lists(
            st.sampled_from(["sex", "cause", "YEAR(day)", "age % 2", "BUCKET(age, 0, 60, 120)"]),
            unique=True,
            max_size=2,
        )
    )
    origin = draw(st.sampled_from(["deaths", "(SELECT * FROM deaths WHERE age > 3)", "deaths d"]))
    where = draw(
        st.sampled_from(["", " WHERE age < 18", " WHERE NOT (alive OR sex IN ('F')) AND day >= DATE '2021-02-01'"])
    )
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = draw(st.sampled_from(["", " HAVING COUNT(*) > 10", " HAVING NOT AVG(age) BETWEEN 1 AND 2"]))
    order = draw(st.sampled_from(["", " ORDER BY 1 DESC", " ORDER BY COUNT(*)"]))
    limit = draw(st.sampled_from(["", " LIMIT 3"]))
    return f"SELECT {', '.join([*keys, *items])} FROM {origin}{where}{group}{having}{order}{limit}"


@settings(max_examples=150)
@given(text=texts())
def test_plans_come_back(text: str, hospital: Tables) -> None:
    plan = parse_sql(text, hospital)
    assert parse_sql(render(plan), hospital) == plan


# ------------------------------------------------------------------------------------------------------ hostile texts

LISTED = [
    line.replace("@", "SELECT COUNT(*) FROM deaths ", 1) if line.startswith("@") else line
    for line in (Path(__file__).parents[1] / "hostile.sql.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
WHERE = "SELECT COUNT(*) FROM deaths WHERE "
MADE = [
    "",
    " ",
    "\n",
    "\0",
    "SELECT COUNT(*) FROM deaths\0",
    "SELECT COUNT(*) FROM deaths WHERE sex = 'F\0'",
    "SELECT COUNT(*) FROM de\u200baths",
    "SELECT COUNT(*) FROM deaths WHERE sex = '\u202eF'",
    "SELECT COUNT(*) FROM deaths WHERE sex = '\ud800'",
    "\ufeffSELECT * FROM deaths",
    "SELECT COUNT(*) FROM deaths WHERE sex = \u2018F\u2019",
    "SELECT\u00a0*\u00a0FROM\u00a0deaths",
    "SELECT COUNT(*)\x1bFROM deaths",
    "(" * 100_000,
    ")" * 100_000,
    WHERE + "(" * 100_000 + "age < 18" + ")" * 100_000,
    WHERE + "(" * 9_000 + "age < 18" + ")" * 9_000,
    WHERE + "(" * 51 + "age < 18" + ")" * 51,
    WHERE + "NOT " * 100_000 + "alive",
    WHERE + "NOT " * 4_000 + "alive",
    WHERE + "- " * 9_000 + "age < 18",
    WHERE + "+".join(["age"] * 5_000) + " < 18",
    WHERE + "+".join(["age"] * 200) + " < 18",
    WHERE + " OR ".join(["age < 18"] * 5_000),
    WHERE + "age IN (" + ", ".join(["1"] * 100_000) + ")",
    WHERE + "CASE WHEN alive THEN " * 60 + "1" + " END" * 60 + " < 18",
    WHERE + "ABS(" * 60 + "age" + ")" * 60 + " < 18",
    WHERE + "DATE (" * 40 + "1" + ")" * 40,
    WHERE + "BIGINT (" * 40,
    WHERE + "age < " + "9" * 5_000,
    WHERE + "age < 0." + "0" * 5_000 + "1",
    WHERE + "note = '" + "x" * 5_000 + "'",
    WHERE + "note = '" + "x" * 100_000 + "'",
    "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 60 + "deaths" + ")" * 60,
    "WITH "
    + ", ".join(f"a{i} AS (SELECT * FROM {f'a{i - 1}' if i else 'deaths'})" for i in range(150))
    + " SELECT 1 FROM a0",
    "SELECT " + ", ".join(["*"] * 3_000) + " FROM deaths",
    "SELECT COUNT(*) AS " + "x" * 5_000 + " FROM deaths",
    'SELECT COUNT(*) AS "\n" FROM deaths',
    'SELECT COUNT(*) AS "" FROM deaths',
    "SELECT COUNT(*) FROM deaths JOIN " + " JOIN ".join(f"icd i{i} ON cause = i{i}.code" for i in range(30)),
    "/*" * 5_000,
    "--" * 5_000,
    "'" * 9_999,
    '"' * 9_999,
    ";" * 5_000,
    "SELECT " * 3_000,
    "FROM " * 3_000,
    "WITH " * 3_000,
    "SELECT COUNT(*) FROM deaths " * 500,
    "\t".join("SELECT"),
    "💣",
    "SELECT 💣 FROM deaths",
]


def test_there_are_enough_of_them() -> None:
    assert len(set(LISTED + MADE)) >= 500


def test_hostile_texts_are_refused_in_our_words(hospital: Tables) -> None:
    for text in LISTED + MADE:
        with pytest.raises(CelosiaError) as caught:
            analyze_plan(parse_sql(text, hospital), hospital)
        sentence = str(caught.value)
        assert sentence.endswith((".", "?"))
        assert len(sentence) < 700
        for leak in ("sqlglot", "Traceback", "duckdb", "Duck", "ParseError", "Token", "\x1b", "object at 0x"):
            assert leak not in sentence or leak in text
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("text", [None, 3, b"SELECT COUNT(*) FROM deaths", ["SELECT"]])
def test_only_texts_are_read(text: object, hospital: Tables) -> None:
    with pytest.raises(QueryError, match="must be a str"):
        parse_sql(text, hospital)  # type: ignore[arg-type]


WORDS = ["SELECT", "FROM", "deaths", "icd", "visits", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "COUNT(*)"]
WORDS += ["AVG(age)", "age", "sex", "cause", ",", ".", "(", ")", "=", "<", "'F'", "18", "*", "AND", "OR", "NOT", "IN"]
WORDS += ["CASE", "WHEN", "THEN", "END", "JOIN", "ON", "USING", "LEFT", "AS", "WITH", "person_id", "DISTINCT", "NULL"]
WORDS += ["BETWEEN", "IS", "FILTER", "d", "-"]


@settings(max_examples=300)
@given(words=st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_words_give_a_plan_or_our_error(words: list[str], hospital: Tables) -> None:
    try:
        plan = parse_sql(" ".join(["SELECT", *words]), hospital)
    except CelosiaError:
        return
    assert plan.aggregates


@given(cut=st.integers(0, 200), put=st.characters(codec="utf-8"))
def test_broken_texts_give_a_plan_or_our_error(cut: int, put: str, hospital: Tables) -> None:
    text = (
        "WITH v AS (SELECT pid, SUM(cost) AS t FROM visits GROUP BY pid) "
        "SELECT sex AS s, AVG(age) FILTER (WHERE age > 3) FROM deaths JOIN v ON person_id = v.pid "
        "WHERE day >= DATE '2021-01-01' GROUP BY sex HAVING COUNT(*) > 3 LIMIT 3"
    )
    for broken in (text[:cut], text[cut:], text[:cut] + put + text[cut:], text[:cut] + text[cut + 1 :]):
        try:
            plan = parse_sql(broken, hospital)
        except CelosiaError:
            continue
        assert plan.aggregates


def test_quantiles_are_exact(hospital: Tables) -> None:
    (aggregate,) = parse_sql("SELECT QUANTILE(age, 0.1) FROM deaths", hospital).aggregates
    assert aggregate.parameters == (Fraction(1, 10),)


def test_distinct_rows_are_refused_with_a_way_out(hospital: Tables) -> None:
    with pytest.raises(QueryError, match=r"SELECT DISTINCT would show values .* group by them, with COUNT"):
        parse_sql("SELECT DISTINCT age FROM deaths", hospital)
