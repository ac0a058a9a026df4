"""Test cases for an engine: every measure, every operation, every way to group, join and bound.

They use the tables of ``engine_tables``, and are few: on some engines each query takes a second.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Kind, Real
from celosia.data.table import Table
from celosia.query.plan.expressions import Column, kind_of
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, PerPerson, Plan, Projection, Relation
from celosia.query.plan.relations import columns_of
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.query.sql.expressions import parse_expression
from celosia.statistics import (
    Bins,
    ContributionBounds,
    CrossMoments,
    CutPersons,
    CutRows,
    Distinct,
    FirstMoments,
    Mode,
    Quantiles,
    RowCount,
    SecondMoments,
    SharedMoments,
    TopK,
    Total,
)
from celosia.testing.engines.tables import LEVELS, SCHEMA, SEXES, nasty_tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case: the plan, the measurements, the bounds, and the cells (None for the keys that occur)."""

    name: str
    plan: Plan
    requests: tuple[Measurement, ...]
    bounding: ContributionBounds
    cells: Cells | None


def cases(*, persons: bool) -> Iterator[Case]:
    """Yield the cases about rows, or about persons."""
    tables = nasty_tables()
    yield from _person_cases(tables) if persons else _row_cases(tables)


def _row_cases(tables: dict[str, Table]) -> Iterator[Case]:
    base, make = Base("visits"), functools.partial(_case, tables, persons=False)
    sex, both = [("sex", "sex")], [("level", "level"), ("code", "code")]
    yield make("moments", base, sex, _moments())
    yield make("expressions", base, [("level", "level")], _expressions(columns_of(base, tables)))
    yield make("no keys", base, [], [_measurement(RowCount()), _choices()[0]])
    for condition in _FILTERS:
        yield make(f"where {condition}", base, both, [_measurement(RowCount())], where=condition)
    for keys in (["age"], ["born", "alive"], ["flag", "bucket(weight, 0, 50, 299.9, 300)"], ["year(born)", "code"]):
        yield make(
            f"by {', '.join(keys)}", base, [(f"k{i}", key) for i, key in enumerate(keys)], [_measurement(RowCount())]
        )
    listed = Cells.from_rows([("high", 30), ("low", 2), ("low", 1)], 2)
    yield make("listed", base, both, [_measurement(RowCount())], cells=listed)
    yield make("choices", base, sex, _choices())
    yield make("private keys", base, [("city", "city"), ("flag", "flag")], [], private=True)
    yield make(
        "texts", base, [("k", "upper(left(sex, 3))")], [_measurement(Distinct(), "upper(city)", distinct="values")]
    )
    yield make("private texts", base, [("k", "lower(trim(city))")], [], private=True)
    for how in ("inner", "left"):
        joined = Join(left=base, right=Base("book"), on=(("code", "code"),), how=how)
        taken = [_measurement(RowCount(), "title"), _measurement(Total(_axis(tables, joined, "factor")), "factor")]
        yield make(f"{how} join", joined, sex, taken)
    columns = (("x", parse_expression("weight / 3")), ("sex", Column("sex")), ("y", parse_expression("age * 2 - 5")))
    inner = Projection(relation=base, columns=columns, filter=parse_expression("age > 5"))
    yield make("written texts", Base("iso"), sex, _list_written(tables["iso"]))
    yield make("subquery", inner, sex, [_measurement(FirstMoments(_axis(tables, inner, c)), c) for c in ("x", "y")])


