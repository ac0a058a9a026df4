"""Names stand for one column or are refused; the person is no column."""

from __future__ import annotations

import pytest

from celosia.core.errors import QueryError
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Base
from celosia.query.sql.from_clause import Scope, ScopeReader, VisibleColumn, is_same_name
from celosia.query.sql.syntax import condition_tree

SCOPE = Scope(
    relation=Base("deaths"),
    visible=(
        VisibleColumn("d", "age", "age"),
        VisibleColumn("d", "Age2", "Age2"),
        VisibleColumn("d", "name", "deaths.name"),
        VisibleColumn("i", "name", "icd.name"),
        VisibleColumn("d", "code", "deaths.code"),
        VisibleColumn("i", "code", "icd.code"),
        VisibleColumn("d", "person_id", None),
        VisibleColumn("v", "person_id", None),
    ),
    merged=frozenset({"code"}),
)


def test_names() -> None:
    cases: list[tuple[str | None, str, bool, str | None]] = [
        (None, "age", False, "age"),
        (None, "AGE", False, "age"),
        ("D", "age", False, "age"),
        (None, "age2", False, "Age2"),
        (None, "Age2", True, "Age2"),
        ("i", "name", False, "icd.name"),
        ("d", "name", False, "deaths.name"),
        (None, "code", False, "deaths.code"),  # USING has made one of both
        ("i", "code", False, "icd.code"),
        (None, "person_id", False, None),
        (None, "PERSON", False, None),
        ("v", "person", False, None),
    ]
    for table, name, quoted, column in cases:
        assert SCOPE.find(table, name, quoted=quoted).column == column


def test_refusals() -> None:
    cases: list[tuple[str | None, str, bool, str]] = [
        (None, "name", False, r"stands for two columns: write d.name or i.name\."),
        (None, "agee", False, r"Did you mean age\?"),
        (None, "AGE", True, "A text is written in single quotes"),
        ("x", "age", False, "'x' is not a table of this SELECT. There are d, i, v."),
        ("i", "age", False, "There is no column 'age'"),
        ("i", "person", False, "There is no column 'person'"),
    ]
    for table, name, quoted, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            SCOPE.find(table, name, quoted=quoted)


def test_names_that_differ_in_case_are_distinguished() -> None:
    both = Scope(relation=Base("t"), visible=(VisibleColumn("t", "Age", "Age"), VisibleColumn("t", "age", "age")))
    assert both.find(None, "Age", quoted=False).column == "Age"
    with pytest.raises(QueryError, match="two columns"):
        both.find(None, "AGE", quoted=False)


def test_the_person_cannot_be_computed_with() -> None:
    reader = ScopeReader(SCOPE)
    assert reader.read(condition_tree("d.AGE")) == Column("age")
    for text in ("person_id", "person_id = 3", "PERSON", "v.person_id"):
        with pytest.raises(QueryError, match="is the person column"):
            reader.read(condition_tree(text))
    # A column that happens to be called so is a column.
    named = Scope(relation=Base("t"), visible=(VisibleColumn("t", "person", "person"), VisibleColumn("t", "id", None)))
    assert named.find(None, "PERSON", quoted=False).column == "person"


def test_case_matters_between_quotes() -> None:
    assert is_same_name("É", "é", quoted=False)
    assert not is_same_name("a", "ａ", quoted=False)
