"""k, l and t measured together, against plain Python over pairs of records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.anonymity.hierarchies import Categories
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.anonymity.models import (
    AlphaK,
    AverageRisk,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    HierarchicalCloseness,
    KAnonymity,
    KMap,
    Model,
    OrderedCloseness,
    ProsecutorRisk,
    RecursiveDiversity,
    check,
    measure,
)
from celosia.core.errors import CelosiaError, ParameterError, SchemaError
from tests.anonymity.models import bruteforce as plain

LINES = {"a": ("x", "u", "*"), "b": ("x", "u", "*"), "c": ("y", "u", "*"), "d": ("z", "v", "*"), "e": ("z", "v", "*")}
HIERARCHY = Categories({value: line[:2] for value, line in LINES.items()})

keys = st.tuples(st.sampled_from(["M", "F", None]), st.sampled_from([1, 2, None]))
rows = st.lists(st.tuples(keys, st.sampled_from(["a", "b", "c", "d", "e", None])), min_size=1, max_size=14)
nulls = st.sampled_from(["category", "wildcard"])


def make(given_rows: list[tuple[tuple[Any, ...], Any]], meaning: Any, weights: Any = None) -> Microdata:
    table = {
        "sex": pa.array([key[0] for key, _ in given_rows], pa.string()),
        "age": pa.array([key[1] for key, _ in given_rows], pa.int64()),
        "illness": pa.array([value for _, value in given_rows], pa.string()),
    }
    roles = {"quasi_identifiers": ["sex", "age"], "sensitive": ["illness"], "nulls": meaning}
    if weights is not None:
        table["weight"] = pa.array(weights)
        roles["weight"] = "weight"
    return read_microdata(pa.table(table), roles=Roles(**roles), hierarchies={"illness": HIERARCHY})


@given(rows, nulls)
def test_measures_are_those_of_plain_python(given_rows: list[Any], meaning: Any) -> None:
    wildcard = meaning == "wildcard"
    found = measure(make(given_rows, meaning), c=1.5)
    values = [value for _, value in given_rows]
    matches = plain.find_matches([key for key, _ in given_rows], wildcard=wildcard)
    assert found.k == min(map(len, matches))
    assert found.uniques == sum(len(places) == 1 for places in matches)
    assert found.average_risk == pytest.approx(np.mean([1 / len(places) for places in matches]))
    assert found.highest_risk == pytest.approx(1 / found.k)
    assert found.risks == pytest.approx([1 / len(places) for places in matches])
    assert len(matches[found.ids.tolist().index(found.find_worst())]) == found.k
    told = [plain.list_values(values, places, wildcard=wildcard) for places in matches]
    told = [one for one in told if one]
    file = plain.list_values(values, range(len(values)), wildcard=wildcard)
    illness = found.sensitive["illness"]
    if not told:
        assert illness.distinct is None
        assert illness.equal is None
        return
    assert illness.distinct == min(len(set(one)) for one in told)
    assert illness.entropy == pytest.approx(min(map(plain.entropy, told)))
    assert illness.recursive == min(plain.recursive(one, 1.5) for one in told)
    assert illness.alpha == pytest.approx(max(map(plain.largest, told)))
    for kind, cost in (
        ("equal", plain.equal_cost),
        ("ordered", plain.ordered_cost),
        ("hierarchical", plain.hierarchy_cost(LINES)),
    ):
        expected = max(plain.move(one, file, cost) for one in told)
        assert getattr(illness, kind) == pytest.approx(expected, abs=1e-7)


@given(st.lists(st.sampled_from([*"abcde", None]), min_size=1, max_size=8), st.data())
def test_plain_distances_are_the_least_cost_of_moving(file: list[Any], draw: st.DataObject) -> None:
    told = draw.draw(st.lists(st.sampled_from(file), min_size=1, max_size=6))
    assert plain.distance_equal(told, file) == pytest.approx(plain.move(told, file, plain.equal_cost), abs=1e-7)
    assert plain.distance_ordered(told, file) == pytest.approx(plain.move(told, file, plain.ordered_cost), abs=1e-7)
    moved = plain.move(told, file, plain.hierarchy_cost(LINES))
    assert plain.distance_hierarchical(told, file, LINES) == pytest.approx(moved, abs=1e-7)


@given(rows, nulls, st.randoms(use_true_random=False))
def test_shuffled_rows_measure_the_same(given_rows: list[Any], meaning: Any, lot: Any) -> None:
    shuffled = lot.sample(given_rows, len(given_rows))
    one, two = measure(make(given_rows, meaning)), measure(make(shuffled, meaning))
    assert str(one) == str(two)
    assert sorted(one.risks) == sorted(two.risks)
    assert one.sizes.tolist() == two.sizes.tolist()


@given(rows, nulls, st.data())
def test_models_hold_where_the_measures_say_so(given_rows: list[Any], meaning: Any, draw: st.DataObject) -> None:
    weights = draw.draw(st.lists(st.integers(1, 9), min_size=len(given_rows), max_size=len(given_rows)))
    data = make(given_rows, meaning, weights)
    wildcard = meaning == "wildcard"
    matches = plain.find_matches([key for key, _ in given_rows], wildcard=wildcard)
    values = [value for _, value in given_rows]
    told = [one for one in (plain.list_values(values, places, wildcard=wildcard) for places in matches) if one]
    file = plain.list_values(values, range(len(values)), wildcard=wildcard)
    number = draw.draw(st.integers(1, 5))
    part = draw.draw(st.sampled_from([0.1, 0.25, 0.5, 0.9]))
    reverse = tuple("edcba")

    def reverse_cost(i: int, j: int, domain: Any) -> float:
        return plain.ordered_cost(i, j, domain)

    shown = [["edcba".index(v) if v else -1 for v in one] for one in told]
    told_file = ["edcba".index(v) if v else -1 for v in file]
    expected: dict[Model, bool] = {
        KAnonymity(number): min(map(len, matches)) >= number,
        KMap(number * 3): min(sum(weights[place] for place in places) for places in matches) >= number * 3,
        ProsecutorRisk(part): max(1 / len(places) for places in matches) <= part + 1e-9,
        AverageRisk(part): bool(np.mean([1 / len(places) for places in matches]) <= part + 1e-9),
        DistinctDiversity("illness", number): all(len(set(one)) >= number for one in told),
        EntropyDiversity("illness", 1 + part): all(plain.entropy(one) >= 1 + part - 1e-9 for one in told),
        RecursiveDiversity("illness", 1.2, 2): all(plain.recursive(one, 1.2) >= 2 for one in told),
        AlphaK("illness", part, number): all(plain.largest(one) <= part + 1e-9 for one in told)
        and min(map(len, matches)) >= number,
        AlphaK("illness", part, values=("a",)): all(one.count("a") / len(one) <= part + 1e-9 for one in told),
        EqualCloseness("illness", part): all(plain.move(one, file, plain.equal_cost) <= part + 1e-7 for one in told),
        OrderedCloseness("illness", part, order=reverse): all(
            plain.move(one, told_file, reverse_cost) <= part + 1e-7 for one in shown
        ),
        HierarchicalCloseness("illness", part): all(
            plain.move(one, file, plain.hierarchy_cost(LINES)) <= part + 1e-7 for one in told
        ),
    }
    assert check(data, expected) == expected


def test_closeness_is_measured_from_the_original() -> None:
    data = make([(("M", 1), "a"), (("M", 1), "b"), (("F", 2), "a"), (("F", 2), "a")], "category")
    part = data.keep_rows(np.array([0, 1]))
    assert measure(part).sensitive["illness"].equal == 0
    assert measure(part, original=data).sensitive["illness"].equal == pytest.approx(0.25)
    assert check(part, [EqualCloseness("illness", 0.1)], original=data) == {EqualCloseness("illness", 0.1): False}


def test_a_constant_numeric_column_has_no_distance() -> None:
    """Pycanon divides by zero here."""
    table = pa.table({"sex": ["M", "F", "F"], "income": [1000.0, 1000.0, 1000.0]})
    data = read_microdata(table, roles=Roles(quasi_identifiers=["sex"], sensitive=["income"]))
    income = measure(data).sensitive["income"]
    assert (income.equal, income.ordered, income.distinct, income.hierarchical) == (0.0, 0.0, 1, None)


def test_the_index_of_a_frame_means_nothing() -> None:
    """Pycanon takes labels of rows for places: a shuffled or filtered frame has another t."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [1, 1, 2, 2, 3], "income": [3.0, 4.0, 3.0, 3.0, 5.0]})
    roles = Roles(quasi_identifiers=["age"], sensitive=["income"])
    filtered = frame[frame["age"] < 3]
    before = measure(read_microdata(filtered, roles=roles))
    after = measure(read_microdata(filtered.iloc[[3, 0, 2, 1]], roles=roles))
    assert str(before) == str(after)
    assert before.sensitive["income"].ordered == pytest.approx(0.25)