def _person_cases(tables: dict[str, Table]) -> Iterator[Case]:
    make, base, sex = functools.partial(_case, tables), Base("people"), [("sex", "sex")]
    few = [_measurement(RowCount()), _measurement(Total(_axis(tables, base, "dose")), "dose")]
    yield make("choices", base, sex, _choices())
    for bounds in ((1, 1), (2, 3), (3, 2), (5, 100)):
        yield make(f"{bounds[0]} by {bounds[1]}", base, [("month", "month(born)")], few, bounds=bounds)
    contributions = _measurement(Bins(441), distinct="contributions")
    cut = [_measurement(CutRows(1000)), _measurement(CutRows(3)), _measurement(CutPersons())]
    for bounds in ((1, 1), (2, 3), (3, 2)):
        taken = [*cut, contributions] if bounds == (2, 3) else cut
        yield make(f"beyond {bounds[0]} by {bounds[1]}", base, [("month", "month(born)")], taken, bounds=bounds)
    yield make("no keys", base, [], [*_moments()[:8], _choices()[0]], where="NOT (sex IN ('F', 'M'))")
    both = [("level", "level"), ("code", "code")]
    listed = Cells.from_rows([("high", 30), ("low", 2), ("low", 1)], 2)
    yield make("listed", base, both, few, cells=listed)
    yield make("several keys", base, [*both, ("flag", "flag")], [*few, _measurement(Distinct(), distinct="persons")])
    yield make("texts", Base("texts"), sex, [*few, contributions, _choices()[0], _choices()[-1]])
    yield make("private keys", base, [("city", "city"), ("flag", "flag")], [], private=True)
    yield make("text keys", Base("texts"), [("city", "upper(trim(city, ' \u00a0'))")], [], private=True)
    columns = (
        ("n", "count", None),
        ("known", "count", Column("age")),
        ("oldest", "max", Column("age")),
        ("first", "min", Column("born")),
        ("ages", "sum", Column("age")),
        ("lived", "max", Column("alive")),
    )
    each = PerPerson(relation=base, columns=columns, filter=parse_expression("age < 120"))
    sums = ("clip(n, 0, 50)", "clip(known, 0, 50)", "clip(ages, 0, 900)", "oldest")
    taken = [_measurement(Total(_axis(tables, each, text)), text) for text in sums]
    yield make("per person", each, [("lived", "lived")], [*taken, _measurement(RowCount(), "first")], bounds=(1, 1))
    yield make("written texts", Base("written"), sex, _list_written(tables["written"]))
    pairs = Join(left=base, right=Base("notes"), by="person")
    taken = [_measurement(RowCount()), _measurement(FirstMoments(_axis(tables, pairs, "score")), "score")]
    yield make("two tables", pairs, sex, taken)


_FILTERS = (
    "sex = 'F' AND (level = 'low' OR code = 2)",
    "NOT (sex IN ('F', 'back\\slash'))",
    "(sex = 'ñandú') IS NULL OR city <> 'Lima'",
)
_CONDITIONS = (
    "age < 18 OR weight >= 100 OR fine <= -0.5",
    "sex = 'F' AND NOT (level = 'low')",
    "NOT (sex IN ('F', 'back\\slash'))",
    "sex = 'd''Artagnan' OR sex <> 'M'",
    "(sex = 'ñandú') IS NULL",
    "alive AND flag",
    "NOT alive OR age IS NULL",
    "born < DATE '1970-01-01' AND isodow(born) > 3",
    "seen >= TIMESTAMP '1969-12-31 23:59:58' AND hour(seen) < 23",
    "date(seen) = DATE '2020-02-29'",
    "city <> 'Lima' OR city IS NULL",
    "code = 2 AND price > 0.5",
    "coalesce(age, 50) BETWEEN 36 AND 119",
    "weight / (age - 30) > 1",
    "-weight < fine",
    "dose % 1000 = -512",
    "bucket(age, 0, 18, 65, 120) = '[0, 18)'",
    "city LIKE '%l%_' OR city LIKE '__'",
    "city NOT LIKE '%!%' ESCAPE '!'",
    "city LIKE 'a!_b\\' ESCAPE '!'",
    "sex LIKE '%\\%' OR sex ILIKE '_AND%'",
    "upper(trim(city)) = 'LIMA'",
    "lower(city) IN ('são paulo', 'straße', 'i̇iıi', 'İiıi')",
    "trim(city, ' \u00a0') = 'lima'",
    "ltrim(rtrim(city)) <> city",
    "replace(city, 'São', 'S.') = 'S. Paulo'",
    "right(city, 1) = substring(city, 2)",
    "born + INTERVAL 1 MONTH > DATE '2000-03-28'",
    "seen - INTERVAL 25 HOUR < TIMESTAMP '2020-02-28 12:00:00'",
)
_EXPRESSIONS = (
    "age * 2 - 7",
    "weight * fine",
    "age / 7",
    "clip(weight / fine, -5, 5)",
    "abs(dose)",
    "floor(weight / 7)",
    "ceil(-fine * 10)",
    "least(age, weight, 50)",
    "greatest(fine, 0.25)",
    "clip(age, 18, 65)",
    "case when age < 18 then 0.5 when alive then age else null end",
    "coalesce(weight, age)",
    "CAST(alive AS INTEGER)",
    "year(born) * 100 + month(born)",
    "day(born)",
    "quarter(seen)",
    "born - DATE '2000-01-01'",
    "CAST(age AS DOUBLE) / 3 + price",
    "clip(length(city), 0, 50) + length(sex)",
    "date_trunc('quarter', born) - date_trunc('week', born)",
    "date(date_trunc('year', seen)) - date(seen + 40)",
    "born - INTERVAL 13 MONTH - born",
    "hour(date_trunc('hour', seen)) + (date(seen + INTERVAL 1 YEAR) - DATE '2000-01-01')",
)


