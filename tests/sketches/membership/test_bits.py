"""The positions of a Bloom filter against a reference in Python's own integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.sketches.membership.bits import (
    add_to_counters,
    contains_all,
    count_bits,
    position,
    set_bits,
    smallest_counters,
    take_counters,
)

MASK = 2**64 - 1


def split_mix(seed: int, count: int) -> list[int]:
    """SplitMix64 as published, in integers of any size."""
    words = []
    for i in range(1, count + 1):
        z = (seed + i * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        words.append(z ^ (z >> 31))
    return words


def test_the_reference_gives_the_published_words() -> None:
    # Vigna's vectors for the seed 1234567.
    assert split_mix(1234567, 3) == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(st.integers(0, MASK), st.integers(1, 2**32), st.integers(1, 9))
def test_positions_are_those_of_the_reference(digest: int, bits: int, hashes: int) -> None:
    expected = [word * bits >> 64 for word in split_mix(digest, hashes)]
    states = [(digest + i * 0x9E3779B97F4A7C15) & MASK for i in range(1, hashes + 1)]
    assert [int(position(np.uint64(state), bits)) for state in states] == expected
    if bits < 2**16:
        words = np.zeros((bits + 63) // 64, dtype=np.uint64)
        set_bits(np.array([digest], dtype=np.uint64), words, bits, hashes)
        found = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        assert found.tolist() == sorted(set(expected))
        assert count_bits(words) == len(set(expected))
        out = np.zeros(1, dtype=np.bool_)
        contains_all(np.array([digest], dtype=np.uint64), words, bits, hashes, out)
        assert out[0]
        words[expected[-1] // 64] &= np.uint64(MASK ^ (1 << expected[-1] % 64))
        contains_all(np.array([digest], dtype=np.uint64), words, bits, hashes, out)
        assert not out[0]


@given(st.lists(st.integers(0, MASK), max_size=20))
def test_bits_are_counted(numbers: list[int]) -> None:
    assert count_bits(np.array(numbers, dtype=np.uint64)) == sum(number.bit_count() for number in numbers)


def test_positions_are_uniform() -> None:
    states = np.arange(1, 200_001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    places = np.array([position(state, 1000) for state in states])
    assert stats.chisquare(np.bincount(places, minlength=1000)).pvalue > 1e-4


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_counters_rise_fall_and_stay_when_full(kind: type[np.generic]) -> None:
    most = int(np.iinfo(kind).max)  # type: ignore[type-var]
    counters = np.zeros(64, dtype=kind)
    digests = np.array([11, 12], dtype=np.uint64)
    add_to_counters(digests, np.array([3, most - 1]), counters, 4, most)
    out = np.empty(2, dtype=np.int64)
    smallest_counters(digests, counters, 4, out)
    assert out[0] >= 3
    assert out[1] >= most - 1
    add_to_counters(digests[1:], np.array([2**62]), counters, 4, most)
    full = counters == most
    assert take_counters(digests, counters, 4, most) == 0
    assert np.all(counters[full] == most)
