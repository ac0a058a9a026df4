"""Previews come back from JSON as they were; what is none is refused."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import celosia as cl
from celosia.core.errors import CelosiaError, FormatError
from celosia.core.strict_json import read_json
from celosia.query.serial.preview import preview_from_json, preview_to_json
from tests.query.samples import asking, persons_table, rows_table
from tests.query.serial.test_plan import paths, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.query.builder import Query
    from celosia.query.planning.preview import Preview

ASKED: list[Callable[[Query], Query]] = [
    lambda q: q.count(),
    lambda q: q.group_by("sex").mean("age").count().sum("2 * weight"),
    lambda q: q.group_by("town").median("weight").mode("risk"),
    lambda q: q.group_by("sex", "alive").top_k("risk", 2).variance("age").count_persons(),
]


def sent(preview: Preview) -> Preview:
    return preview_from_json(read_json(json.dumps(preview_to_json(preview), allow_nan=False)))


def test_previews_come_back_equal() -> None:
    rows_cases: list[float | None] = [None, 1_000]
    for asked, rows, persons in product(ASKED, rows_cases, (False, True)):
        table = persons_table() if persons else rows_table()
        for epsilon in ("1/7", 0.1, 100):
            preview = asked(asking(table).query()).preview(epsilon=epsilon, rows=rows, level="0.9")
            assert sent(preview) == preview
            assert str(sent(preview)) == str(preview)


def test_a_budget_in_rho_and_an_endless_error() -> None:
    preview = asking(budget=cl.ZCDP(rho=1)).query().count().preview(rho="1/3")
    endless = replace(preview, lines=(replace(preview.lines[0], error=math.inf),))
    assert sent(preview) == preview
    assert sent(endless) == endless


WRITTEN = preview_to_json(ASKED[1](asking().query()).preview(epsilon="0.5"))
WRONG: list[Any] = [None, True, -1, 2**70, 1.5, math.nan, "", "2", "\ud800", [], {}, [[]], [None], b"bytes", object()]


def test_no_field_can_be_replaced_by_something_that_does_harm() -> None:
    for path in paths(WRITTEN):
        for wrong in WRONG:
            try:
                preview = preview_from_json(put(WRITTEN, path, wrong))
            except CelosiaError:
                continue
            else:
                assert sent(preview) == preview


def test_a_field_that_nobody_knows_is_refused() -> None:
    for path in paths(WRITTEN):
        place = functools.reduce(lambda at, step: at[step], path, WRITTEN)
        if isinstance(place, dict):
            with pytest.raises(FormatError):
                preview_from_json(put(WRITTEN, path, {**place, "surprise": 1}))


def test_what_is_no_preview_is_refused() -> None:
    cases: list[tuple[tuple[Any, ...], Any]] = [
        (("version",), 1),
        (("affordable",), 1),
        (("cells",), 2.0),
        (("level",), 1),
        (("aggregates", 0, "share"), "2"),
        (("aggregates", 0, "share"), 0.5),
        (("aggregates", 0, "unit"), "metres"),
        (("aggregates", 0, "error"), "inf"),
        (("cost", "epsilon"), "-1"),
        (("bounds", 0, "kind"), None),
    ]
    for path, new in cases:
        with pytest.raises(FormatError):
            preview_from_json(put(WRITTEN, path, new))