def test_nan_is_a_value_or_unknown_but_never_ignored() -> None:
    """Pycanon leaves out the rows with NaN."""
    table = pa.table({"age": [1.0, math.nan, 1.0], "illness": ["flu", "flu", None]})
    found = {}
    for meaning in ("category", "wildcard"):
        roles = Roles(quasi_identifiers=["age"], sensitive=["illness"], nulls=meaning)
        found[meaning] = measure(read_microdata(table, roles=roles))
    assert (found["category"].k, found["category"].classes) == (1, 2)
    assert found["wildcard"].k == 3
    assert found["category"].sensitive["illness"].by_class["distinct"].tolist() == [1.0, 2.0]
    assert found["wildcard"].sensitive["illness"].by_class["distinct"].tolist() == [1.0, 1.0]


def test_ordered_distance_of_the_papers_example() -> None:
    """Li, Li and Venkatasubramanian 2007, table 3: salaries 3k to 11k; {3k,4k,5k} has 0.375, {6k,8k,11k} has 0.167."""
    pay = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    table = pa.table({"zip": [1, 1, 1, 2, 2, 2, 3, 3, 3], "pay": pay})
    found = measure(read_microdata(table, roles=Roles(quasi_identifiers=["zip"], sensitive=["pay"])))
    by_class = found.sensitive["pay"].by_class["ordered"]
    assert by_class[0] == pytest.approx(0.375)
    assert by_class[1] == pytest.approx(1 / 6)
    assert found.sensitive["pay"].ordered == pytest.approx(0.375)


