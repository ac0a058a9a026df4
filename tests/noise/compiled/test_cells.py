"""The compiled loop fills every position with the draw that its own words make, in little memory."""

from __future__ import annotations

import dataclasses
import tracemalloc
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from celosia.noise import DiscreteGaussian, DiscreteLaplace, Geometric, Seeded, cells
from celosia.noise.cells import Cells, cells_for
from celosia.noise.compiled import cells as kernels
from tests.noise.scripted import ALL_ONES, Counting, Repeating, Scripted, SpentError, acceptance, compare, threshold

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Source

NARROW = [Fraction(3, 10), Fraction(1), Fraction(10), Fraction(10**6), Fraction(2**29)]
WIDE = [Fraction(2**40), Fraction(2**50)]
NEAR = (-2, -1, 0, 1, 2)


def laplace(scale: Fraction) -> Cells:
    return cells_for(1 / scale, Fraction(0), signed=True)


def gaussian(scale: Fraction) -> Cells:
    return cells_for(Fraction(0), 1 / (2 * scale**2), signed=True)


def geometric(scale: Fraction) -> Cells:
    return cells_for(1 / scale, Fraction(0), signed=False)


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every proposal to the compiled loop, however few they are."""
    monkeypatch.setattr(cells, "_NUMBA_THRESHOLD", 0)


EVERY_SHAPE = [laplace, gaussian, geometric]


def decide(tables: Cells, word: int, coin_word: int) -> int | None:
    """Decide a proposal in rational numbers; the words of these tests have no coin on the border."""
    cell = tables.slots[word & 4095]
    if cell == len(tables.starts) - 1:
        assert coin_word >> 44, "the seed was chosen so that the tail, a coin below 2^-20, is not reached"
        return None
    magnitude = tables.starts[cell] + ((word >> 13) & ((1 << tables.widths[cell]) - 1))
    verdict = compare(coin_word >> (64 - tables.coin_bits), tables.coin_bits, acceptance(tables, magnitude, cell))
    assert verdict is not None
    return (-magnitude if tables.signed and word & 4096 else magnitude) if verdict else None


def model(tables: Cells, count: int, chunk: int, source: Source) -> list[int]:
    """Fill as the documentation says, slowly: each position tries again until one of its proposals is accepted."""
    numbers: dict[int, int] = {}
    positions = list(range(count))
    while positions:
        again = []
        for first in range(0, len(positions), chunk):
            part = positions[first : first + chunk]
            words = source.words(len(part)).tolist()
            coins = words if tables.coin_bits < 52 else source.words(len(part)).tolist()
            for position, word, coin in zip(part, words, coins, strict=True):
                number = decide(tables, word, coin)
                if number is None:
                    again.append(position)
                else:
                    numbers[position] = number
        positions = again
    return [numbers[position] for position in range(count)]


def test_positions_are_filled_as_a_slow_model_fills_them(monkeypatch: pytest.MonkeyPatch, *, thorough: bool) -> None:
    every = list(product(EVERY_SHAPE, NARROW + WIDE, (1, 37, 1 << 16)))
    for shape, scale, chunk in every[:: 1 if thorough else 4]:
        monkeypatch.setattr(cells, "_CHUNK", chunk)
        tables = shape(scale)
        count = 150
        assert tables.sample(count, Seeded(4)).tolist() == model(tables, count, chunk, Seeded(4))


def test_bounds_of_whole_cells_are_bounds_of_each_number(*, thorough: bool) -> None:
    every = list(product(EVERY_SHAPE, NARROW + WIDE))
    for shape, scale in every[:: 1 if thorough else 3]:
        tables = shape(scale)
        arrays = kernels._tables(tables)
        one = 1 << tables.coin_bits
        for cell, start in enumerate(tables.starts[:-1]):
            first = acceptance(tables, start, cell)
            last = acceptance(tables, start + (1 << tables.widths[cell]) - 1, cell)
            assert int(arrays.sure[cell]) <= last[0] * one
            assert first[1] * one <= int(arrays.never[cell]) or int(arrays.never[cell]) == one
        assert arrays.sure[-1] == 0
        tail = acceptance(tables, tables.starts[-1], len(tables.starts) - 1, doublings=1)
        assert tail[1] * one <= int(arrays.never[-1])


@pytest.mark.parametrize("shape", EVERY_SHAPE)
@pytest.mark.parametrize("scale", [*NARROW, Fraction(7, 3), Fraction(2**20)])
@pytest.mark.sampled(3)
def test_the_kernel_decides_only_what_is_certain(shape: Callable[[Fraction], Cells], scale: Fraction) -> None:
    """Every cell, first and last number, coins at the border and at the edges of the slack: all in one call."""
    tables = shape(scale)
    shift = 64 - tables.coin_bits
    proposals: list[tuple[int, bool | None]] = []
    for cell, start in enumerate(tables.starts[:-1]):
        for offset in {0, (1 << tables.widths[cell]) - 1}:
            chance = acceptance(tables, start + offset, cell)
            border = threshold(chance, tables.coin_bits)
            near = {place + by for place in (border, border - (border >> 36), border + (border >> 36)) for by in NEAR}
            for coin in sorted(coin for coin in near if 0 <= coin < 1 << tables.coin_bits):
                word = tables.slots.index(cell) | offset << 13 | coin << shift
                proposals.append((word, compare(coin, tables.coin_bits, chance)))
    words = np.array([word for word, _ in proposals], dtype=np.uint64)
    out = np.full(words.size, -1)
    empty, rejected, undecided = np.empty(0, dtype=np.int64), np.empty_like(out), np.empty_like(out)
    ends = kernels._propose(words, words, kernels._tables(tables), out, empty, 0, rejected, undecided)
    given_back = set(undecided[: ends[1]].tolist())
    verdicts = {
        **dict.fromkeys(np.flatnonzero(out >= 0).tolist(), True),
        **dict.fromkeys(rejected[: ends[0]].tolist(), False),
    }
    assert len(verdicts) + len(given_back) == words.size
    assert all(verdicts.get(i, verdict) is verdict for i, (_, verdict) in enumerate(proposals))
    assert {True, False} <= set(verdicts.values())
    assert {i for i, (_, verdict) in enumerate(proposals) if verdict is None} <= given_back


def undecided(tables: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the kernel hand back every proposal, but for the tail."""
    arrays = kernels._tables(tables)
    blind = arrays._replace(
        sure=np.zeros_like(arrays.sure),
        never=np.append(np.full(arrays.never.size - 1, ALL_ONES, dtype=np.uint64), arrays.never[-1:]),
        log_factors=np.full_like(arrays.log_factors, np.nan),
    )
    monkeypatch.setattr(kernels, "_tables", lambda _: blind)


