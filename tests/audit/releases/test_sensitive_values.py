"""Homogeneity, background knowledge and skewness against a plain look at each class."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.audit.releases import find_homogeneity, measure_skewness, rule_out_values
from celosia.core.errors import CelosiaError
from celosia.plots.save import render

keys = st.one_of(st.none(), st.integers(0, 2))
illnesses = st.sampled_from(["flu", "mono", "covid", None])
files = st.lists(st.tuples(keys, keys, illnesses), min_size=1, max_size=20)
meanings = st.sampled_from(["category", "wildcard"])


def read(rows: list[tuple[Any, ...]], nulls: Any = "category") -> Microdata:
    a, b, illness = map(list, zip(*rows, strict=True))
    table = pa.table(
        {"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64()), "illness": pa.array(illness, pa.string())}
    )
    return read_microdata(table, roles=Roles(quasi_identifiers=["a", "b"], sensitive=["illness"], nulls=nulls))


def count_plainly(rows: list[tuple[Any, ...]], *, wild: bool) -> list[Counter[Any]]:
    """The values in the class of each record."""

    def same(one: Any, two: Any) -> bool:
        return one == two or (wild and (one is None or two is None))

    return [
        Counter(
            row[2] for row in rows if same(one[0], row[0]) and same(one[1], row[1]) and not (wild and row[2] is None)
        )
        for one in rows
    ]


@given(files, meanings)
def test_confidences_are_the_largest_shares(rows: Any, nulls: Any) -> None:
    found = find_homogeneity(read(rows, nulls))
    classes = count_plainly(rows, wild=nulls == "wildcard")
    expected = [max(one.values(), default=0) / max(one.total(), 1) for one in classes]
    assert found.confidences.tolist() == pytest.approx(expected)
    assert found.exposed.tolist() == [len(one) == 1 for one in classes]
    kinds = {(row[:2], len(one)) for row, one in zip(rows, classes, strict=True) if one}
    assert (found.classes, found.homogeneous) == (len(kinds), sum(size == 1 for _, size in kinds))


@given(files, meanings, st.lists(st.sampled_from(["flu", "mono"]), max_size=2))
def test_values_that_are_left_when_some_are_ruled_out(rows: Any, nulls: Any, excluded: list[str]) -> None:
    wild = nulls == "wildcard"
    found = rule_out_values(read(rows, nulls), known=3, excluded=excluded)
    left = [
        Counter({value: count for value, count in one.items() if value not in excluded})
        for one, row in zip(count_plainly(rows, wild=wild), rows, strict=True)
        if not excluded or row[2] not in excluded
    ]
    classes = [one for one in left if one]
    for values in range(4):
        rate = np.mean([len(one) - values <= 1 for one in classes]) if classes else 0
        assert found.rates[values] == pytest.approx(rate)
        shares = [
            sizes[0] / (sizes[0] + sum(sizes[1 + values :]))
            for one in classes
            for sizes in [sorted(one.values(), reverse=True)]
        ]
        assert found.confidences[values] == pytest.approx(np.mean(shares) if classes else 0)
    assert found.withstands == min(map(len, classes), default=1) - 2


@given(files, meanings)
def test_gains_are_ratios_of_shares(rows: Any, nulls: Any) -> None:
    wild = nulls == "wildcard"
    found = measure_skewness(read(rows, nulls))
    whole = Counter(row[2] for row in rows if not (wild and row[2] is None))
    for place, one in enumerate(count_plainly(rows, wild=wild)):
        shares = {value: count / one.total() for value, count in one.items()}
        prior = {value: count / whole.total() for value, count in whole.items()}
        gain = max((share / prior[value] for value, share in shares.items()), default=1)
        assert found.gains[place] == pytest.approx(gain)
        apart = sum(abs(shares.get(value, 0) - prior[value]) for value in prior) / 2 if shares else 0
        assert found.distances[place] == pytest.approx(apart)
        # t-closeness bounds what a class tells: each value has at most prior + t.
        assert all(share <= prior[value] + found.distances[place] + 1e-12 for value, share in shares.items())


def test_an_unprotected_file_loses_and_a_protected_one_does_not() -> None:
    names = ["flu", "mono", "covid", "gout"]
    unprotected = read([(place % 3, None, names[place % 3]) for place in range(24)])
    protected = read([(place % 3, None, names[place // 3 % 4]) for place in range(24)])
    assert find_homogeneity(unprotected).rate == 1
    assert find_homogeneity(protected).rate == 0
    # Four values in each class: three must be ruled out.
    assert rule_out_values(unprotected).rates.tolist() == [1, 1, 1, 1]
    assert rule_out_values(protected).rates.tolist() == [0, 0, 0, 1]
    assert (rule_out_values(unprotected).withstands, rule_out_values(protected).withstands) == (-1, 2)
    assert measure_skewness(unprotected).highest == pytest.approx(3)
    assert measure_skewness(protected).highest == pytest.approx(1)
    assert measure_skewness(protected).rate == 0


def test_only_the_values_that_matter_count() -> None:
    released = read([(1, 1, "flu"), (1, 1, "flu"), (2, 1, "flu"), (2, 1, "mono")])
    assert measure_skewness(released).gains.tolist() == pytest.approx([4 / 3, 4 / 3, 2, 2])
    assert measure_skewness(released, values=["flu"]).gains.tolist() == pytest.approx([4 / 3, 4 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize("attack", [find_homogeneity, rule_out_values, measure_skewness])
def test_sentences_and_charts_do_not_show_values(attack: Any) -> None:
    found = attack(read([(1, 1, "flu"), (1, 1, "flu"), (2, 1, "mono"), (2, 1, "covid")]))
    for text in (str(found), found.describe("es"), repr(found)):
        assert text
        assert not any(value in text for value in ("flu", "mono", "covid"))
    assert "'illness'" in str(found)
    assert "«illness»" in found.describe("es")
    for language in ("en", "es"):
        spec = found.draw(language=language).to_dict()
        assert "illness" in spec["title"]["text"]
        assert render(spec, ".svg").startswith(b"<svg")


def test_a_sensitive_column_must_be_named() -> None:
    several = read_microdata(
        pa.table({"a": [1], "b": ["x"], "c": ["y"]}), roles=Roles(quasi_identifiers=["a"], sensitive=["b", "c"])
    )
    for attack in (find_homogeneity, rule_out_values, measure_skewness):
        assert attack(several, "c").column == "c"
        for column in (None, "a", "zz"):
            with pytest.raises(CelosiaError) as caught:
                attack(several, column)
            assert caught.value.code == "audit.not_sensitive"
    with pytest.raises(CelosiaError, match="known"):
        rule_out_values(several, "c", known=-1)


def test_charts_of_many_classes_stay_small() -> None:
    lot = np.random.default_rng(6)
    rows = [
        (int(key), int(key) % 7, str(illness))
        for key, illness in zip(lot.integers(0, 900, 9000), lot.choice(list("abcdefghij"), 9000), strict=True)
    ]
    chart = measure_skewness(read(rows)).draw()
    assert len(chart.to_json()) < 200_000