def _moments() -> list[Measurement]:
    axes = {name: kind.axis for name, kind in SCHEMA.items() if kind.axis is not None}
    found = [_measurement(RowCount()), *(_measurement(RowCount(), name) for name in ("sex", "age", "city", "code"))]
    found += [
        _measurement(SecondMoments(axes["fine"]), "fine"),
        _measurement(CrossMoments(axes["age"], axes["weight"], degree=1), "age", "weight"),
    ]
    pair = axes["age"], axes["weight"]
    found += [_measurement(SharedMoments(pair, (True, True), rows), "age", "weight") for rows in (True, False)]
    found += [_measurement(Total(axis), name) for name, axis in axes.items()]
    return [*found, _measurement(FirstMoments(axes["seen"]), "seen")]


def _list_written(table: Table) -> list[Measurement]:
    axes = {name: kind.axis for name, kind in table.schema.items() if kind.axis is not None}
    return [
        _measurement(RowCount()),
        *(_measurement(RowCount(), name) for name in table.schema),
        *(_measurement(Total(axis), name) for name, axis in axes.items()),
    ]


def _choices() -> list[Measurement]:
    half = (Fraction(1, 2),)
    places = Axis(0, len(LEVELS) - 1, Fraction(1))
    return [
        _measurement(Mode(candidates=len(SEXES)), "sex"),
        _measurement(TopK(candidates=3, k=2), "code"),
        _measurement(Quantiles(axis=Axis(0, 120, Fraction(1)), quantiles=half), "age"),
        _measurement(Quantiles(axis=Real(-1, 1).axis, quantiles=half, bins=64), "fine"),
        _measurement(Quantiles(axis=places, quantiles=half), "level"),
        _measurement(Distinct(), "weight", distinct="values"),
        _measurement(Distinct(), "city", distinct="values"),
    ]


def _expressions(kinds: "Mapping[str, Kind]") -> list[Measurement]:
    found = []
    for text in (*_CONDITIONS, *_EXPRESSIONS):
        axis = kind_of(parse_expression(text), kinds).axis
        assert axis is not None, text  # noqa: S101 - all of them are numbers or conditions
        found.append(_measurement(FirstMoments(axis) if text in _CONDITIONS else Total(axis), text))
    return found


def _measurement(measure: Any, *columns: str, distinct: str | None = None) -> Measurement:
    return Measurement(measure=measure, columns=tuple(map(parse_expression, columns)), answers=(), distinct=distinct)


def _axis(tables: dict[str, Table], relation: Relation, text: str) -> Any:
    return kind_of(parse_expression(text), columns_of(relation, tables)).axis


def _case(  # noqa: PLR0913 - all that a question is made of
    tables: dict[str, Table],
    name: str,
    relation: Relation,
    keys: list[tuple[str, str]],
    requests: list[Measurement],
    *,
    where: str | None = None,
    cells: Cells | None = None,
    bounds: tuple[int, int] | None = None,
    private: bool = False,
    persons: bool = True,
) -> Case:
    made = tuple(Key(name=key, expression=parse_expression(text)) for key, text in keys)
    plan = Plan(
        relation=relation,
        filter=None if where is None else parse_expression(where),
        keys=made,
        aggregates=(Aggregate(kind="count", name="count"),),
    )
    kinds = columns_of(relation, tables)
    if cells is None and not private:
        cells = Cells.product([kind_of(key.expression, kinds).domain() or () for key in made])
    size = 10 if cells is None else len(cells)
    groups, rows = bounds or ((2, 3) if persons else (1, 1))
    bounding = ContributionBounds(groups=min(groups, size), rows=rows, cells=size, unit="person" if persons else "row")
    return Case(name=name, plan=plan, requests=tuple(requests), bounding=bounding, cells=cells)