@pytest.mark.parametrize("shape", EVERY_SHAPE)
@pytest.mark.parametrize("scale", NARROW + WIDE)
@pytest.mark.parametrize("chunk", [7, 1 << 16])  # with the small one, what is tried again fills several chunks
@pytest.mark.sampled(4)
def test_without_floating_point_the_samples_are_the_same(
    shape: Callable[[Fraction], Cells], scale: Fraction, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "_CHUNK", chunk)
    tables = shape(scale)
    expected = tables.sample(1000, Seeded(6))
    settled = []
    undecided(tables, monkeypatch)
    settle = Cells.settle

    def count(self: Cells, word: int, offset: int, coin: int, source: Source) -> int | None:
        settled.append(word)
        return settle(self, word, offset, coin, source)

    monkeypatch.setattr(Cells, "settle", count)
    assert tables.sample(1000, Seeded(6)).tolist() == expected.tolist()
    assert len(settled) >= 999


@pytest.mark.parametrize("chunk", [3, 1 << 16])
def test_what_is_settled_late_keeps_its_place(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_CHUNK", chunk)
    tables = laplace(Fraction(10))
    tail = tables.starts[-1]
    accepted = tables.slots.index(3)  # the number three, with a coin of zero
    # Positions 0 and 2 are in the tail with a coin of zero, position 1 is accepted at once. The tail asks for its
    # doublings, its offset, and more of its coin.
    assert acceptance(tables, tail + 5, len(tables.starts) - 1, 1)[1] * 2**tables.coin_bits < 1
    script = [4095, accepted, 4095, 0, 5, 0, 1, 1, 0, 6, 0]
    assert tables.sample(3, Scripted(script)).tolist() == [tail + 5, 3, tail + (2 << tables.widths[-1]) + 6]
    # The first is rejected by the rest of its coin and tries again, the last is in the negative tail.
    script = [4095, accepted, 4095 | 4096, 0, 5, ALL_ONES, 0, 7, 0, accepted]
    assert tables.sample(3, Scripted(script)).tolist() == [3, 3, -tail - 7]


def test_draws_beyond_sixty_four_bits_are_held_back() -> None:
    tables = laplace(Fraction(2**50))
    far = dataclasses.replace(tables, linear=Fraction(1, 2**70))  # so that a very far draw is accepted
    script = [4095 | 4096, 0, *[1] * 20_000, 0, 0]
    assert tables.offset_bits <= 50
    assert far.sample(1, Scripted(script)).tolist() == [-(2**63) + 2]


def test_a_draw_takes_less_than_one_and_a_tenth_words() -> None:
    scale_cases: list[Fraction] = [Fraction(1, 1000), *NARROW, Fraction(7, 3), Fraction(100), Fraction(2**20)]
    for shape, scale in product(EVERY_SHAPE, scale_cases):
        source = Counting(2)
        shape(scale).sample(100_000, source)
        assert source.total < 110_000
        source = Counting(2)
        shape(Fraction(2**45)).sample(100_000, source)
        assert source.total < 220_000  # wide cells take a second word for the coin


def test_memory_is_that_of_the_output() -> None:
    cases: list[DiscreteLaplace | DiscreteGaussian | Geometric] = [
        DiscreteLaplace(10),
        DiscreteGaussian(10**10),
        Geometric(2**45),
    ]
    for noise in cases:
        count = 2_000_000
        source = Counting(3)
        noise.sample(10, source)  # compiles
        tracemalloc.start()
        try:
            out = noise.sample(count, source)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert source.largest <= 1 << 16
        # The positions that try again, a few in a hundred, and the words of a chunk or two come on top.
        assert out.nbytes <= peak <= 1.25 * out.nbytes + 4 * 2**20


def test_an_empty_sample_asks_for_nothing() -> None:
    assert laplace(Fraction(1)).sample(0, Scripted([])).shape == (0,)


def test_zeros_are_accepted_and_ones_are_asked_again() -> None:
    assert laplace(Fraction(10)).sample(100, Repeating(0, 100)).tolist() == [0] * 100
    with pytest.raises(SpentError):
        laplace(Fraction(10)).sample(100, Repeating(ALL_ONES, 100_000))


# ----------------------------------------------------------------------------------------- the tail, made likely enough


def early_tail(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> Cells:
    """Tables whose cells end at a weight of exp(-9): exact like the others, but a thousand times in 1e7 in the tail."""
    monkeypatch.setattr(cells, "_MAX_EXPONENT", 9.0)
    tables: Cells = cells_for.__wrapped__(1 / scale, Fraction(0), signed=True)
    assert acceptance(tables, tables.starts[-1], len(tables.starts) - 1, 1)[1] <= Fraction(tables.tail_chance) <= 1
    return tables


def middle(drawn: np.ndarray[tuple[int, ...], np.dtype[np.int64]], start: int) -> float:
    """Return by how many standard deviations the mean position of far draws is off the middle."""
    where = np.flatnonzero(np.abs(drawn) >= start) / drawn.size
    return float(abs(where.mean() - 0.5) * np.sqrt(12 * where.size))


def test_far_draws_are_anywhere_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = early_tail(Fraction(10), monkeypatch)
    start = tables.starts[-1]
    drawn = tables.sample(1_000_000, Seeded(9))
    far = np.abs(drawn) >= start
    expected = 1_000_000 * 2 * np.exp(-start / 10) / (1 + np.exp(-1 / 10))
    assert abs(far.sum() - expected) < 5 * np.sqrt(expected)
    assert far.sum() > 100
    assert middle(drawn, start) < 5
    # The mutant: what the kernel handed back is put at the end.
    assert middle(np.concatenate([drawn[~far], drawn[far]]), start) > 10
    # Nor are chunks, or what was tried again, told apart by their place.
    quarters = np.abs(drawn.reshape(4, -1)).mean(axis=1)
    assert np.ptp(quarters) < 5 * 10 * np.sqrt(2 / 250_000)


def test_few_draws_are_those_of_the_compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = [shape(scale) for shape, scale in product(EVERY_SHAPE, NARROW + WIDE)]

    def drawn(law: Cells) -> list[list[int]]:
        return [law.sample(count, Seeded(seed)).tolist() for count in (1, 5, 256) for seed in range(5)]

    compiled = [drawn(law) for law in laws]
    monkeypatch.setattr(cells, "_NUMBA_THRESHOLD", 256)
    monkeypatch.setattr(kernels, "_compile", None)  # would fail if it were called
    for law, wanted in zip(laws, compiled, strict=True):
        assert drawn(law) == wanted


def test_what_the_loop_cannot_decide_is_settled_alike_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    law = dataclasses.replace(laplace(Fraction(10)), coin_bits=21)  # equal to no law whose tables are kept
    settled: list[int | None] = []
    settle = Cells.settle

    def watch(self: Cells, word: int, offset: int, coin: int, source: Source) -> int | None:
        settled.append(settle(self, word, offset, coin, source))
        return settled[-1]

    monkeypatch.setattr(Cells, "settle", watch)
    monkeypatch.setattr(kernels, "_SLACK", 0.5)  # so wide that many are undecided
    monkeypatch.setattr(cells, "_BELOW", 0.5)
    monkeypatch.setattr(cells, "_ABOVE", 1.5)
    monkeypatch.setattr(kernels, "_compile", lambda: kernels._propose)  # the loop, with this slack
    numbers = law.sample(200, Seeded(3)).tolist()
    asked = len(settled)
    monkeypatch.setattr(cells, "_NUMBA_THRESHOLD", 256)
    assert law.sample(200, Seeded(3)).tolist() == numbers
    assert len(settled) == 2 * asked > 50
