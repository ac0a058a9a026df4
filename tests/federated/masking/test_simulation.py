"""Whole rounds: exact sums, every pattern of silence, and what travels."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import CelosiaError, EngineError, InputError, ParameterError
from celosia.federated import MaskingSettings, count_masking_bytes, sum_masked
from celosia.federated.contributions import add_contributions
from celosia.federated.masking.server import STEPS
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Iterable

LAST = len(STEPS)


def add_up(arrays: Iterable[np.ndarray[Any, Any]]) -> list[int]:
    return [int(number) for number in np.sum(list(arrays), axis=0)]


def contribute(parties: int, width: int = 2) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    return {str(number): np.arange(width) * 1000 - 7**number for number in range(parties)}


def check_pattern(pattern: tuple[int, ...], threshold: int) -> None:
    """``pattern`` has for each party the number of messages that it sends."""
    given_ = contribute(len(pattern))
    silent = {str(number): STEPS[sent] for number, sent in enumerate(pattern) if sent < LAST}
    enough = all(sum(sent > step for sent in pattern) >= threshold for step in range(LAST))
    if not enough:
        with pytest.raises(EngineError, match="given up"):
            sum_masked(given_, threshold=threshold, silent=silent)
        return
    found = sum_masked(given_, threshold=threshold, silent=silent)
    accepted = tuple(str(number) for number, sent in enumerate(pattern) if sent >= LAST - 1)
    assert found.accepted == accepted
    assert found.total.tolist() == add_up(given_[name] for name in accepted)
    assert found.rejected == {name: "silent" for name in given_ if name not in accepted}


@pytest.mark.parametrize(("parties", "threshold"), [(2, 2), (3, 2), (3, 3), (4, 3)])
def test_every_pattern_of_silence_recovers_or_gives_up(parties: int, threshold: int) -> None:
    for pattern in itertools.product(range(LAST + 1), repeat=parties):
        check_pattern(pattern, threshold)


@pytest.mark.parametrize("threshold", [3, 4])
def test_patterns_of_five_parties(threshold: int) -> None:
    for place, pattern in enumerate(itertools.combinations_with_replacement(range(LAST + 1), 5)):
        turned = place % 5  # which parties are silent changes, too
        check_pattern(pattern[turned:] + pattern[:turned], threshold)


@pytest.mark.thorough
@pytest.mark.parametrize("threshold", [3, 4, 5])
def test_every_pattern_of_five_parties(threshold: int) -> None:
    for pattern in itertools.product(range(LAST + 1), repeat=5):
        check_pattern(pattern, threshold)


@given(st.integers(2, 6), st.integers(1, 5), st.data())
def test_masked_sums_are_those_without_masks(parties: int, width: int, data: st.DataObject) -> None:
    largest = 2**62 // parties
    rows = st.lists(st.integers(-largest, largest), min_size=width, max_size=width)
    given_ = {str(number): np.array(data.draw(rows), dtype=np.int64) for number in range(parties)}
    masked = sum_masked(given_, threshold=parties)
    bare = add_contributions(given_, width=width, parties=parties)
    assert masked.total.tolist() == bare.total.tolist()
    assert (masked.accepted, masked.rejected) == (bare.accepted, bare.rejected)


@given(st.sampled_from([1, 100, 30_000]), st.integers(0, 2**32))
def test_a_narrow_modulus_is_enough(largest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given_ = {str(number): rng.choice([-largest, 0, largest], 4) for number in range(3)}
    found = sum_masked(given_, threshold=2, largest=largest)
    assert found.total.tolist() == add_up(given_.values())


def test_masks_along_edges_show_the_sums_of_groups() -> None:
    given_ = contribute(5)
    edges = [("0", "1"), ("1", "2"), ("3", "4")]
    found = sum_masked(given_, threshold=3, edges=edges)
    assert found.total.tolist() == add_up(given_.values())
    assert found.groups == (("0", "1", "2"), ("3", "4"))
    less = sum_masked(given_, threshold=3, edges=edges, silent={"2": "numbers"})
    assert (less.groups, less.total.tolist()) == (
        (("0", "1"), ("3", "4")),
        add_up(given_[name] for name in "0134"),
    )
    for alone in ({"4": "numbers"}, {"1": "numbers"}, {"3": "shares"}, {"1": "keys"}):
        with pytest.raises(EngineError, match="visible alone"):
            sum_masked(given_, threshold=3, edges=edges, silent=alone)
    assert sum_masked(given_, threshold=3, edges=edges, silent={"4": "reveal"}).accepted == tuple("01234")


def test_a_party_without_an_answer_is_silent() -> None:
    given_: dict[str, Any] = contribute(4) | {"2": None}
    found = sum_masked(given_, threshold=2 + 1)
    assert (found.accepted, dict(found.rejected)) == (("0", "1", "3"), {"2": "silent"})
    assert sum_masked(given_, threshold=3, silent={"2": "reveal"}).accepted == ("0", "1", "3")


def test_integers_of_any_width_are_added() -> None:
    given_: dict[str, Any] = {
        "0": np.array([-128, 127], dtype=np.int8),
        "1": np.array([2**60, 0], dtype=np.uint64),
        "2": np.array([1, -(2**31)], dtype=">i4"),
    }
    assert sum_masked(given_, threshold=3).total.tolist() == [2**60 - 127, 127 - 2**31]


def test_messages_repeat_with_a_seed_only() -> None:
    given_ = contribute(3)
    first, second = (sum_masked(given_, threshold=2, source=Seeded(7)) for _ in range(2))
    assert (first.bytes_sent, first.bytes_received) == (second.bytes_sent, second.bytes_received)


def test_bytes_are_counted() -> None:
    few, more = (sum_masked(contribute(3, width), threshold=2, largest=200_000) for width in (2, 102))
    # 2 * 3 * 200,000 needs 21 bits.
    assert {name: more.bytes_sent[name] - few.bytes_sent[name] for name in "012"} == dict.fromkeys("012", 300)
    assert more.bytes_received == few.bytes_received
    settings = MaskingSettings(
        federation="x", number=1, parties=("0", "1", "2"), width=102, threshold=2, largest=200_000
    )
    assert count_masking_bytes(settings) == (more.bytes_sent["1"], more.bytes_received["1"])
    quiet = sum_masked(contribute(3), threshold=2, silent={"1": "keys"})
    assert (quiet.bytes_sent["1"], quiet.bytes_received["1"]) == (0, 0)


def test_bad_contributions_are_refused() -> None:
    good: dict[str, Any] = contribute(3)
    bad: list[object] = [
        np.array([1.0, 2.0]), np.array([True, False]), [1, 2], "12", np.array([[1, 2]]), np.array([1]), np.array(1),
        np.array([1, 2**62]), np.array([-(2**62), 0]), np.array([2**63 - 1, -(2**63)]),
        np.array([2**64 - 1, 0], dtype=np.uint64), np.array([1, 2], dtype=object), np.empty(0, dtype=np.int64),
    ]  # fmt: skip
    for value in bad:
        with pytest.raises(InputError) as caught:
            sum_masked(good | {"1": value}, threshold=2)
        assert caught.value.code.startswith("federated.mask_numbers_")
    parameters: list[dict[str, Any]] = [
        {"silent": {"x": "keys"}}, {"silent": {"1": "never"}}, {"threshold": 1}, {"edges": [("0", "1")]},
    ]  # fmt: skip
    for changed in parameters:
        with pytest.raises(ParameterError):
            sum_masked(good, **{"threshold": 2} | changed)
    others: list[Any] = [None, [1, 2], {"0": good["0"]}, {}]
    for wrong in others:
        with pytest.raises(CelosiaError):
            sum_masked(wrong, threshold=2)
