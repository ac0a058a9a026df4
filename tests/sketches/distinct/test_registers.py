"""Registers against a reference, and an estimate without bias over the whole range."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.sketches.distinct import registers as module
from celosia.sketches.distinct.registers import (
    estimate_from,
    pack_registers,
    raise_registers,
    remaining_chance,
    unpack_registers,
)
from tests.sketches.streams_of_values import believable

words = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 62).map(lambda shift: (2**64 - 1) >> shift))


def reference(digests: list[int], precision: int) -> tuple[list[int], float, float]:
    """Registers, sum of inverse chances and last chance, as defined, with binary texts and exact chances."""
    held, total = [0] * 2**precision, 0.0
    last = 65 - precision

    def chance() -> float:
        return math.fsum(2.0**-rank for rank in held if rank < last) / len(held)

    for digest in digests:
        text = f"{digest:064b}"
        place, rest = int(text[:precision], 2), text[precision:]
        rank = (rest + "1").index("1") + 1
        if rank > held[place]:
            total += 1 / chance()
            held[place] = rank
    return held, total, chance()


@given(st.lists(words, max_size=60), st.integers(4, 10))
def test_registers_and_history_are_those_of_the_reference(digests: list[int], precision: int) -> None:
    held, history = np.zeros(1 << precision, dtype=np.uint8), np.array([0.0, 1.0])
    raise_registers(np.array(digests, dtype=np.uint64), held, precision, history)
    expected, total, chance = reference(digests, precision)
    assert held.tolist() == expected
    assert history[0] == pytest.approx(total, rel=1e-12)
    assert history[1] == pytest.approx(chance, rel=1e-12)
    assert remaining_chance(held, precision) == pytest.approx(chance, rel=1e-12)
    unpacked = unpack_registers(pack_registers(held), held.size)
    assert unpacked is not None
    assert unpacked.tolist() == expected
    assert len(pack_registers(held)) == 1 + held.size // 2 + sum(rank >= min(expected) + 15 for rank in expected)


@given(st.binary(min_size=7, max_size=14))
def test_bytes_have_one_reading(payload: bytes) -> None:
    registers = unpack_registers(payload, 16)
    assert registers is None or pack_registers(registers) == payload


def test_bytes_that_no_registers_lead_to() -> None:
    written = pack_registers(np.array([3, 20, 3, 5], dtype=np.uint8))
    assert written == bytes([3, 0xF0, 0x20, 20])
    for payload in (b"", written[:-1], written + b"\x14", bytes([2, 0xF1, 0x31, 20]), bytes([3, 0xF0, 0x20, 17])):
        assert unpack_registers(payload, 4) is None


def simulated(
    precision: int, values: int, trials: int, seed: int
) -> "list[np.ndarray[tuple[int], np.dtype[np.uint8]]]":
    rng, made = np.random.default_rng(seed), []
    for _ in range(trials):
        held = np.zeros(1 << precision, dtype=np.uint8)
        digests = rng.integers(0, 2**64, values, dtype=np.uint64)
        raise_registers(digests, held, precision, np.array([0.0, 1.0]))
        made.append(held)
    return made


@pytest.mark.parametrize("share", [0.1, 0.5, 1, 2.5, 5, 30])
def test_the_estimate_is_right_at_every_load(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    size, trials = 256, 1_500
    values = round(share * size)
    tables = simulated(8, values, trials, seed=values)
    deviation = 1.04 / math.sqrt(size)
    errors = np.array([estimate_from(held, 8) for held in tables]) / values - 1
    assert believable(errors, deviation, bias=0.002)
    # Able to fail: a constant that is off by a tenth.
    monkeypatch.setattr(module, "_LIMIT_CONSTANT", module._LIMIT_CONSTANT * 1.1)
    wrong = np.array([estimate_from(held, 8) for held in tables]) / values - 1
    assert not believable(wrong, deviation, bias=0.002)


def test_it_agrees_with_the_formula_of_2007_in_the_middle_of_the_range() -> None:
    (held,) = simulated(12, 100_000, 1, seed=1)
    alpha = 0.7213 / (1 + 1.079 / 4096)
    raw = alpha * 4096**2 / np.sum(2.0 ** -held.astype(np.float64))
    assert estimate_from(held, 12) == pytest.approx(raw, rel=2e-3)


def test_numbers_near_the_end_of_the_digests() -> None:
    # As many values as digests have room for: registers of a Poisson model, drawn from their distribution.
    rng = np.random.default_rng(3)
    values = 2.0**64
    uniforms = rng.random((200, 256))
    ranks = np.arange(58)
    below = np.exp(-values / 256 * 2.0**-ranks)  # of rank at most r
    below[57] = 1.0
    errors = [estimate_from(np.searchsorted(below, row).astype(np.uint8), 8) / values - 1 for row in uniforms]
    assert believable(np.array(errors), 1.04 / 16, bias=0.01)
    assert estimate_from(np.full(256, 57, dtype=np.uint8), 8) == math.inf
