from __future__ import annotations

import copy
import datetime as dt
import pickle
import tomllib
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from celosia.core.errors import SchemaError
from celosia.data.schema.columns import DROP, Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.data.schema.schema import KINDS, Schema

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
names = st.one_of(
    st.text(min_size=1, max_size=200).filter(str.isprintable),
    st.text("ab-_. \"'\\#=[]\N{LATIN SMALL LETTER N WITH TILDE}", min_size=1, max_size=8),
    st.sampled_from(
        ["self", "columns", "class", "None", "ﬁ", "año", "a.b", "1st", "-", " ", '"', "kind", "null", "cls"]
    ),
)
numbers = st.one_of(
    st.fractions(-1000, 1000, max_denominator=10**6),
    st.integers(-(10**29), 10**29).map(Fraction),
    st.floats(-(2.0**20), 2.0**20, width=32).map(Fraction),
)
moments = st.datetimes(timezones=st.just(dt.UTC)).map(lambda moment: moment.replace(microsecond=0))
T = TypeVar("T", int, Fraction, dt.date, dt.datetime)


def three(values: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
    """A lower bound, what stands for null, and an upper bound."""
    return st.lists(values, min_size=3, max_size=3).map(sorted)


def real(ends: list[Fraction], steps: int | None) -> Real:
    low, null, high = ends
    grid = None if steps is None else (high - low) / steps
    if grid is not None and max(grid.numerator, grid.denominator) > 10**60:  # longer than a schema takes
        grid = None
    return Real(low, high, grid=grid, null=null)


def category(values: list[str] | list[int], *, ordered: bool) -> Category:
    return Category(values, ordered=ordered, null=values[-1])


kinds: st.SearchStrategy[Kind] = st.one_of(
    st.sampled_from([Text(), Boolean(), Real(0, 1), Category("F"), Category(7), Integer(0, 120)]),
    st.builds(lambda ends: Integer(ends[0], ends[2], null=ends[1]), three(st.integers(-(2**62), 2**62))),
    st.builds(
        real,
        three(numbers).filter(lambda ends: ends[2] - ends[0] > Fraction(1, 10**9)),
        st.one_of(st.none(), st.integers(1, 10_000)),
    ),
    st.builds(Boolean, null=st.booleans()),
    st.builds(
        category,
        st.one_of(
            st.lists(texts.filter(lambda text: text != DROP), min_size=1, max_size=6, unique=True),
            st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=6, unique=True),
        ),
        ordered=st.booleans(),
    ),
    st.builds(Text, null=texts),
    st.builds(lambda ends: Date(ends[0], ends[2], null=ends[1]), three(st.dates())),
    st.builds(lambda ends: Timestamp(ends[0], ends[2], null=ends[1]), three(moments)),
)
schemas = st.dictionaries(names, kinds, min_size=1, max_size=5).map(Schema)


# --------------------------------------------------------------------------------------------------------- round trips


@given(schemas)
@example(Schema(x=Category("\x7f", "\x1f", "\n", '"', "\\", "\N{LINE SEPARATOR}", "😀")))
@example(Schema(x=Real(0, 1e-05), y=Real(0, "1e-05")))  # a double, and the decimal that it is written as
@example(Schema({"x": Real(0, 10**29, grid=10**28)}))
@example(Schema({"x": Text(null="")}))
def test_a_schema_is_the_same_after_a_file(schema: Schema) -> None:
    again = Schema.from_toml(schema.to_toml())
    assert again == schema
    assert list(again.items()) == list(schema.items())
    assert again.to_toml() == schema.to_toml()


@given(schemas)
def test_the_file_is_utf_8_and_of_numbers_of_64_bits(schema: Schema) -> None:
    document = tomllib.loads(schema.to_toml().encode().decode())
    assert list(document) == ["columns"]
    for fields in document["columns"].values():
        for value in fields.values():
            for item in value if isinstance(value, list) else [value]:
                assert not isinstance(item, int) or -(2**63) <= item < 2**63
                assert not isinstance(item, float)  # they would not be exact


@given(schemas)
@example(Schema({"class": Text()}))
@example(Schema({"ﬁ": Text()}))  # which Python reads as fi
@example(Schema(self=Text(), columns=Text()))
def test_a_schema_is_a_value(schema: Schema) -> None:
    assert eval(repr(schema)) == schema
    assert hash(eval(repr(schema))) == hash(schema)
    assert pickle.loads(pickle.dumps(schema)) == copy.copy(schema) == copy.deepcopy(schema) == schema


@given(schemas, st.randoms(use_true_random=False))
def test_the_order_of_columns_does_not_matter_for_equality(schema: Schema, random: Any) -> None:
    items = list(schema.items())
    random.shuffle(items)
    other = Schema(dict(items))
    assert other == schema
    assert hash(other) == hash(schema)
    assert dict(schema) == schema


