"""Settings decide the modulus, who is visible, and which messages belong together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.federated import MaskingSettings

NAMES = ("a", "b", "c", "d")


def make(**changed: Any) -> MaskingSettings:
    given: dict[str, Any] = {"federation": "test", "number": 1, "parties": NAMES, "width": 3, "threshold": 3}
    return MaskingSettings(**given | changed)


@given(st.integers(2, 50), st.integers(1, 2**50))
def test_every_sum_fits_the_modulus_and_half_would_not_do(parties: int, largest: int) -> None:
    settings = make(parties=tuple(map(str, range(parties))), threshold=parties, largest=largest)
    half = 1 << settings.bits - 1
    assert parties * largest <= half - 1
    assert 2 * parties * largest + 1 > half
    assert 8 * (settings.bytes_per_number - 1) < settings.bits <= 8 * settings.bytes_per_number


def test_the_default_modulus_holds_sums_of_62_bits() -> None:
    for parties in (2, 3, 100):
        settings = make(parties=tuple(map(str, range(parties))), threshold=parties)
        assert settings.bits <= 64
        assert settings.max_number == 2**62 // parties


def test_the_digest_depends_on_everything() -> None:
    others: list[dict[str, Any]] = [
        {"federation": "other"}, {"number": 2}, {"parties": ("a", "b", "d", "c")}, {"width": 4}, {"threshold": 4},
        {"edges": [("a", "b"), ("c", "d")]}, {"largest": 7},
    ]  # fmt: skip
    assert len({make(**other).digest for other in [{}, *others]}) == 8
    assert make(edges=[("b", "a"), ("c", "d")]).digest == make(edges=[["c", "d"], ("a", "b"), ("a", "b")]).digest


def test_groups_are_those_of_the_parties_given() -> None:
    path = make(edges=[("a", "b"), ("b", "c"), ("c", "d")])
    assert path.find_groups(NAMES) == (NAMES,)
    assert path.find_groups(["d", "a", "b"]) == (("a", "b"), ("d",))
    assert (path.is_visible_alone(["d", "a", "b"]), path.is_visible_alone(["d", "c", "a", "b"])) == (True, False)
    assert make().find_groups(["c", "a"]) == (("a", "c"),)
    assert make(edges=[("a", "b"), ("d", "c")]).find_groups(NAMES) == (("a", "b"), ("c", "d"))


def test_bad_settings_are_refused() -> None:
    bad: dict[str, list[Any]] = {
        "federation": ["", None, "\n", 3],
        "number": [-1, 1.0, "1"],
        "parties": [("a",), ("a", "a", "b"), "ab", None, ("a", 1), ("a", "")],
        "width": [0, 2.0, None],
        "threshold": [2, 5, 3.0, 0],
        "edges": ["ab", [("a",)], [("a", "a")], [("a", "e")], [("a", "b")], [(1, 2)], 7, [], [("a", "b", "c")]],
        "largest": [0, 2**61, 1.5],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(ParameterError):
                make(**{name: value})
    with pytest.raises(ParameterError, match="not a party"):
        make().get_index("e")
