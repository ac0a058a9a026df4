"""Two files about the same persons against plain sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.audit.releases import intersect_releases
from celosia.core.errors import CelosiaError
from celosia.plots.save import render

ILLNESSES = ["flu", "mono", "covid", "gout", "cancer"]
persons = st.lists(st.tuples(st.integers(0, 59), st.sampled_from([*ILLNESSES, None])), min_size=1, max_size=20)


def release(people: list[tuple[int, Any]], width: int, nulls: Any = "category") -> Microdata:
    ages = [f"{age // width * width}-{age // width * width + width - 1}" for age, _ in people]
    table = pa.table({"age": ages, "illness": pa.array([illness for _, illness in people], pa.string())})
    return read_microdata(table, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"], nulls=nulls))


def register_of(people: list[tuple[int, Any]]) -> pa.Table:
    return pa.table({"name": [f"p{place}" for place in range(len(people))], "age": [age for age, _ in people]})


@given(persons, st.sampled_from(["category", "wildcard"]))
def test_what_is_left_is_the_intersection(people: list[tuple[int, Any]], nulls: Any) -> None:
    files = [release(people, width, nulls) for width in (10, 15)]
    found = intersect_releases(files[0], files[1], register_of(people), identity="name")
    everything = {illness for _, illness in people if illness is not None}
    for place, (age, illness) in enumerate(people):
        sets: list[set[Any]] = []
        for width in (10, 15):
            said = {one for other, one in people if other // width == age // width}
            sets.append(everything if nulls == "wildcard" and None in said else said)
        assert (found.first[place], found.second[place]) == (len(sets[0]), len(sets[1]))
        assert set(found.get_remaining(f"p{place}")) == sets[0] & sets[1]
        assert found.both[place] == len(sets[0] & sets[1])
        if illness is not None or nulls == "category":
            assert illness in found.get_remaining(f"p{place}")
        assert (f"p{place}" in found.disclosed) == (len(sets[0] & sets[1]) == 1)


def test_two_anonymous_files_disclose_together_what_neither_does() -> None:
    """Both files are 3-anonymous and 3-diverse; the two classes of some persons share a single value."""
    lot = np.random.default_rng(11)
    people = [(int(age), f"illness {place}") for place, age in enumerate(lot.permutation(60))]
    this_year, last_year = release(people, 3), release(people, 4)
    found = intersect_releases(this_year, last_year, register_of(people), identity="name")
    assert min(found.first) == 3
    assert min(found.second) == 4
    # Ages 3 and 8 of every twelve are alone in the intersection of their classes.
    assert found.by_composition == len(found.disclosed) == 10
    assert {people[int(name[1:])][0] % 12 for name in found.disclosed} == {3, 8}
    assert all(people[int(name[1:])][1] == found.get_remaining(name)[0] for name in found.disclosed)
    # Files that keep the same groups reveal no more together than alone.
    same = intersect_releases(this_year, this_year, register_of(people), identity="name")
    assert same.both.tolist() == same.first.tolist()
    assert same.by_composition == 0


def test_sentences_and_charts() -> None:
    people = [(age, ILLNESSES[age % 5]) for age in range(0, 60, 3)]
    found = intersect_releases(release(people, 10), release(people, 15), register_of(people), identity="name")
    for text in (str(found), found.describe("es"), repr(found)):
        assert not any(illness in text for illness in ILLNESSES)
    assert "last year's" in str(found)
    assert "el del año pasado" in found.describe("es")
    for language in ("en", "es"):
        assert render(found.draw(language=language).to_dict(), ".svg").startswith(b"<svg")


def test_files_without_the_column_are_refused() -> None:
    people = [(1, "flu"), (2, "mono")]
    table = pa.table({"age": ["0-9"], "job": ["x"]})
    other = read_microdata(table, roles=Roles(quasi_identifiers=["age"], sensitive=["job"]))
    with pytest.raises(CelosiaError) as caught:
        intersect_releases(release(people, 10), other, register_of(people), identity="name")
    assert caught.value.code == "audit.not_sensitive"
