"""Words outside the language are refused before the parser sees them; names stay names."""

from __future__ import annotations

import pytest
from sqlglot import TokenType
from sqlglot.dialects.dialect import Dialect

from celosia.core.errors import QueryError
from celosia.query.plan.to_sql import DIALECT
from celosia.query.sql.allowlist import MAX_NESTING, WORDS
from celosia.query.sql.syntax import check_tokens

DUCKDB = Dialect.get_or_raise(DIALECT)


def tokens(text: str) -> list[TokenType]:
    found = DUCKDB.tokenize(text)
    check_tokens(found)
    return [token.token_type for token in found]


def test_the_words_are_words_of_the_parser() -> None:
    assert {word.name for word in TokenType} >= WORDS


def test_names_that_are_words_elsewhere_are_names_here() -> None:
    cases: list[str] = ["comment", "index", "text", "date", "timestamp", "list", "map", "first", "set", "uuid"]
    for name in cases:
        assert tokens(f"{name} < 3")[0] is TokenType.VAR


def test_types_are_types_where_a_type_can_stand() -> None:
    assert TokenType.DATE in tokens("DATE '2021-01-01'")
    assert TokenType.DATE in tokens("CAST(x AS DATE)")
    assert TokenType.INT in tokens("x::INT")
    # Anywhere else, above all before a parenthesis, they are names: there the parser would take exponential time.
    assert TokenType.DATE not in tokens("DATE(x)")
    assert TokenType.TEXT not in tokens("CAST(x AS TEXT)")
    assert TokenType.DATE not in tokens("CAST(x AS DATE(3))")


def test_refusals() -> None:
    cases: list[tuple[str, str]] = [
        ("a GLOB 'x'", "texts are compared with ="),
        ("a ~ 'x'", "and LIKE 'A%'"),
        ("a || b", "put together"),
        ("a RIGHT JOIN b", "JOIN or LEFT JOIN"),
        ("REPLACE INTO t", "only one SELECT"),
        ("SUBSTRING(a FROM 2 FOR 3)", r"SUBSTRING\(x, 2, 3\)"),
        ("SELECT 1 UNION SELECT 2", "only one SELECT"),
        ("DROP TABLE t", "only one SELECT"),
        ("PRAGMA x", "only one SELECT"),
        ("SUM(x) OVER ()", "side by side"),
        ("EXISTS (SELECT 1)", "FROM or WITH"),
        ("a FULL JOIN b", "JOIN or LEFT JOIN"),
        ("a NATURAL JOIN b", "JOIN or LEFT JOIN"),
        ("a < CURRENT_DATE", "DATE '2021-12-31'"),
        ("a < ?", "placeholders"),
        ("a < $1", "placeholders"),
        ("a < :a", "placeholders"),
        ("a < @a", "placeholders"),
        ("E'x'", "single quotes"),
        ("`a` < 3", "single quotes"),
        ("a // 2", "FLOOR"),
        ("a[1]", r"'\[' is not supported"),
        ("{'a': 1}", r"'\{' is not supported"),
        ("a ** 2", "is not supported"),
        ("PROCEDURE < 3", 'put it in double quotes: "PROCEDURE"'),
        ("0x1F", "runs into 'x1F'"),
        ("IF a", "IF is not supported"),
        ("INTERVAL (3) DAY", "INTERVAL is not supported"),
    ]
    for text, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            tokens(text)


def test_nesting_is_bounded() -> None:
    cases: list[str] = ["(", "CASE WHEN ", "f("]
    for opening in cases:
        tokens(opening * MAX_NESTING)
        with pytest.raises(QueryError, match="nested too deeply"):
            tokens(opening * (MAX_NESTING + 1))


def test_every_keyword_of_the_dialect_is_admitted_or_refused() -> None:
    for word in DUCKDB.tokenizer_class.KEYWORDS:
        try:
            tokens(f"a {word} b")
        except QueryError as error:
            assert str(error).endswith(".")  # noqa: PT017
