"""The search is optimal: it finds what looking at every node finds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from celosia.anonymity.generalization import search
from celosia.anonymity.generalization.full_domain import best_first, full_domain
from celosia.anonymity.generalization.full_domain.problem import LOSSES
from celosia.anonymity.models import AverageRisk, DistinctDiversity, KAnonymity
from celosia.core.errors import InfeasibleError
from tests.anonymity.generalization.full_domain.enumeration import build, enumerate_nodes, files, models

limits = st.sampled_from([0.0, 0.1, 0.3, 0.6, 1.0])


def compare(data: Any, asked: Any, limit: float, nulls: Any = "category", **parameters: Any) -> None:
    loss = parameters.get("loss", "loss")
    expected = enumerate_nodes(data, asked, limit, loss, wildcard=nulls == "wildcard")
    file = build(data, nulls)
    if expected is None:
        with pytest.raises(InfeasibleError):
            search(file, models=asked, limit=limit, **parameters)
        return
    found = search(file, models=asked, limit=limit, **parameters)
    assert found.loss == pytest.approx(expected[0])
    assert found.optimal
    assert tuple(found.levels.values()) == expected[1]
    assert (found.suppressed, found.classes) == expected[2:]
    assert found.gap == 0
    assert found.nodes >= 1


FLAT = dict.fromkeys("abcd", ("*",))


@settings(max_examples=2000)
@given(files(), models(), limits)
# The best node is coarser than one that was looked at before, and loses less.
@example(([("a", "a"), ("a", "a"), ("b", "a"), ("c", "a"), ("d", "a")], ["x"] * 5, [FLAT, FLAT]), [KAnonymity(2)], 1.0)
def test_the_search_finds_what_enumeration_finds(data: Any, asked: Any, limit: float) -> None:
    compare(data, asked, limit)


@settings(max_examples=600)
# A class in which nothing is known is kept at a finer node, and violates when a record with a known value joins it.
@example(
    ([("a", "a")] * 4 + [("a", "b")], ["x", None, None, None, None], [FLAT, FLAT]),
    [DistinctDiversity("illness", 2)],
    1.0,
)
@given(files(most=9), models().filter(lambda asked: not isinstance(asked[-1], AverageRisk)), limits)
def test_with_wildcards_too(data: Any, asked: Any, limit: float) -> None:
    compare(data, asked, limit, "wildcard")


@settings(max_examples=600)
@given(files(), models(), limits, st.sampled_from(["discernibility", "average_class_size"]))
def test_and_for_other_losses(data: Any, asked: Any, limit: float, loss: str) -> None:
    compare(data, asked, limit, loss=loss)


@settings(max_examples=600)
@given(files(), models(), limits, st.sampled_from(LOSSES))
def test_a_large_lattice_searched_to_its_end_is_no_other(data: Any, asked: Any, limit: float, loss: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_domain, "LISTED", 0)
        patch.setattr(full_domain, "NODES", 10**6)
        compare(data, asked, limit, loss=loss)


@settings(max_examples=600)
@given(files(), models(), limits, st.integers(1, 12), st.booleans())
def test_a_search_that_stops_says_so_and_bounds_the_loss(
    data: Any,
    asked: Any,
    limit: float,
    nodes: int,
    listed: bool,  # noqa: FBT001 - drawn
) -> None:
    best = enumerate_nodes(data, asked, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_domain, "LISTED", 10**6 if listed else 0)
        patch.setattr(best_first, "_GROUP", 4)
        try:
            found = search(build(data), models=asked, limit=limit, nodes=nodes)
        except InfeasibleError as error:
            found, refused = None, error.code
    if found is None:
        assert best is None or refused == "anonymity_search.too_few_nodes"  # others may satisfy the models
        return
    assert best is not None
    assert found.lower_bound <= best[0] + 1e-9 <= found.loss + 2e-9
    assert not found.optimal or math.isclose(found.loss, best[0])
    assert found.nodes <= nodes or not listed


@given(files(), models(), limits, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(data: Any, asked: Any, limit: float, lot: Any) -> None:
    rows, illness, ladders = data
    order = lot.sample(range(len(rows)), len(rows))
    shuffled = [rows[place] for place in order], [illness[place] for place in order], ladders
    asked = [model for model in asked if "KMap" not in repr(model)]  # weights go with places here
    if not asked:
        return
    found = []
    for one in (data, shuffled):
        try:
            found.append(search(build(one), models=asked, limit=limit))
        except InfeasibleError as error:
            found.append(str(error))  # type: ignore[arg-type]
    assert found[0] == found[1]
