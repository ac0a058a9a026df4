"""Text functions of the keys of an answer; nulls stay null."""

from __future__ import annotations

from typing import Any

import pytest

from celosia.core.errors import QueryError
from celosia.query.postprocessing.evaluate import evaluate
from celosia.query.postprocessing.text_vectors import apply_text_function
from celosia.query.postprocessing.vectors import to_list, vector_of
from celosia.query.sql.expressions import parse_expression

COLUMNS: dict[str, list[Any]] = {"t": ["Ña ", None, "b%"], "n": [1, 2, 3], "nothing": [None, None, None]}


def test_answers() -> None:
    cases: list[tuple[str, list[object]]] = [
        ("UPPER(TRIM(t))", ["ÑA", None, "B%"]),
        ("LENGTH(t)", [3, None, 2]),
        ("t LIKE '%!%' ESCAPE '!'", [False, None, True]),
        ("UPPER(nothing)", [None, None, None]),
        ("LENGTH(nothing) + 1", [None, None, None]),
    ]
    for text, wanted in cases:
        assert evaluate(parse_expression(text), COLUMNS, 3) == wanted


def test_refusals() -> None:
    cases: list[tuple[str, str]] = [
        ("UPPER(n)", "UPPER cannot be used on numbers"),
        ("t LIKE t", "written out"),
        ("SUBSTRING(t, 0)", "from 1"),
        ("REPLACE(t, '', 'a')", "not empty"),
    ]
    for text, sentence in cases:
        with pytest.raises(QueryError, match=sentence):
            evaluate(parse_expression(text), COLUMNS, 3)


def test_no_rows_at_all() -> None:
    assert to_list(apply_text_function("length", vector_of(["a"]).repeated(0), [])) == []
