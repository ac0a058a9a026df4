"""A set of digests against Python's own sets, also when somebody chose the digests to be alike."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celosia.sketches.hashing.digest_set import DigestSet

words = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 20))


@given(st.lists(st.lists(words, max_size=30), max_size=5), st.integers(1, 40), words)
def test_it_holds_what_a_set_holds(batches: list[list[int]], room: int, most: int) -> None:
    held, reference = DigestSet(room), set[int]()
    for batch in batches:
        done = held.add(np.array(batch, dtype=np.uint64), most)
        looked_at = 0
        for digest in batch:
            if digest <= most and digest not in reference and len(reference) == room:
                break
            looked_at += 1
            if digest <= most:
                reference.add(digest)
        assert done == looked_at
        assert held.members().tolist() == sorted(reference)
        assert len(held) == len(reference)


def test_digests_that_are_alike_are_not_slow() -> None:
    for shift in (0, 32, 50):
        alike = np.arange(10_000, dtype=np.uint64) << np.uint64(shift)
        held = DigestSet(20_000)
        assert held.add(alike, 2**64 - 1) == 10_000
        assert np.array_equal(held.members(), alike)
        assert held._salt <= 1
        again = DigestSet(20_000, alike)
        assert again.add(alike[::-1].copy(), 2**64 - 1) == 10_000
        assert len(again) == 10_000


def test_no_room_is_left_at_the_room() -> None:
    held = DigestSet(1)
    assert held.add(np.array([0, 0, 1], dtype=np.uint64), 2**64 - 1) == 2
    assert held.memory > 0
