"""The files that full-domain generalization gives, as an independent brute force sees them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.anonymity.generalization import FullDomain
from celosia.anonymity.hierarchies import Categories, Intervals
from celosia.anonymity.microdata import Roles, Step, read_microdata
from celosia.anonymity.models import (
    AverageRisk,
    DeltaPresence,
    DistinctDiversity,
    EqualCloseness,
    KAnonymity,
    KMap,
    Model,
    check,
)
from celosia.core.errors import CelosiaError, InfeasibleError, ParameterError
from tests.anonymity.generalization.full_domain.enumeration import build, files, models, satisfies
from tests.anonymity.models.bruteforce import find_matches


@settings(max_examples=800)
@given(files(), models(), st.sampled_from([0.0, 0.3, 0.6]), st.sampled_from(["category", "wildcard"]))
def test_the_output_satisfies_the_models(data: Any, asked: Any, limit: float, nulls: Any) -> None:
    rows, illness, ladders = data
    file = build(data, nulls)
    before = file.table
    wildcard = nulls == "wildcard"
    try:
        result = FullDomain(models=tuple(asked), limit=limit).apply(file)
    except InfeasibleError:
        return
    assert file.table is before
    assert 0 < len(result) >= len(rows) - int(limit * len(rows) + 1e-9)
    names = [f"q{place}" for place in range(len(ladders))]
    keys = [tuple(row[name] for name in names) for row in result.table.select(names).to_pylist()]
    matches = find_matches(keys, wildcard=wildcard)
    for model in asked:
        if isinstance(model, AverageRisk):
            assert np.mean([1 / len(places) for places in matches]) <= model.most + 1e-9
            continue
        for places in matches:
            original = [int(result.rows[place]) for place in places]
            assert satisfies(model, original, illness, illness, wildcard=wildcard)
    assert all(check(result, asked, original=file).values())


@given(files())
def test_values_are_labels_and_rows_stay_in_order(data: Any) -> None:
    rows, _, ladders = data
    file = build(data)
    step = FullDomain(models=(KAnonymity(2),), limit=0.6)
    try:
        result, levels = step.apply(file), list(step.search(file).levels.values())
    except InfeasibleError:
        assert len(rows) == 1
        return
    assert (np.diff(result.rows) > 0).all()
    assert result.table.column("illness").equals(file.table.column("illness").take(pa.array(result.rows)))
    for place, (lines, level) in enumerate(zip(ladders, levels, strict=True)):
        name = f"q{place}"
        values = result.get_column(name).to_pylist()
        for row, value, spread in zip(result.rows, values, result.spreads[name], strict=True):
            given_value = rows[row][place]
            if level == len(lines["a"]):
                assert (value, spread) == ("*", 1)
            elif not level or given_value is None:
                assert (value, spread) == (given_value, 0)
            else:
                covered = sum(line[level - 1] == value for line in lines.values())
                assert value == lines[given_value][level - 1]
                assert spread == pytest.approx((covered - 1) / (len(lines) - 1))


def test_a_column_at_level_0_keeps_its_type() -> None:
    table = pa.table({"age": pa.array([30, 30, 41, 41], pa.int16()), "sex": ["M", "F", "M", "F"]})
    data = read_microdata(
        table,
        roles=Roles(quasi_identifiers=["age", "sex"]),
        hierarchies={"age": Intervals.of_widths(0, 100, [10]), "sex": Categories([["M"], ["F"]])},
    )
    step = FullDomain(models=(KAnonymity(2),), limit=0)
    result = step.apply(data)
    assert isinstance(step, Step)
    assert result.table.schema.field("age").type == pa.int16()
    assert result.get_column("sex").to_pylist() == ["*"] * 4
    fixed = FullDomain(models=(KAnonymity(2),), limit=0, levels={"age": 1})
    assert fixed.search(data).levels == {"age": 1, "sex": 1}
    assert fixed.apply(data).get_column("age").to_pylist() == ["30-39", "30-39", "40-49", "40-49"]


def test_a_hierarchy_may_have_one_value() -> None:
    data = read_microdata(
        pa.table({"sex": ["M", "M"]}), roles=Roles(quasi_identifiers=["sex"]), hierarchies={"sex": Categories([["M"]])}
    )
    assert FullDomain(models=(KAnonymity(2),), levels={"sex": 1}).search(data).loss == 0


def test_populations_are_generalized_with_the_file() -> None:
    hierarchy = Categories({"a": "g", "b": "g", "c": "h"})
    data = read_microdata(
        pa.table({"zip": ["a", "a", "b", "c"]}), roles=Roles(quasi_identifiers=["zip"]), hierarchies={"zip": hierarchy}
    )
    population = pa.table({"zip": ["a", "b", "c"], "count": [2, 6, 2]})
    cases: list[tuple[Any, int, int]] = [
        (KMap(2, population), 0, 0),
        (KMap(7, population), 1, 1),
        (DeltaPresence(0.0, 0.5, population), 1, 0),
        (DeltaPresence(0.0, 0.45, population), 1, 1),
        (DeltaPresence(0.38, 0.5, population), 2, 0),  # with low above 0 nothing can be dropped: 3/8 is too low
    ]
    for model, level, suppressed in cases:
        found = FullDomain(models=(model,), limit=0.25).search(data)
        assert ({"zip": level}, suppressed) == (found.levels, found.suppressed), model
    tied = FullDomain(
        models=(
            KMap(7, population),
            DeltaPresence(0.3, 0.5, population),
        ),
        limit=0.5,
    ).search(data)
    assert (tied.levels, tied.suppressed) == ({"zip": 2}, 0)


def make() -> Any:
    table = pa.table({"sex": ["M", "F", "F"], "zip": ["1", "2", "2"], "illness": ["flu", "flu", "flu"]})
    return read_microdata(
        table,
        roles=Roles(quasi_identifiers=["sex", "zip"], sensitive=["illness"]),
        hierarchies={"sex": Categories([["M"], ["F"]]), "zip": Categories([["1"], ["2"]])},
    )


def test_an_infeasible_request_names_what_blocks_it() -> None:
    """Others return an empty frame."""
    cases: list[tuple[Any, float, str, str]] = [
        ([KAnonymity(4)], 0.0, "anonymity_search.infeasible_model", "KAnonymity(k=4)"),
        ([KAnonymity(4)], 1.0, "anonymity_search.infeasible_model", "KAnonymity(k=4)"),
        ([KAnonymity(2), DistinctDiversity("illness", 2)], 0.5, "anonymity_search.infeasible_column", "'illness'"),
        ([AverageRisk(0.1)], 0.5, "anonymity_search.infeasible_model", "AverageRisk(most=0.1)"),
    ]
    for asked, limit, code, named in cases:
        for nodes in (None, 50):
            data = make()
            with pytest.raises(InfeasibleError) as caught:
                FullDomain(models=tuple(asked), limit=limit, nodes=nodes).apply(data)
            assert caught.value.code == code
            assert named in str(caught.value)
            assert len(data) == 3
            assert not data.spreads


def test_models_that_only_block_each_other_are_named_together() -> None:
    hierarchy = Categories([["a"], ["b"]])
    table = pa.table({"q": ["a", "a", "a", "b"], "illness": ["x", "x", "x", "y"]})
    data = read_microdata(
        table,
        roles=Roles(quasi_identifiers=["q"], sensitive=["illness"]),
        hierarchies={"q": hierarchy},
    )
    population = pa.table({"q": ["a", "b"], "count": [3, 9]})
    asked: list[Model] = [
        DeltaPresence(0.0, 0.9, population),
        EqualCloseness("illness", 0.0),
        DeltaPresence(0.0, 0.2, population),
    ]
    with pytest.raises(InfeasibleError):
        FullDomain(models=tuple(asked), limit=0.0).apply(data)
    with pytest.raises(InfeasibleError) as caught:
        FullDomain(models=(KAnonymity(4),), limit=0.0, levels={"q": 1}, nodes=1).apply(make_small())
    assert caught.value.code == "anonymity_search.infeasible_model"


def make_small() -> Any:
    return read_microdata(
        pa.table({"q": ["a", "b"]}),
        roles=Roles(quasi_identifiers=["q"]),
        hierarchies={"q": Categories([["a"], ["b"]])},
    )


def test_bad_input_is_an_error_that_names_the_column() -> None:
    data = make()
    cases: list[tuple[Any, str, str]] = [
        (lambda: FullDomain(models=()), "anonymity_search.no_models", "models"),
        (lambda: FullDomain(models=(5,)), "anonymity_search.no_models", "5"),  # type: ignore[arg-type]
        (lambda: FullDomain(limit=1.5), "anonymity_search.limit_not_part", "1.5"),
        (lambda: FullDomain(limit=math.nan), "anonymity_search.limit_not_part", "nan"),
        (lambda: FullDomain(loss="entropy"), "anonymity_search.unknown_loss", "entropy"),  # type: ignore[arg-type]
        (lambda: FullDomain(nodes=0), "anonymity_search.nodes_not_positive", "0"),
        (lambda: FullDomain(levels={"sex": 2}).apply(data), "anonymity.unknown_level", "'sex'"),
        (lambda: FullDomain(levels={"age": 0}).apply(data), "anonymity.unknown_column", "'age'"),
        (lambda: FullDomain().apply(make_without("zip")), "anonymity_search.no_hierarchy", "'zip'"),
        (lambda: FullDomain().apply(make_with(Categories([["1"]]))), "anonymity.hierarchy_with_gap", "'zip'"),
        (
            lambda: FullDomain().apply(make_numbers()),
            "anonymity_search.levels_not_nested",
            "'age'",
        ),
    ]
    for act, code, named in cases:
        with pytest.raises(CelosiaError) as caught:
            act()
        assert caught.value.code == code
        assert named in str(caught.value)
    with pytest.raises(ParameterError):
        FullDomain(limit=True)


def make_without(name: str) -> Any:
    data = make()
    kept = {other: hierarchy for other, hierarchy in data.hierarchies.items() if other != name}
    return read_microdata(data.table, roles=data.roles, hierarchies=kept)


def make_with(hierarchy: Any) -> Any:
    data = make()
    return read_microdata(data.table, roles=data.roles, hierarchies={**data.hierarchies, "zip": hierarchy})


def make_numbers() -> Any:
    cuts = [[0, 10, 20, 30, 40], [0, 20, 40]]
    names = [["low", "high", "low", "high"], ["young", "old"]]
    return read_microdata(
        pa.table({"age": [5, 25]}),
        roles=Roles(quasi_identifiers=["age"]),
        hierarchies={"age": Intervals(cuts, names=names)},
    )