# ------------------------------------------------------------------------------------------------------------ a schema


def test_columns_are_looked_up_by_name() -> None:
    schema = Schema({"cause of death": Text()}, age=Integer(0, 120))
    assert list(schema) == ["cause of death", "age"]
    assert schema["age"] == Integer(0, 120)
    assert len(schema) == 2
    assert "sex" not in schema
    assert schema.get("sex") is None
    with pytest.raises(KeyError):
        schema["sex"]
    assert repr(schema) == "Schema({'cause of death': Text(), 'age': Integer(0, 120)})"
    assert type(next(iter(Schema({np.str_("age"): Text()})))) is str
    with pytest.raises((AttributeError, TypeError)):
        schema.age = Text()  # type: ignore[attr-defined] # the point of the test


def test_a_schema_does_not_change_with_what_it_was_made_of() -> None:
    columns: dict[str, Kind] = {"age": Integer(0, 120)}
    schema = Schema(columns)
    columns["sex"] = Text()
    assert list(schema) == ["age"]


def test_what_is_no_schema_is_refused() -> None:
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((), {}, "at least one column"),
        (({},), {}, "at least one column"),
        (([("age", Text())],), {}, "columns by name"),
        (("age",), {}, "columns by name"),
        (({"age": Text()},), {"age": Text()}, "'age' is declared twice"),
        ((), {"age": Integer}, "parentheses"),
        ((), {"age": "integer"}, "such as Integer"),
        ((), {"age": None}, "such as Integer"),
        (({"": Text()},), {}, "name of a column"),
        (({"a\nb": Text()},), {}, "name of a column"),
        (({"a\x7fb": Text()},), {}, "name of a column"),
        (({"\ud800": Text()},), {}, "name of a column"),
        (({"x" * 201: Text()},), {}, "name of a column"),
        (({3: Text()},), {}, "name of a column"),
        (({None: Text()},), {}, "name of a column"),
    ]
    for arguments, named, word in cases:
        with pytest.raises(SchemaError, match=word):
            Schema(*arguments, **named)


def test_kinds_of_other_makers_are_refused() -> None:
    class Mine(Integer):
        pass

    with pytest.raises(SchemaError, match="'age' needs a kind"):
        Schema(age=Mine(0, 1))


# ------------------------------------------------------------------------------------------------------- reading a file


def test_a_file_by_hand() -> None:
    text = """
    \N{BYTE ORDER MARK}# what is known of the register

    [columns]
    hale = {kind = "boolean", null = false}
    age.kind = "integer"
    age.low = 0
    age.high = 1_20
    [columns.weight]
    kind = "real"
    low = 0
    high = 3e2
    grid = 0.1
    null = "70.5"
    [columns."cause of death"]
    kind = "category"
    values = ["E10", 'X95']
    ordered = true
    [columns.day]
    kind = "date"
    low = 2021-01-01
    high = "2021-12-31"
    [columns.at]
    kind = "timestamp"
    low = 2021-01-01T00:00:00-06:00
    high = 2021-12-31
    """.strip().replace("\N{BYTE ORDER MARK}", "")
    expected = {
        "hale": Boolean(null=False),
        "age": Integer(0, 120),
        "weight": Real(0, 300, grid="0.1", null="70.5"),
        "cause of death": Category("E10", "X95", ordered=True),
        "day": Date("2021-01-01", "2021-12-31"),
        "at": Timestamp("2021-01-01 06:00:00", "2021-12-31"),
    }
    assert Schema.from_toml(text) == expected
    assert Schema.from_toml("\N{BYTE ORDER MARK}" + text) == expected
    assert Schema.from_toml(text.replace("\n", "\r\n")) == expected


def test_a_number_of_a_file_is_a_decimal_and_no_double() -> None:
    schema = Schema.from_toml('[columns.x]\nkind = "real"\nlow = 0.1\nhigh = 0.30000000000000000000001\n')
    assert schema["x"] == Real(Decimal("0.1"), Decimal("0.30000000000000000000001"))


@pytest.mark.parametrize("word", KINDS)
def test_what_a_draft_leaves_open_is_named(word: str) -> None:
    needed = {"category": ["values"], "boolean": [], "text": []}.get(word, ["low", "high"])
    text = f'[columns."my column"]\nkind = "{word}"\n'
    if not needed:
        assert Schema.from_toml(text) == {"my column": KINDS[word]()}
        return
    with pytest.raises(SchemaError, match=f"'my column' needs {' and '.join(needed)}: fill in"):
        Schema.from_toml(text)
    if word == "category":
        with pytest.raises(SchemaError, match="needs values: fill in"):
            Schema.from_toml(f"{text}values = []\n")
    else:
        with pytest.raises(SchemaError, match="needs high: fill in"):
            Schema.from_toml(f"{text}low = 0\n")


