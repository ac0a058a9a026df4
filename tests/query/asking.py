"""Random small tables with every column content, random schemas over them, and random queries.

Columns go by one letter: ``i`` Integer, ``r`` Real, ``b`` Boolean, ``c`` Category, ``o`` ordered, ``n`` of numbers,
``t`` Text, ``d`` Date, ``s`` Timestamp, ``p`` person. Raw types vary: what a kind declares may come as integers,
doubles, decimals, dates or times, with nulls, NaN, infinities, subnormals, and the ends of 64 bits.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

import celosia as cl
from celosia.core import CelosiaError
from celosia.query.plan.expressions import Column, Expression, columns_in, kind_of
from celosia.query.plan.nodes import Aggregate, Base, Join, Key, PerPerson, Plan, Projection, Relation
from celosia.query.plan.relations import columns_of
from celosia.query.planning.analysis import analyze_plan
from celosia.query.sql.expressions import parse_expression
from tests.query.worlds import Neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table

    Row = dict[str, Any]

_WHOLE = [-(2**63), -(2**62) - 1, -11, -5, -1, 0, 1, 2, 3, 5, 7, 10, 11, 127, 2**31, 2**53 + 1, 2**62 + 1, 2**63 - 1]
_DOUBLES = [
    math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2e-308, 1.7976931348623157e308, -1.7976931348623157e308,
    0.0, -0.0, 0.05, 0.1, 0.15, 0.25, 0.5, -0.5, 0.95, 1.0, 1.5, 2.5, 3.4999999999999996, 7.0, 10.5, 9007199254740993.0,
    9.223372036854775807e18, 1e30, -1e30, 1e-30,
]  # fmt: skip
_DATES = [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 2, 29), dt.date(2020, 7, 1)]
_DATES += [dt.date(2020, 12, 31), dt.date(2021, 1, 1), dt.date(9999, 12, 31)]
_TIMES = [dt.datetime.combine(day, dt.time(hour, 59, 59, 500_000)) for day in _DATES for hour in (0, 23)]
_NEAR_TIMES = [time for time in _TIMES if 1900 < time.year < 2200]

_RAW_NUMBERS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), _WHOLE),
    (pa.int8(), [value for value in _WHOLE if abs(value) < 128]),
    (pa.int32(), [-(2**31), *(value for value in _WHOLE if abs(value) < 2**31), 2**31 - 1]),
    (pa.uint64(), [*(value for value in _WHOLE if value >= 0), 2**64 - 1]),
    (pa.float64(), _DOUBLES),
    (pa.float32(), [value for value in _DOUBLES if not math.isfinite(value) or abs(value) < 1e38]),
    (pa.decimal128(38, 0), [Decimal(value) for value in (*_WHOLE, 10**37, -(10**37))]),
    (pa.decimal128(12, 2), [Decimal("0.05"), Decimal("-0.5"), Decimal("2.50"), Decimal("9999999999.99"), Decimal(3)]),
    (pa.bool_(), [False, True]),
]
_RAW: dict[str, list[tuple[pa.DataType, list[Any]]]] = {
    "i": _RAW_NUMBERS,
    "r": _RAW_NUMBERS,
    "b": [(pa.bool_(), [False, True]), (pa.int64(), _WHOLE), (pa.float64(), _DOUBLES)],
    "c": [(pa.string(), ["a", "b", "c", "a", "b", "c", "A", "", "unknown", "ä"])],
    "o": [(pa.string(), ["lo", "mid", "hi", "lo", "mid", "hi", "none"])],
    "n": [
        (pa.int64(), [1, 2, 3, *_WHOLE]),
        (pa.int32(), [1, 2, 3, 2**31 - 1]),
        (pa.float64(), [1.0, 2.0, 3.0, *_DOUBLES]),
    ],
    "t": [(pa.string(), ["a", "b", "c", "", " a", "A", "ñ", "x" * 40, "Ña ", "%_\\", "ßİı", "🦩b", "a\u0301"])],
    "d": [(pa.date32(), _DATES), (pa.timestamp("us"), _TIMES), (pa.timestamp("ns"), _NEAR_TIMES)],
    "s": [(pa.timestamp("us"), _TIMES), (pa.timestamp("us", tz="UTC"), _TIMES), (pa.date32(), _DATES)],
    "y": [(pa.int64(), _WHOLE), (pa.int16(), [-(2**15), -1, 0, 1, 2, 3, 2**15 - 1])],
    "h": [(pa.string(), ["m", "f", "x"])],
}
_PERSONS: list[tuple[pa.DataType, list[Any], list[Any]]] = [  # and what is nobody
    (pa.int64(), [1, 2, 3, -(2**63), 2**63 - 1], [None]),
    (pa.string(), ["anna", "ben", "", "ANNA", "x" * 50], [None]),
    (pa.float64(), [1.0, 2.0, -3.0, 2.0**53], [None, math.nan, 1.5, math.inf]),
    (pa.uint64(), [1, 2, 2**63, 2**64 - 1], [None]),
    (pa.int32(), [1, 2, -(2**31), 2**31 - 1], [None]),
]

_KINDS: dict[str, list[Kind]] = {
    "i": [
        cl.Integer(0, 10),
        cl.Integer(0, 10, null=3),
        cl.Integer(-5, 5),
        cl.Integer(-5, 5, null=-5),
        cl.Integer(7, 7),
        cl.Integer(0, 2**40),
        cl.Integer(-(2**62), 2**62, null=0),
    ],
    "r": [
        cl.Real(0, 1),
        cl.Real(0, 1, grid="0.1", null="0.5"),
        cl.Real(-1, 1, null=0),
        cl.Real(-3, 3, grid="0.25"),
        cl.Real(0, 10**30),
        cl.Real("-1e-20", "1e-20"),
    ],
    "b": [cl.Boolean(), cl.Boolean(null=True)],
    "c": [cl.Category("a", "b", "c"), cl.Category("a", "b", "c", null="b"), cl.Category("a", "b")],
    "o": [cl.Category("lo", "mid", "hi", ordered=True), cl.Category("lo", "hi", ordered=True, null="lo")],
    "n": [cl.Category(1, 2, 3), cl.Category(1, 2, null=2)],
    "t": [cl.Text(), cl.Text(null="none")],
    "d": [cl.Date("2020-01-01", "2020-12-31"), cl.Date("2020-02-01", "2020-03-01", null="2020-02-29")],
    "s": [cl.Timestamp("2020-01-01", "2021-01-01"), cl.Timestamp("2020-07-01", "2020-07-02", null="2020-07-01")],
    "y": [cl.Integer(-3, 3), cl.Integer(0, 4, null=1)],
    "h": [cl.Category("m", "f"), cl.Category("m", "f", null="m")],
}

NUMBERS = [
    "i", "r", "i", "r", "b", "d", "s", "w", "y", "x", "i + r", "2 * i - 1", "i * i", "i * r", "r / 3",
    "i / (ABS(r) + 1)", "CLIP(r / i, -3, 3)", "CLIP(1 / r, 0, 2)", "ABS(i)", "LEAST(i, 4)", "GREATEST(i, r)", "i % 3",
    "FLOOR(r)", "CEIL(r * 2)", "COALESCE(i, 1)", "COALESCE(NULLIF(i, 0), 2)", "CAST(b AS INTEGER)", "-r",
    "CASE WHEN b THEN i ELSE r END", "CASE WHEN i < 3 THEN 1 WHEN c = 'a' THEN -1 ELSE NULL END",
    "d - DATE '2020-01-01'", "YEAR(d)", "MONTH(s)", "HOUR(s)", "i + w", "i * y", "x - i",
    "LEAST(visits, 3)", "CLIP(total, -5, 5)", "low", "top", "CLIP(total / visits, -3, 3)",
    "CLIP(LENGTH(t), 0, 9)", "LENGTH(o)", "d + INTERVAL 1 MONTH", "s - INTERVAL 25 HOUR", "DATE_TRUNC('month', d)",
    "DATE_TRUNC('quarter', s)", "d - INTERVAL 13 MONTH - DATE '2019-01-31'", "s + 31",
]  # fmt: skip
CONDITIONS = [
    "i < 3", "i BETWEEN 1 AND 5", "r >= 0.5", "b", "NOT b", "c = 'a'", "c <> 'a'", "c IN ('a', 'b')", "NOT c = 'b'",
    "i IS NULL", "r IS NOT NULL", "i < 3 OR r > 0.2", "i < 3 AND NOT b", "i + r > 1", "d >= DATE '2020-06-01'",
    "s < TIMESTAMP '2020-06-01 00:00:00'", "n = 1", "o = 'lo'", "t = 'a'", "t <> 'a'", "w > 2", "g = 'u'", "h = 'm'",
    "CASE WHEN b THEN i > 1 ELSE r > 0 END", "y >= 0", "visits > 1", "top > 2", "CLIP(total, 0, 9) < 3", "x > 0",
    "t LIKE 'a%'", "t NOT LIKE '%!%!_%' ESCAPE '!'", "t LIKE '_'", "t ILIKE 'Ñ%_'", "UPPER(TRIM(t)) = 'A'",
    "REPLACE(t, 'a', 'b') = 'b'", "RIGHT(t, 1) = SUBSTRING(t, 1, 1)", "LTRIM(t) <> RTRIM(t, 'x')", "c LIKE '%a%'",
    "DATE_TRUNC('week', d) < DATE '2020-06-01'", "s + INTERVAL 1 YEAR > TIMESTAMP '2021-03-01 00:00:00'",
]  # fmt: skip
PUBLIC_KEYS = [
    "c", "b", "n", "o", "g", "h", "i", "BUCKET(i, 0, 3, 6)", "BUCKET(r, 0, 0.5, 1)", "MONTH(d)", "ISODOW(s)", "y",
    "CASE WHEN i < 3 THEN 'few' WHEN b THEN 'some' ELSE 'many' END", "i % 3", "b AND i > 2",
    "CASE WHEN visits > 1 THEN 'many' ELSE 'one' END", "BUCKET(LEAST(visits, 5), 0, 2, 5)", "top",
    "UPPER(c)", "LEFT(o, 1)", "LENGTH(o)", "DATE_TRUNC('month', d)", "DATE_TRUNC('quarter', s)",
]  # fmt: skip
PRIVATE_KEYS = ["t", "COALESCE(t, c)", "UPPER(TRIM(t))", "SUBSTRING(LOWER(t), 1, 1)"]
_OF_PUBLIC: dict[str, list[str]] = {  # what can be asked of the columns of public tables alone
    "numbers": ["z", "v", "f", "z * 1000000 + i", "w * 1000000000", "z / 3", "CLIP(v * i, -9, 9)", "COALESCE(z, w, 7)"],
    "conditions": ["z IS NULL", "z > 0", "v < 0.3", "f >= DATE '2020-03-01'", "m", "w = 1 OR g IS NULL"],
    "public keys": ["w", "z", "m", "MONTH(f)", "z % 3", "w + 1"],
    "private keys": ["l", "COALESCE(l, t)"],
}
_NEIGHBOURS = 5  # of each world: to make a query takes far longer than to run it once more
_PUBLIC_JOINS = {"k": ("c", "code"), "q": ("i", "num"), "e": ("d", "day")}


@dataclass(frozen=True)
class Drawn:
    """Columns of one table: their kinds, raw types, and what stands in them."""

    kinds: dict[str, Kind]
    types: dict[str, pa.DataType]
    values: dict[str, st.SearchStrategy[Any]]

    @property
    def row(self) -> st.SearchStrategy[Row]:
        return st.fixed_dictionaries(self.values)


@st.composite
def drawn_columns(draw: st.DrawFn, letters: Sequence[str]) -> Drawn:
    kinds, types, values = {}, {}, {}
    for letter in letters:
        kinds[letter] = draw(st.sampled_from(_KINDS[letter]))
        types[letter], pool = draw(st.sampled_from(_RAW[letter]))
        likely = [value for value in pool if _likely(value)]
        values[letter] = st.sampled_from([*pool, *likely, *likely, None])
    return Drawn(kinds, types, values)


def _likely(value: Any) -> bool:
    if isinstance(value, dt.date):
        return 2019 < value.year < 2022
    return isinstance(value, str) or abs(value) < 12


def frame(rows: Sequence[Row], types: Mapping[str, pa.DataType]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], type=type_) for name, type_ in types.items()})


@functools.cache
def public_table() -> Table:
    """A public table whose key is the category ``c``."""
    code_book = pa.table({"code": ["a", "b", "zz"], "w": [1, 9, 3], "g": ["u", "v", None]})
    schema = cl.Schema(code=cl.Category("a", "b", "zz"), w=cl.Integer(0, 5), g=cl.Category("u", "v"))
    return cl.table(code_book, schema=schema, name="k", public=True, key="code")


@functools.cache
def public_tables() -> dict[str, Table]:
    """Public tables whose keys are a category, an integer and a date; keys and columns may be null."""
    numbers = pa.table(
        {
            "num": pa.array([0, 1, 3, 10, None, -5, 7], pa.int32()),
            "z": pa.array([3, 9, None, 2**31 - 1, 4, -(2**31), 0], pa.int32()),
            "v": pa.array([0.1, 0.3, None, 1e300, 0.5, -0.05, 0.7]),
            "l": ["a", "b", None, "ñ", "a", "", "c"],
        }
    )
    columns = cl.Schema(
        num=cl.Integer(-5, 10), z=cl.Integer(-3, 9), v=cl.Real(0, 1, grid="0.1", null="0.5"), l=cl.Text()
    )
    days = pa.table(
        {
            "day": pa.array([dt.date(2020, 1, 1), dt.date(2020, 2, 29), dt.date(2020, 7, 1), None]),
            "f": pa.array([dt.date(2020, 2, 1), None, dt.date(2038, 1, 20), dt.date(2020, 1, 1)]),
            "m": pa.array([True, None, False, True]),
        }
    )
    calendar = cl.Schema(
        day=cl.Date("2020-01-01", "2020-12-31"),
        f=cl.Date("2020-01-01", "2020-12-31"),
        m=cl.Boolean(null=False),
    )
    found = {"k": public_table()}
    for name, rows, schema, key in (("q", numbers, columns, "num"), ("e", days, calendar, "day")):
        found[name] = cl.table(rows, schema=schema, name=name, public=True, key=key)
    return found


# ------------------------------------------------------------------------------------------------------------ plans


@functools.cache
def _parsed(text: str) -> tuple[Expression, tuple[str, ...]]:
    expression = parse_expression(text)
    return expression, tuple(sorted(columns_in(expression)))


@functools.cache
def _kind(text: str, known: tuple[tuple[str, Kind], ...]) -> Kind | None:
    try:
        return kind_of(_parsed(text)[0], dict(known))
    except CelosiaError:
        return None


def _fitting(texts: Sequence[str], kinds: Mapping[str, Kind], fits: Callable[[Kind], bool] = bool) -> list[Expression]:
    """Return the expressions over these columns whose kind fits."""
    found = []
    for text in texts:
        expression, names = _parsed(text)
        if all(name in kinds for name in names):
            kind = _kind(text, tuple((name, kinds[name]) for name in names))
            if kind is not None and fits(kind):
                found.append(expression)
    return found


def _asked(texts: Sequence[str], group: str) -> list[str]:
    return [*texts, *_OF_PUBLIC[group]]


def _is_condition(kind: Kind) -> bool:
    return isinstance(kind, cl.Boolean)


def _can_be_summed(kind: Kind) -> bool:
    return kind.axis is not None and max(abs(kind.axis.low), abs(kind.axis.high)) < 2**60


def _has_order(kind: Kind) -> bool:
    return _can_be_summed(kind) or (isinstance(kind, cl.Category) and kind.ordered)


@functools.cache
def _is_short(kind: Kind) -> bool:
    return kind.domain() is not None and len(kind.domain() or ()) < 400


@st.composite
def relations(draw: st.DrawFn, tables: Mapping[str, Table], *, public: bool = False) -> Relation:
    """The table, with derived columns, joined with the public one or with another of persons, or one row a person."""
    base: Relation = Base("t")
    persons = tables["t"].person is not None
    shapes = ["base", "derived", "public", "public"]
    shapes += ["persons", "beside each", "each beside", "per person", "per person"] if persons else []
    shape = draw(st.sampled_from(["public"] if public else shapes))
    how = draw(st.sampled_from(["inner", "left"]))
    visits = PerPerson(relation=Base("u"), columns=(("visits", "count", None), ("top", "max", Column("y"))))
    known = [name for name, (own, _) in _PUBLIC_JOINS.items() if own in columns_of(base, tables)]
    joins: dict[str, Relation] = {
        "base": base,
        "public": _with_public(base, draw(st.lists(st.sampled_from(known), min_size=1, unique=True)), how),
        "persons": Join(left=base, right=Base("u"), by="person", how=how),
        "beside each": Join(left=base, right=visits, by="person", how=how),
        "each beside": Join(left=visits, right=base, by="person", how=how),
    }
    if shape in joins:
        return joins[shape]
    kinds = columns_of(base, tables)
    condition = draw(st.none() | st.sampled_from(_fitting(CONDITIONS, kinds, _is_condition)))
    if shape == "derived":
        new = draw(st.sampled_from(_fitting(NUMBERS, kinds)))
        return Projection(
            relation=base, columns=(*((name, Column(name)) for name in kinds), ("x", new)), filter=condition
        )
    number = draw(st.sampled_from([Column("i"), Column("r")]))
    made = (
        ("visits", "count", None),
        ("total", "sum", number),
        ("low", "min", Column("r")),
        ("top", "max", Column("i")),
    )
    if draw(st.booleans()):  # what stands in a public table, of each person
        base = _with_public(base, ["k"], how)
        made = (*made[:3], ("top", "max", Column("w")))
    each: Relation = PerPerson(relation=base, columns=made, filter=condition)
    if draw(st.booleans()):
        inner = columns_of(each, tables)
        each = Projection(relation=each, columns=tuple((name, Column(name)) for name in inner))
    return each


def _with_public(base: Relation, names: Sequence[str], how: str) -> Relation:
    """The table joined with public ones, one after another."""
    for name in names:
        base = Join(left=base, right=Base(name), on=(_PUBLIC_JOINS[name],), how=how)
    return base


_ADDED = ["count", "count", "sum", "mean", "half-half", "variance", "std", "covariance", "correlation", "count column"]
_LISTED = ["count_persons", "count_distinct", "median", "quantile", "min", "max", "mode", "top_k"]


@st.composite
def aggregates(draw: st.DrawFn, kinds: Mapping[str, Kind]) -> tuple[Aggregate, ...]:
    numbers = st.sampled_from(_fitting([*_asked(NUMBERS, "numbers"), "1"], kinds, _can_be_summed))
    anything = st.sampled_from(_fitting([*kinds, "UPPER(t)", "LEFT(t, 1)", "LOWER(c)", "DATE_TRUNC('week', d)"], kinds))
    ordered = st.sampled_from(_fitting([*_asked(NUMBERS, "numbers"), "o", "1"], kinds, _has_order))
    small = _fitting([*kinds, *_asked(PUBLIC_KEYS, "public keys"), "1 > 0"], kinds, _is_short)
    wanted = draw(st.lists(st.sampled_from(_ADDED), max_size=3))
    wanted += draw(st.lists(st.sampled_from(_LISTED), min_size=0 if wanted else 1, max_size=2))
    made = []
    for place, kind in enumerate(wanted):
        columns: tuple[Expression, ...] = ()
        parameters: tuple[Any, ...] = ()
        match kind:
            case "count" | "count_persons":
                pass
            case "count column" | "count_distinct":
                columns = (draw(anything),)
            case "covariance" | "correlation":
                columns = (draw(numbers), draw(numbers))
            case "median" | "quantile" | "min" | "max":
                columns = (draw(ordered),)
                parameters = (draw(st.sampled_from([Fraction(1, 10), Fraction(9, 10)])),) if kind == "quantile" else ()
            case "mode" | "top_k":
                columns = (draw(st.sampled_from(small)),)
                most = len(kind_of(columns[0], kinds).domain() or ())
                parameters = (draw(st.integers(1, min(2, most))),) if kind == "top_k" else ()
            case _:
                columns = (draw(numbers),)
                parameters = ("half-half",) if kind == "half-half" else ()
        real = {"half-half": "mean", "count column": "count"}.get(kind, kind)
        made.append(Aggregate(kind=real, columns=columns, name=f"a{place}", parameters=parameters))
    return tuple(made)


@st.composite
def plans(draw: st.DrawFn, tables: Mapping[str, Table], *, private_keys: bool = False, public: bool = False) -> Plan:
    relation = draw(relations(tables, public=public))
    kinds = columns_of(relation, tables)
    conditions: list[Any] = _fitting(_asked(CONDITIONS, "conditions"), kinds, _is_condition) or [None]
    condition = draw(st.none() | st.sampled_from(conditions))
    keys = _keys(draw, kinds, private=private_keys)
    cells = None
    if len(keys) == 2 and not private_keys and draw(st.booleans()):  # some of the combinations
        first, second = (kind_of(key.expression, kinds).domain() or () for key in keys)
        cells = tuple(zip(first, reversed(second), strict=False))
    wanted = draw(aggregates(kinds))
    if public:  # values of a public table, in a keyed order
        column = draw(st.sampled_from(_fitting(["w", "z", "v", "f", "l"], kinds)))
        wanted = (Aggregate(kind="count_distinct", columns=(column,), name="distinct"), *wanted[:1])
    return Plan(relation=relation, filter=condition, keys=keys, cells=cells, aggregates=wanted)


def _keys(draw: st.DrawFn, kinds: Mapping[str, Kind], *, private: bool) -> tuple[Key, ...]:
    public = _fitting(_asked(PUBLIC_KEYS, "public keys"), kinds, _is_short)
    chosen = draw(st.lists(st.sampled_from(public), max_size=1 if private else 2, unique=True)) if public else []
    if private:
        texts = _fitting(_asked(PRIVATE_KEYS, "private keys"), kinds)
        chosen = [*([draw(st.sampled_from(texts))] if texts else []), *chosen]
    keys = [Key(name=f"k{place}", expression=expression) for place, expression in enumerate(chosen)]
    if len(keys) == 1 and not private and draw(st.booleans()):  # some of the keys, in another order
        values = kind_of(keys[0].expression, kinds).domain() or ()
        keys = [Key(name="k0", expression=chosen[0], values=tuple(reversed(values[:3])))]
    return tuple(keys)


# ----------------------------------------------------------------------------------------------------------- worlds


@st.composite
def row_worlds(draw: st.DrawFn, *, private_keys: bool = False) -> Neighbours:
    """Tables of rows, one of which is there or not, or is another one."""
    columns = draw(drawn_columns(_letters(draw, private_keys=private_keys)))
    adjacency = draw(st.sampled_from([cl.AddRemove, cl.ReplaceOne]))
    rows = draw(st.lists(columns.row, max_size=6))
    more = draw(st.lists(columns.row, min_size=_NEIGHBOURS, max_size=_NEIGHBOURS))
    place = draw(st.integers(0, len(rows)))
    before, after = rows[:place], rows[place:]

    def tables(some: Sequence[Row]) -> dict[str, Table]:
        source = frame(some, columns.types)
        private = cl.table(source, schema=cl.Schema(columns.kinds), name="t", adjacency=adjacency)
        return {"t": private, **public_tables()}

    if adjacency is cl.AddRemove:
        first = tables([*before, *after])
        others = [tables([*before, row, *after]) for row in more]
    else:
        first, *others = (tables([*before, row, *after]) for row in more)
    plan = draw(plans(first, private_keys=private_keys))
    return Neighbours(plan=plan, first=first, others=others)


@st.composite
def person_worlds(draw: st.DrawFn, *, private_keys: bool = False, public: bool = False) -> Neighbours:
    """Tables of persons, one of whom is absent, replaced, or has other rows in the other worlds.

    ``public``: joined with public tables, and asked for the different values there.
    """
    columns = draw(drawn_columns(_letters(draw, private_keys=private_keys)))
    second = draw(drawn_columns("yh"))
    adjacency = draw(st.sampled_from([cl.AddRemove, cl.ReplaceOne]))
    limits: dict[str, Any] = {
        "max_groups_per_person": draw(st.integers(1, 5)),
        "max_rows_per_group": draw(st.integers(1, 4)),
    }
    type_, people, nobody = draw(st.sampled_from(_PERSONS))
    people = draw(st.permutations(people))
    everybody = {who: draw(_belongings(columns, second)) for who in people[:3]}
    stray = draw(_belongings(columns, second))
    nobodies = st.sampled_from(nobody)

    def tables(those: Mapping[Any, tuple[list[Row], list[Row]]], *, turned: bool = False) -> dict[str, Table]:
        made = {}
        for place, (name, own) in enumerate((("t", columns), ("u", second))):
            rows = [{"p": who, **row} for who, belongings in those.items() for row in belongings[place]]
            rows += [{"p": without, **row} for row in stray[place]]
            source = frame(rows[::-1] if turned else rows, {"p": type_, **own.types})
            schema = cl.Schema(own.kinds)
            made[name] = cl.table(source, schema=schema, name=name, person="p", adjacency=adjacency, **limits)
        return {**made, **public_tables()}

    without = draw(nobodies)
    one, *rest = people[:3]
    fewer = {who: everybody[who] for who in rest[: draw(st.integers(0, 2))]}
    first = tables({one: everybody[one], **fewer})
    various = [draw(_belongings(columns, second, least=2)) for _ in range(_NEIGHBOURS)]
    if adjacency is cl.AddRemove:
        others = [tables(fewer, turned=draw(st.booleans()))]
        others += [tables({one: everybody[one], **fewer, people[3]: rows}, turned=True) for rows in various]
    else:
        others = [tables({one: rows, **fewer}, turned=draw(st.booleans())) for rows in various[1:]]
        others += [tables({**fewer, people[3]: various[0]})]
    plan = draw(plans(first, private_keys=private_keys, public=public))
    return Neighbours(plan=plan, first=first, others=others)


def _belongings(columns: Drawn, second: Drawn, *, least: int = 0) -> st.SearchStrategy[tuple[list[Row], list[Row]]]:
    return st.tuples(st.lists(columns.row, min_size=least, max_size=7), st.lists(second.row, max_size=3))


def _letters(draw: st.DrawFn, *, private_keys: bool) -> str:
    always = "irbct" if private_keys else "irbc"
    rest = "onds" if private_keys else "ontds"
    return always + "".join(sorted(draw(st.sets(st.sampled_from(rest), max_size=2))))


def is_refused(given: Neighbours) -> bool:
    """Return whether the plan raises before rows are read, so alike in all worlds."""
    try:
        analyze_plan(given.plan, given.first)
    except CelosiaError:
        return True
    return False
