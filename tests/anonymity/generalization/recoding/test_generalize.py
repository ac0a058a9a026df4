"""Global recoding by hierarchies."""

from __future__ import annotations

import pyarrow as pa
import pytest

from celosia.anonymity import Categories, Hierarchy, Intervals, Microdata, Prefixes, Roles, read_microdata
from celosia.anonymity.generalization import Generalize
from celosia.core.errors import CelosiaError, ParameterError, SchemaError


def read() -> Microdata:
    frame = pa.table({"zip": ["28013", "28045", None], "age": [17, 18, 99], "job": ["x", "y", "z"]})
    hierarchies: dict[str, Hierarchy] = {
        "zip": Prefixes(5, keep=[2]),
        "age": Intervals([0, 18, 99]),
        "job": Categories({"x": "g", "y": "g"}),
    }
    return read_microdata(frame, roles=Roles(quasi_identifiers=frame.column_names), hierarchies=hierarchies)


def test_values_become_their_labels_and_spreads_say_what_these_stand_for() -> None:
    data = read()
    done = Generalize(levels={"zip": 1, "age": 1}).apply(data)
    assert done.get_column("zip").to_pylist() == ["28***", "28***", None]
    assert done.get_column("age").to_pylist() == ["0-17", "18-99", "18-99"]
    assert done.spreads["zip"].tolist() == [0.01, 0.01, 0.0]
    assert done.spreads["age"].tolist() == [0.18, 0.82, 0.82]
    assert data.get_column("age").to_pylist() == [17, 18, 99]


def test_at_the_last_level_nulls_are_any_value_too() -> None:
    done = Generalize(levels={"zip": 2}).apply(read())
    assert done.get_column("zip").to_pylist() == ["*"] * 3
    assert done.spreads["zip"].tolist() == [1.0] * 3


def test_level_0_changes_nothing() -> None:
    data = read()
    assert Generalize(levels={"age": 0}).apply(data).table.equals(data.table)


@pytest.mark.parametrize(
    ("levels", "code", "kind"),
    [
        ({}, "anonymity_recoding.no_column_given", ParameterError),
        ({"age": -1}, "core.below_minimum", ParameterError),
        ({"age": 1.0}, "core.not_an_integer", ParameterError),
        ({"age": 9}, "anonymity.unknown_level", ParameterError),
        ({"none": 1}, "anonymity.unknown_column", ParameterError),
        ({"job": 1}, "anonymity.hierarchy_with_gap", SchemaError),
    ],
)
def test_bad_levels_are_refused(levels: dict[str, int], code: str, kind: type[CelosiaError]) -> None:
    with pytest.raises(kind) as caught:
        Generalize(levels=levels).apply(read())
    assert caught.value.code == code


def test_a_column_without_hierarchy_is_named() -> None:
    data = read_microdata(pa.table({"a": [1]}), roles=Roles(quasi_identifiers=["a"]))
    with pytest.raises(ParameterError, match="'a'") as caught:
        Generalize(levels={"a": 1}).apply(data)
    assert caught.value.code == "anonymity_recoding.no_hierarchy"
