"""The parser is called in one place, which bounds its time and rewords its errors."""

from __future__ import annotations

import contextlib
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.query.sql.syntax import (
    MAX_PARTS,
    MAX_TEXT_LENGTH,
    check_parts,
    condition_tree,
    flatten_chain,
    parts_given,
    query_tree,
    sql_name,
    strip_parentheses,
    walk,
)


def test_refusals() -> None:
    tree_cases: list[object] = [condition_tree, query_tree]
    text_cases: list[tuple[object, str]] = [
        ("", "empty"),
        (" \n\t", "empty"),
        (None, "must be a str, not NoneType"),
        (b"SELECT 1", "must be a str, not bytes"),
        ("x" * (MAX_TEXT_LENGTH + 1), "at most 20,000 characters"),
        ("a\0b", "no place in one"),
        ("a\u202eb", "no place in one"),
        ("a\u200bb", "no place in one"),
        ("\ud800", "no place in one"),
        ("'open", "cannot be parsed"),
        ("-- nothing", "0 statements"),
        ("/* open", "0 statements|cannot be parsed"),
        (")", "cannot be parsed"),
        ("(" * 100, "nested too deeply"),
        ("NOT " * 4000 + "a", "nested too deeply|cannot be parsed"),
    ]
    for tree in tree_cases:
        for text, sentence in text_cases:
            with pytest.raises(QueryError, match=sentence):
                tree(text)  # type: ignore[operator]


def test_several_statements_are_refused() -> None:
    with pytest.raises(QueryError, match="2 statements"):
        query_tree("SELECT 1; SELECT 2")
    assert query_tree("SELECT 1;;").key == "select"
    with pytest.raises(QueryError, match="at line"):
        condition_tree("a, b")


def test_large_trees_are_refused() -> None:
    with pytest.raises(QueryError, match="too long"):
        condition_tree("+".join(["1"] * (MAX_PARTS // 2 + 1)))


def test_errors_carry_nothing_of_the_parser() -> None:
    for text in ("a <", "SELECT FROM WHERE", "'open", "1 2 3", "NOT " * 4000):
        with pytest.raises(QueryError) as caught:
            condition_tree(text)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        assert "sqlglot" not in str(caught.value)
        assert "\x1b" not in str(caught.value)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_gives_a_tree_or_our_error(text: str) -> None:
    for tree in (condition_tree, query_tree):
        try:
            tree(text)
        except QueryError as error:
            assert str(error).endswith(".")  # noqa: PT017


PIECES = ["(", ")", ",", "SELECT", "FROM", "t", "WHERE", "GROUP BY", "CASE", "WHEN", "END", "NOT", "-", "IN", "1"]
PIECES += ["IS", "NULL", "AND", "CAST(", "AS", "DATE", "*", ".", "JOIN", "ON", "IF", "f(", "INTERVAL", "BETWEEN", ";"]
PIECES += ["WITH", "'x'"]
NESTED = ["DATE (", "BIGINT (", "CAST(", "IF(", "CASE WHEN ", "(SELECT ", "((", "a IN (", "TIMESTAMP ("]
WORDS = {"f(x)": "F", "SQRT(x)": "SQRT", "(SELECT 1)": "a subquery", "(1, 2)": "a list in parentheses"}


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_any_words_give_a_tree_or_our_error(text: str) -> None:
    for tree in (condition_tree, query_tree):
        try:
            tree(text)
        except QueryError as error:
            assert str(error).endswith(".")  # noqa: PT017


def test_nested_pieces_do_not_take_exponential_time() -> None:
    for piece in NESTED:
        # DATE (DATE (DATE (... doubles the parser's work with every level: 40 levels would take weeks.
        for text in (piece * 40, piece * 40 + "1" + ")" * 40):
            with contextlib.suppress(QueryError):
                condition_tree(text)


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in ("IF IF 1", "DROP TABLE x", "SHOW TABLES", "CALL f()", "ALTER TABLE x", "VACUUM", "SELECT 1"):
            for tree in (condition_tree, query_tree):
                with contextlib.suppress(QueryError):
                    tree(text)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_looking_at_trees() -> None:
    tree = condition_tree("((a)) AND b AND (SELECT MAX(c) FROM t) > 1")
    assert [part.key for part in flatten_chain(tree)] == ["paren", "column", "gt"]
    assert strip_parentheses(flatten_chain(tree)[0]).key == "column"
    assert "max" in {node.key for node in walk(tree)}
    assert "max" not in {node.key for node in walk(tree, leaving={"select"})}
    assert set(parts_given(condition_tree("COUNT(*)"))) == {"this", "big_int"}
    with pytest.raises(QueryError, match="BIG INT is not supported in or after COUNT"):
        check_parts(condition_tree("COUNT(*)"), "this")


def test_words_for_messages() -> None:
    for text, word in WORDS.items():
        assert sql_name(condition_tree(text)) == word