def test_a_file_without_records_has_no_classes() -> None:
    none = make([(("M", 1), "a")], "category").keep_rows(np.zeros(1, dtype=np.bool_))
    found = measure(none)
    assert (found.rows, found.classes, found.k, found.highest_risk) == (0, 0, 0, 0.0)
    assert found.sensitive["illness"].distinct is None
    assert check(none, [KAnonymity(2), AverageRisk(0.1)]) == {KAnonymity(2): True, AverageRisk(0.1): True}


def test_the_table_is_short_and_plain() -> None:
    found = str(measure(make([(("M", 1), "a"), (("M", 1), "b")], "category")))
    assert found.splitlines()[2].split()[-1] == "2"
    assert "'illness': t, hierarchical distance" in found
    assert len(found.splitlines()) == 14


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1, width=16)), min_size=1, max_size=40))
def test_many_values_are_no_other_than_few(given_rows: list[tuple[int, float]]) -> None:
    table = pa.table({"age": [row[0] for row in given_rows], "pay": [row[1] for row in given_rows]})
    found = measure(read_microdata(table, roles=Roles(quasi_identifiers=["age"], sensitive=["pay"])))
    file = [row[1] for row in given_rows]
    domain = sorted(set(file))
    worst = 0.0
    for age in {row[0] for row in given_rows}:
        own = [row[1] for row in given_rows if row[0] == age]
        sums = [sum(v <= top for v in own) / len(own) - sum(v <= top for v in file) / len(file) for top in domain]
        worst = max(worst, sum(map(abs, sums)) / max(len(domain) - 1, 1))
    assert found.sensitive["pay"].ordered == pytest.approx(worst, abs=1e-9)


@pytest.mark.parametrize(
    "build",
    [
        lambda: KAnonymity(0),
        lambda: KAnonymity(k=True),
        lambda: KAnonymity(2.5),  # type: ignore[arg-type]
        lambda: DistinctDiversity("a", 0),
        lambda: EntropyDiversity("a", 0.5),
        lambda: RecursiveDiversity("a", 0.0, 2),
        lambda: EqualCloseness("a", 1.5),
        lambda: EqualCloseness(3, 0.5),  # type: ignore[arg-type]
        lambda: AverageRisk(float("nan")),
        lambda: AlphaK("a", -0.1),
    ],
)
def test_parameters_without_meaning_are_errors(build: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        build()
    assert caught.value.code.startswith("anonymity_models.not_")


def test_what_a_model_misses_is_an_error_with_the_column() -> None:
    data = make([(("M", 1), "a"), (("F", 1), "b")], "category")
    cases: list[tuple[Model, str]] = [
        (OrderedCloseness("illness", 0.5, order=("a",)), "anonymity_models.value_not_in_order"),
        (DistinctDiversity("ilness", 2), "anonymity.unknown_column"),
        (HierarchicalCloseness("sex", 0.5), "anonymity_models.no_hierarchy"),
    ]
    for model, code in cases:
        with pytest.raises((SchemaError, ParameterError)) as caught:
            check(data, [model])
        assert caught.value.code == code


def test_a_frame_without_roles_is_refused_and_a_single_model_is_taken() -> None:
    frame = pa.table({"sex": ["M", "M"]})
    acts: list[Any] = [measure, lambda one: check(one, [KAnonymity(2)])]
    for act in acts:
        with pytest.raises(CelosiaError) as caught:
            act(frame)
        assert caught.value.code == "anonymity.not_microdata"
    data = read_microdata(frame, roles=Roles(quasi_identifiers=["sex"]))
    assert check(data, KAnonymity(2)) == {KAnonymity(2): True}
    assert check(data, AverageRisk(0.1)) == {AverageRisk(0.1): False}
