"""All masks of a small modulus are enumerated: what is seen depends on the visible sums alone."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.federated.masking.masks import add_masks, add_streams, reduce_bits, to_signed
from celosia.noise.keyed import Keyed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from celosia.federated.masking.masks import Words

COMPLETE = {parties: list(itertools.combinations(range(parties), 2)) for parties in (3, 4)}
PATH = [(0, 1), (1, 2), (2, 3)]


class EnumeratedRound:
    """A round in which every mask takes all its values: a mask is an array over all combinations."""

    def __init__(self, parties: int, edges: list[tuple[int, int]], bits: int) -> None:
        self.parties, self.edges, self.bits = parties, edges, bits
        masks = np.indices((1 << bits,) * (parties + len(edges))).reshape(parties + len(edges), -1).astype(np.uint64)
        self.own = list(masks[:parties])
        self.shared = dict(zip(edges, masks[parties:], strict=True))

    def send(self, party: int, value: int) -> Words:
        nothing = np.zeros_like(self.own[0])
        above = sum((mask for (low, _), mask in self.shared.items() if low == party), nothing)
        below = sum((mask for (_, high), mask in self.shared.items() if high == party), nothing)
        values = np.full(len(nothing), value)
        return add_masks(values, own=self.own[party], added=above, subtracted=below, bits=self.bits)

    def see(self, values: Iterable[int], colluders: set[int], silent: set[int]) -> bytes:
        """The joint distribution of all messages, late ones too, and all masks that the server or colluders know."""
        seen = [self.send(party, value) for party, value in enumerate(values)]
        seen += [mask for party, mask in enumerate(self.own) if party in colluders or party not in silent]
        seen += [mask for edge, mask in self.shared.items() if set(edge) & (colluders | silent)]
        found, counts = np.unique(np.stack(seen), axis=1, return_counts=True)
        return found.tobytes() + counts.tobytes()

    def find_groups(self, kept: set[int]) -> list[set[int]]:
        groups = [{party} for party in kept]
        for edge in self.edges:
            touched = [group for group in groups if group & set(edge)]
            if set(edge) <= kept and len(touched) == 2:
                groups = [group for group in groups if group not in touched] + [touched[0] | touched[1]]
        return groups


@pytest.mark.parametrize(
    ("edges", "bits"),
    [(COMPLETE[3], 1), (COMPLETE[3], 2), (COMPLETE[4], 1), (PATH, 1), ([(0, 1), (2, 3)], 1), ([(0, 1), (1, 2)], 2)],
)
def test_what_is_seen_depends_on_visible_sums_alone(edges: list[tuple[int, int]], bits: int) -> None:
    parties = max(map(max, edges)) + 1
    enumerated, modulus = EnumeratedRound(parties, edges, bits), 1 << bits
    subsets = [set(), *({party} for party in range(parties))]
    for colluders, silent in itertools.product(subsets, subsets):
        if colluders & silent:
            continue
        honest = set(range(parties)) - colluders - silent
        groups = enumerated.find_groups(honest)
        views: dict[tuple[int, ...], set[bytes]] = defaultdict(set)
        for values in itertools.product(range(modulus), repeat=parties):
            if any(values[party] for party in colluders):
                continue  # they know their own
            sums = tuple(sum(values[party] for party in group) % modulus for group in groups)
            views[sums].add(enumerated.see(values, colluders, silent))
        assert all(len(found) == 1 for found in views.values())
        assert len({next(iter(found)) for found in views.values()}) == modulus ** len(groups)


def test_one_message_is_uniform() -> None:
    enumerated = EnumeratedRound(3, COMPLETE[3], 2)
    for value in range(4):
        assert np.bincount(enumerated.send(1, value).astype(int)).tolist() == [4**6 // 4] * 4


@given(st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=4), st.integers(22, 64), st.data())
def test_masks_come_off_and_signs_return(values: list[int], bits: int, data: st.DataObject) -> None:
    masks = [
        np.array(data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=len(values), max_size=len(values))), np.uint64)
        for _ in range(3)
    ]
    masked = add_masks(np.array(values), own=masks[0], added=masks[1], subtracted=masks[2], bits=bits)
    assert int(masked.max()) < 2**bits
    bare = reduce_bits(masked - masks[0] - masks[1] + masks[2], bits)
    assert to_signed(bare, bits).tolist() == values


def test_the_ends_of_the_range_keep_their_signs() -> None:
    for bits in (1, 2, 13, 63, 64):
        for value in (0, (1 << bits - 1) - 1, -(1 << bits - 1)):
            word = np.array([value % 2**bits], dtype=np.uint64)
            assert to_signed(word, bits).tolist() == [value]


def test_streams_are_those_of_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [bytes([number]) * 32 for number in range(5)]
    expected = np.sum([Keyed(key).words(7) for key in keys], axis=0, dtype=np.uint64)
    assert np.array_equal(add_streams(keys, 7), expected)
    monkeypatch.setattr("celosia.federated.masking.masks._MAX_WORDS", 14)  # two at a time
    assert np.array_equal(add_streams(keys, 7), expected)
    assert add_streams([], 3).tolist() == [0, 0, 0]
