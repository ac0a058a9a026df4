"""A suggestion of limits: the best candidate, tables, charts and texts."""

from __future__ import annotations

import pytest

import celosia as cl
from celosia.core import ParameterError
from celosia.mechanisms import Laplace
from celosia.query import LimitSuggestion
from celosia.query.answering.limit_suggestion import Candidate
from tests.query.samples import persons_table, rows_table


def suggestion() -> LimitSuggestion:
    value = tuple(
        Candidate(groups=groups, rows=rows, rows_kept=0.5, persons_kept=0.9, bias=100 / groups / rows, noise=2.0 * rows)
        for groups in (1, 2, 4, 8, 16, 32, 64, 128, 200)
        for rows in (1, 2, 4, 8)
    )
    event = Laplace(epsilon=1, sensitivity=1, unit="person").event
    return LimitSuggestion(value=value, event=event, guarantee=cl.PureDP(epsilon=1), threshold=12, cells=200)


def test_the_best_has_the_smallest_error() -> None:
    found = suggestion()
    assert found.best.error == min(candidate.error for candidate in found.value)
    assert (found.best.groups, found.best.rows) == (200, 1)
    few, many = (
        Candidate(groups=1, rows=rows, rows_kept=None, persons_kept=None, bias=8.0 - noise, noise=noise)
        for rows, noise in ((1, 2.0), (2, 4.0))
    )
    assert LimitSuggestion(value=(many, few), event=found.event, guarantee=found.guarantee).best is few


def test_limits_are_applied_to_a_table() -> None:
    found, table = suggestion(), persons_table(groups=1, rows=1)
    best, other = found.apply(table), found.apply(table, found.value[5])
    assert (best.max_groups_per_person, best.max_rows_per_group) == (200, 1)
    assert (other.max_groups_per_person, other.max_rows_per_group) == (2, 2)
    assert (best.schema, best.source) == (table.schema, table.source)
    with pytest.raises(ParameterError, match="deaths has no person="):
        found.apply(rows_table())


def test_it_shows_every_candidate_and_marks_the_best() -> None:
    found = suggestion()
    table = found.to_arrow()
    assert (table.num_rows, sum(table["best"].to_pylist())) == (36, 1)
    lines = str(found).splitlines()
    assert len(lines) == 1 + 36 + 2
    assert [line.split()[:3] for line in lines if "*" in line] == [["200", "*", "1"]]
    html = found._repr_html_()
    assert html.count("<tr>") == 37
    assert "max_groups_per_person=200" in html
    assert repr(found) == "<LimitSuggestion 200 groups, 1 rows in each; PureDP(epsilon=1)>"


def test_the_chart_has_the_lines_around_the_best() -> None:
    chart = suggestion().plot().to_dict()
    names = {row["name"] for rows in chart["datasets"].values() for row in rows}
    assert names == {f"{groups} groups" for groups in (4, 8, 16, 32, 64, 128, 200)}