def test_a_file_that_is_wrong_is_refused_by_the_name_of_the_column() -> None:
    cases: list[tuple[str, str]] = [
        ("[table]\nperson = 'id'\n[columns.x]\nkind = 'text'", r"a section \[table\], .* would be lost here"),
        ("table = 3\n[columns.x]\nkind = 'text'", r"a section \[table\]"),
        ("[tables]\nperson = 'id'\n[columns.x]\nkind = 'text'", "a section 'tables'"),
        ("person = 'id'\n[columns.x]\nkind = 'text'", "a section 'person'"),
        ("", "no columns"),
        ("columns = 3", "no columns"),
        ("[columns]", "no columns"),
        ("[[columns]]\nkind = 'text'", "no columns"),
        ("[columns.x", "not TOML"),
        ("[columns.x]\nkind = text", "not TOML"),
        ("[columns.x]\nkind = 'text'\nkind = 'text'", "not TOML"),
        ("[columns.x]\nlow = " + "1" * 5000, "not TOML"),
        ("x = " + "[" * 5000, "not TOML"),
        ("x = 1e" + "9" * 30, "not TOML"),
        ("[columns]\nx = 3", "'x' needs a line kind"),
        ("[columns.x]\nlow = 0", "'x' needs a line kind"),
        ("[columns.x]\nkind = 'int'", "timestamp, not 'int'"),
        ("[columns.x]\nkind = 3", "'x' needs a line kind"),
        ("[columns.x]\nkind = ['text']", "'x' needs a line kind"),
        ("[columns.x]\nkind = 'text'\nlow = 0", "'low', which a column of kind text does not know"),
        ("[columns.x]\nkind = 'text'\n[columns.x.y]\nkind = 'text'", "'y', which a column of kind text"),
        ("[columns.x]\nkind = 'integer'\nlow = 0\nhigh = 9\ngrid = 1", "'grid', which"),
        (
            "[columns.x]\nkind = 'integer'\nlow = 0\nhigh = 9.5",
            "'x' is not valid: high must be an integer, not 9.5",
        ),
        ("[columns.x]\nkind = 'integer'\nlow = '0'\nhigh = 9", "'x' is not valid: low"),
        ("[columns.x]\nkind = 'integer'\nlow = 9\nhigh = 0", "'x' is not valid: low must be at most high"),
        ("[columns.x]\nkind = 'integer'\nlow = true\nhigh = 9", "'x' is not valid: low"),
        ("[columns.x]\nkind = 'integer'\nlow = 0\nhigh = 9\nnull = 10", "'x' is not valid: null"),
        ("[columns.x]\nkind = 'integer'\nlow = 0\nhigh = 9\nnull = nan", "'x' is not valid: null"),
        ("[columns.x]\nkind = 'real'\nlow = nan\nhigh = 9", "'x' is not valid: low"),
        ("[columns.x]\nkind = 'real'\nlow = 0\nhigh = inf", "'x' is not valid: high"),
        ("[columns.x]\nkind = 'real'\nlow = 0\nhigh = 1e400", "'x' is not valid: high"),
        ("[columns.x]\nkind = 'real'\nlow = 0\nhigh = 1\ngrid = 1e-20", "'x' is not valid: grid"),
        ("[columns.x]\nkind = 'real'\nlow = 2021-01-01\nhigh = 1", "'x' is not valid: low"),
        ("[columns.x]\nkind = 'category'\nvalues = 'F, M'", "needs values as a list"),
        ("[columns.x]\nkind = 'category'\nvalues = ['F', 1]", "'x' is not valid"),
        ("[columns.x]\nkind = 'category'\nvalues = [1.5]", "'x' is not valid"),
        ("[columns.x]\nkind = 'category'\nvalues = ['drop']", "'x' is not valid"),
        ("[columns.x]\nkind = 'category'\nvalues = ['F']\nordered = 1", "'x' is not valid: ordered"),
        ("[columns.x]\nkind = 'date'\nlow = 2021-01-01T00:00:00\nhigh = 2021-01-02", "'x' is not valid: low"),
        ("[columns.x]\nkind = 'date'\nlow = 12:00:00\nhigh = 2021-01-02", "'x' is not valid: low"),
        ('[columns."a\\nb"]\nkind = "text"', "name of a column"),
        ('[columns.""]\nkind = "text"', "name of a column"),
    ]
    for text, word in cases:
        with pytest.raises(SchemaError, match=word):
            Schema.from_toml(text)


def test_a_file_is_read_as_a_text() -> None:
    cases: list[object] = [b"[columns.x]", None, 3, ["x"]]
    for text in cases:
        with pytest.raises(SchemaError, match="text of a file"):
            Schema.from_toml(text)  # type: ignore[arg-type] # wrong on purpose
