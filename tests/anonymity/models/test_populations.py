"""Models that compare the file with the population: k-map and delta-presence."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity.microdata import Roles, read_microdata
from celosia.anonymity.models import DeltaPresence, KAnonymity, KMap, Model, check
from celosia.core.errors import CelosiaError
from tests.anonymity.models.bruteforce import match

keys = st.tuples(st.sampled_from(["M", "F", None]), st.sampled_from([1, 2, None]))


def tabulate(rows: list[Any]) -> pa.Table:
    return pa.table(
        {"sex": pa.array([r[0] for r in rows], pa.string()), "age": pa.array([r[1] for r in rows], pa.int64())}
    )


@given(st.lists(keys, min_size=1, max_size=12), st.lists(keys, max_size=12), st.sampled_from(["category", "wildcard"]))
def test_classes_are_counted_in_the_population(file: list[Any], rest: list[Any], meaning: Any) -> None:
    people = [*file, *rest]
    wildcard = meaning == "wildcard"
    data = read_microdata(tabulate(file), roles=Roles(quasi_identifiers=["sex", "age"], nulls=meaning))

    def count(key: Any, rows: list[Any]) -> int:
        return sum(match(key, other, wildcard=wildcard) for other in rows)

    population = tabulate(people)
    shares = [count(key, file) / count(key, people) for key in people]
    for k in (1, 2, 4):
        model = KMap(k, population=population)
        assert check(data, [model])[model] == (min(count(key, people) for key in file) >= k)
    for low, high in ((0.0, 0.5), (0.3, 0.8), (0.0, 1.0)):
        presence = DeltaPresence(low, high, population=population)
        assert check(data, [presence, KAnonymity(1)])[presence] == all(low <= share <= high for share in shares)


def test_a_population_may_be_counts() -> None:
    data = read_microdata(pa.table({"sex": ["M", "F"]}), roles=Roles(quasi_identifiers=["sex"]))
    population = pa.table({"sex": ["M", "F", "X"], "count": [10, 4, 7]})
    models: list[Model] = [
        KMap(4, population=population),
        KMap(5, population=population),
        DeltaPresence(0, 0.25, population),
    ]
    assert list(check(data, models).values()) == [True, False, True]
    assert list(check(data, [DeltaPresence(0.05, 0.5, population)]).values()) == [False]


def test_a_population_that_does_not_fit_is_an_error() -> None:
    data = read_microdata(pa.table({"sex": ["M", "M"]}), roles=Roles(quasi_identifiers=["sex"]))
    cases: list[tuple[Model, str]] = [
        (DeltaPresence(0, 1, pa.table({"sex": ["M", "F"]})), "anonymity_models.not_in_population"),
        (KMap(2, pa.table({"age": [1]})), "anonymity.unknown_column"),
        (KMap(2, pa.table({"sex": [["M"]]})), "anonymity_models.other_type"),
        (KMap(2, pa.table({"sex": ["M"], "count": [-1]})), "anonymity_models.count_not_positive"),
    ]
    for model, code in cases:
        with pytest.raises(CelosiaError) as caught:
            check(data, [model])
        assert caught.value.code == code
    with pytest.raises(CelosiaError) as caught:
        DeltaPresence(0, 1, None)
    assert caught.value.code == "anonymity_models.no_population"
