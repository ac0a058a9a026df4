"""The cells are exact: shown in rational arithmetic for the tables, and coin by coin for the floating-point path."""

from __future__ import annotations

import dataclasses
import math
import os
import threading
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.core.enclosure import log, log_at_least
from celosia.noise import Seeded, System, cells
from celosia.noise.cells import Cells, cells_for
from tests.noise.scripted import (
    ALL_ONES,
    Counting,
    Repeating,
    Scripted,
    SpentError,
    acceptance,
    compare,
    enclose,
    threshold,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from celosia.noise.decide import Enclosure

SCALES = [
    Fraction(1, 1000),
    Fraction(3, 10),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(10**6),
    Fraction(2**29),
    Fraction(2**40),
    Fraction(2**100),
    Fraction(2**498),
]
SHAPES: dict[str, Callable[[Fraction], Cells]] = {
    "laplace": lambda scale: cells_for(1 / scale, Fraction(0), signed=True),
    "gaussian": lambda scale: cells_for(Fraction(0), 1 / (2 * scale**2), signed=True),
    "geometric": lambda scale: cells_for(1 / scale, Fraction(0), signed=False),
    # No sampler has both terms yet; the tables support them.
    "mixed": lambda scale: cells_for(1 / scale, 1 / scale**2, signed=True),
}
EVERY_TABLE = [(shape, scale) for shape in SHAPES for scale in SCALES]
_tables = st.builds(lambda shape, scale: SHAPES[shape](scale), st.sampled_from(list(SHAPES)), st.sampled_from(SCALES))


def every_table(step: int = 1) -> Iterator[Cells]:
    """Make the tables of all shapes and scales, or of every ``step``-th."""
    return (SHAPES[shape](scale) for shape, scale in EVERY_TABLE[::step])


def check_tiling(tables: Cells) -> None:
    """Every slot has a cell, every cell its share, and every number one cell."""
    tail = len(tables.starts) - 1
    assert len(tables.slots) == 4096 == sum(tables.shares)
    assert Counter(tables.slots) == dict(enumerate(tables.shares))
    assert tables.shares[tail] == 1
    assert tables.starts[0] == 0
    for cell in range(tail):
        assert tables.starts[cell] + (1 << tables.widths[cell]) == tables.starts[cell + 1]
    if tables.signed:
        assert tables.widths[0] == 0, "zero, which has two signs, must be alone"
    # The bits of offset and coin do not overlap, or the coin is a word of its own.
    assert tables.offset_bits == max(tables.widths[:-1])
    assert tables.coin_bits == 52 or 13 + tables.offset_bits + tables.coin_bits <= 64
    assert tables.coin_bits >= 20


def check_acceptances(tables: Cells) -> None:
    """No probability of acceptance exceeds one, in the tail too; the stated bound for the tail holds."""
    assert tables.linear >= 0
    assert tables.quadratic >= 0  # so that the first number of a cell is its likeliest, and the tail falls ever faster
    tail = len(tables.starts) - 1
    for cell, start in enumerate(tables.starts[:-1]):
        assert acceptance(tables, start, cell)[1] <= 1
    start, width = tables.starts[tail], 1 << tables.widths[tail]
    assert acceptance(tables, start, tail, doublings=1)[1] <= Fraction(tables.tail_chance) <= 1

    def f(number: int) -> Fraction:
        return tables.linear * number + tables.quadratic * number**2

    # From one cell of the tail to the next the proposal halves, and the weight at least halves.
    assert f(start + width) - f(start) >= log_at_least(Fraction(2))
    for doublings in (2, 3, 17, 60):
        assert acceptance(tables, start + (doublings - 1) * width, tail, doublings)[1] <= Fraction(tables.tail_chance)


def check(tables: Cells) -> None:
    check_tiling(tables)
    check_acceptances(tables)


def test_the_cells_tile_the_numbers() -> None:
    for tables in every_table():
        check_tiling(tables)


def test_no_acceptance_probability_exceeds_one(*, thorough: bool) -> None:
    for tables in every_table(1 if thorough else 3):
        check_acceptances(tables)


@dataclasses.dataclass
class Settled:
    """Proposals that were settled in integers, all of them accepted, and what they were compared with."""

    tables: Cells
    compared: list[tuple[Fraction, Fraction]] = dataclasses.field(default_factory=list)
    multiples: set[Fraction] = dataclasses.field(default_factory=set)
    reached: Counter[int] = dataclasses.field(default_factory=Counter)

    def record(self, exponent: Fraction, factor: Fraction) -> Enclosure:
        self.compared.append((exponent, factor))
        return lambda bits: (1 << bits, 1 << bits)

    def propose(self, cell: int, offset: int, sign: int, doublings: int = 0) -> None:
        tables, script = self.tables, []
        if doublings:
            pieces = -(-tables.widths[cell] // 64)
            script = [1] * (doublings - 1) + [0]
            script += [offset >> 64 * piece & ALL_ONES for piece in reversed(range(pieces))]
        number = tables.settle(tables.slots.index(cell) | sign << 12, offset, 0, Scripted(script))
        assert number is not None
        assert number == (-abs(number) if tables.signed and sign else abs(number))
        exponent, factor = self.compared.pop()
        assert exponent == tables.linear * abs(number) + tables.quadratic * number**2
        proposed = Fraction(tables.slots.count(cell), 4096) / 2 ** (tables.widths[cell] + doublings)
        if tables.signed and number:  # zero comes with both signs, other numbers with their own
            proposed /= 2
        self.multiples.add(proposed * factor)
        self.reached[abs(number)] += 1


def test_proposal_times_acceptance_is_the_same_multiple_of_every_weight(
    monkeypatch: pytest.MonkeyPatch, *, thorough: bool
) -> None:
    for tables in every_table(1 if thorough else 7):
        settled = Settled(tables)
        monkeypatch.setattr(cells, "exp_enclosure", settled.record)
        tail = len(tables.starts) - 1
        for cell in range(tail):
            width = 1 << tables.widths[cell]
            for offset, sign in product({0, width // 3, width - 1}, (0, 1)):
                settled.propose(cell, offset, sign)
        for doublings, offset in product((1, 2, 5, 40), {0, (1 << tables.widths[tail]) - 1}):
            settled.propose(tail, offset, 1, doublings)
        assert settled.multiples == {tables.rate / 4096 / (2 if tables.signed else 1)}
        # Cells of the tail follow each other as the others do.
        for number in (tables.starts[tail], tables.starts[tail] + (5 << tables.widths[tail]) - 1):
            assert settled.reached[number] == 1


def test_the_logarithms_are_right_to_far_within_the_slack() -> None:
    for tables in every_table():
        for cell, stated in enumerate(tables.log_factors[:-1]):
            factor = tables.rate * 2 ** tables.widths[cell] / tables.shares[cell]
            if tables.signed and cell == 0:
                factor /= 2
            low, high = log(factor, 100)
            assert low - 2**58 <= Fraction(stated) * 2**100 <= high + 2**58  # 2^-42: a sixty-fourth of the slack
        assert math.isnan(tables.log_factors[-1])


def test_wrong_tables_are_found() -> None:
    cases: list[Callable[[Cells], dict[str, object]]] = [
        lambda good: {"starts": (*good.starts[:5], good.starts[5] + 1, *good.starts[6:])},
        lambda good: {"widths": (*good.widths[:5], good.widths[5] + 1, *good.widths[6:])},
        lambda good: {"slots": (good.slots[-1], *good.slots[1:])},
        lambda good: {"slots": good.slots[1:]},
        lambda good: {"coin_bits": good.coin_bits + 1},
        lambda good: {"rate": good.rate * Fraction(65, 64)},
        lambda good: {"tail_chance": good.tail_chance * 0.99},
        lambda good: {"widths": (*good.widths[:-1], good.widths[-1] - 1)},
    ]
    for change in cases:
        good = SHAPES["laplace"](Fraction(1000))
        check(good)
        wrong = dataclasses.replace(good, **change(good))  # type: ignore[arg-type]
        with pytest.raises(AssertionError):
            check(wrong)


# --------------------------------------------------------------------------------------- floating point decides nothing


def script_of(tables: Cells, slot: int, sign: int, offset: int, coin: int) -> list[int]:
    """Return the words of one proposal; unused bits of a word are ones."""
    word = slot | sign << 12
    if tables.coin_bits < 52:
        free = 64 - 13 - tables.coin_bits
        return [word | (offset & ((1 << free) - 1)) << 13 | coin << (64 - tables.coin_bits)]
    more = max(0, -(-(tables.offset_bits - 51) // 64))
    script = [word | (offset >> 64 * more & (1 << 51) - 1) << 13, coin << 12 | 0xFFF]
    return script + [offset >> 64 * piece & ALL_ONES for piece in reversed(range(more))]


@st.composite
def proposals(draw: st.DrawFn) -> tuple[Cells, int, int, int, int]:
    """Draw tables and a proposal: slot, sign, offset, and a coin, which is often where a mistake would be made."""
    tables = draw(_tables)
    # Not the tail, nor only the cells with many slots.
    slot = tables.slots.index(draw(st.integers(0, len(tables.starts) - 2)))
    cell = tables.slots[slot]
    width = tables.widths[cell]
    offset = draw(st.one_of(st.integers(0, (1 << width) - 1), st.sampled_from([0, (1 << width) - 1])))
    border = threshold(acceptance(tables, tables.starts[cell] + offset, cell), tables.coin_bits)
    slack = border >> 36
    near = st.builds(
        lambda where, by: where + by, st.sampled_from([border, border - slack, border + slack]), st.integers(-3, 3)
    )
    coin = draw(st.one_of(st.integers(0, (1 << tables.coin_bits) - 1), near))
    high = draw(st.integers(0, 7)) << width  # bits of the offset beyond the cell's width
    coin = min(max(coin, 0), (1 << tables.coin_bits) - 1)
    return tables, slot, draw(st.integers(0, 1)), (high | offset) & ((1 << tables.offset_bits) - 1), coin


def answers(tables: Cells, script: list[int]) -> list[int | None]:
    """Return what the scalar and the vector path make of a script: the number, None if it was rejected.

    A further proposal that is surely accepted is appended; it is reached only if the first is rejected.
    """
    largest = tables.shares.index(max(tables.shares))
    second = script_of(tables, tables.slots.index(largest), 0, 0, 0)
    found: list[int | None] = []
    for path in ("draw", "sample")[: 1 if tables.offset_bits > 50 else 2]:
        source = Scripted(script + second)
        number = tables.draw(source) if path == "draw" else int(tables.sample(1, source)[0])
        assert len(source.left) in (0, len(second))
        assert source.left or number == tables.starts[largest]
        found.append(number if source.left else None)
    return found


@settings(max_examples=400)
@given(proposals())
@example((SHAPES["laplace"](Fraction(10)), 0, 0, 0, 0))
@example((SHAPES["laplace"](Fraction(10)), 0, 1, 0, 2**45 - 1))
def test_every_path_decides_what_rational_numbers_decide(proposal: tuple[Cells, int, int, int, int]) -> None:
    tables, slot, sign, offset, coin = proposal
    cell = tables.slots[slot]
    magnitude = tables.starts[cell] + (offset & ((1 << tables.widths[cell]) - 1))
    chance = acceptance(tables, magnitude, cell)
    number = -magnitude if tables.signed and sign else magnitude
    script = script_of(tables, slot, sign, offset, coin)
    verdict = compare(coin, tables.coin_bits, chance)
    if verdict is not None:
        expected = number if verdict else None
        assert set(answers(tables, script)) == {expected}
        assert tables.settle(slot | sign << 12, offset, coin, Scripted([])) == expected
        return
    # The coin lies on the border: 64 more bits are asked for, and compared exactly.
    beyond = threshold(chance, tables.coin_bits + 64) - (coin << 64)
    if beyond > 0:
        assert set(answers(tables, [*script, beyond - 1])) == {number}
    if beyond < ALL_ONES:
        assert set(answers(tables, [*script, beyond + 1])) == {None}
    with pytest.raises(SpentError):
        tables.draw(Scripted([*script, beyond]))


@settings(max_examples=200)
@given(_tables, st.integers(1, 6), st.integers(0, 2**600), st.integers(0, 40), st.integers(0, 1))
def test_the_tail_is_settled_in_integers(tables: Cells, doublings: int, offset: int, coin: int, sign: int) -> None:
    tail = len(tables.starts) - 1
    width = tables.widths[tail]
    offset &= (1 << width) - 1
    magnitude = tables.starts[tail] + ((doublings - 1) << width) + offset
    script = script_of(tables, 4095, sign, 0, coin)
    looked_at = [*script, *[1] * (doublings - 1), 0]
    looked_at += [offset >> 64 * piece & ALL_ONES for piece in reversed(range(-(-width // 64)))]
    number = -magnitude if tables.signed and sign else magnitude
    chance = acceptance(tables, magnitude, tail, doublings)
    verdict = compare(coin, tables.coin_bits, chance)
    # From the stated bound of the tail on a proposal is rejected unseen; below it, it is looked at.
    bound = Fraction(tables.tail_chance) * 2**tables.coin_bits
    if coin >= bound * (1 + Fraction(1, 2**30)) + 1:
        assert verdict is False
        assert set(answers(tables, script)) == {None}
    elif verdict is not None and coin < bound:
        assert set(answers(tables, looked_at)) == {number if verdict else None}
    elif coin < bound and chance[0] > 0:
        beyond = threshold(chance, tables.coin_bits + 64) - (coin << 64)
        if beyond > 0:
            assert set(answers(tables, [*looked_at, beyond - 1])) == {number}
        if beyond < ALL_ONES:
            assert set(answers(tables, [*looked_at, beyond + 1])) == {None}


def test_without_floating_point_the_draws_are_the_same(*, thorough: bool) -> None:
    # A word for the tail is left out: a blind table would look at it more closely.
    words = [word for word in Seeded(11).words(1500).tolist() if word & 4095 != 4095]

    def drawn(tables: Cells) -> list[int]:
        source, numbers = Scripted(words), []
        while len(source.left) > 50:
            numbers.append(tables.draw(source))
        return numbers

    for tables in every_table(1 if thorough else 7):
        blind = dataclasses.replace(tables, log_factors=(math.nan,) * len(tables.log_factors), tail_chance=1.0)
        assert drawn(tables) == drawn(blind)


def test_a_single_draw_is_a_sample_of_one() -> None:
    for shape, scale in product(SHAPES, [scale for scale in SCALES if scale <= 2**40]):
        tables = SHAPES[shape](scale)
        script = Seeded(5).words(3000).tolist()
        first, second = Scripted(script), Scripted(script)
        for _ in range(200):
            assert tables.draw(first) == tables.sample(1, second)[0]
            assert first.left == second.left


def test_a_draw_takes_little_more_than_one_word() -> None:
    for shape, scale in product(SHAPES, SCALES):
        tables = SHAPES[shape](scale)
        source = Counting(1)
        for _ in range(2000):
            tables.draw(source)
        needed = 1 if tables.coin_bits < 52 else 2 + max(0, -(-(tables.offset_bits - 51) // 64))
        assert source.total < 1.1 * 2000 * needed
        assert needed == 1 or scale > 2**29


def test_a_source_of_zeros_is_accepted_and_one_of_ones_asked_again() -> None:
    for shape in SHAPES.values():
        for scale in SCALES:
            tables = shape(scale)
            assert tables.draw(Repeating(0, 20)) == 0
            # All ones is a proposal in the tail with the worst coin: rejected until the script ends.
            with pytest.raises(SpentError):
                tables.draw(Repeating(ALL_ONES, 100))


def test_what_does_not_fit_is_refused() -> None:
    for bits in (510, 700, 1000, 1022):
        with pytest.raises(ParameterError, match="larger epsilon"):
            SHAPES["laplace"](Fraction(2**bits))
        with pytest.raises(ParameterError, match="larger epsilon"):
            SHAPES["geometric"](Fraction(2**bits))
    with pytest.raises(ParameterError, match="larger epsilon"):
        cells_for(Fraction(0), Fraction(1, 2**1023), signed=True)
    with pytest.raises(ParameterError, match="one by one"):
        SHAPES["laplace"](Fraction(2**60)).sample(1, Seeded(1))


@given(st.integers(-1022, 498), st.integers(2**52, 2**53 - 1))
def test_tables_of_any_scale_are_sound(exponent: int, mantissa: int) -> None:
    scale = Fraction(mantissa, 2**52) * Fraction(2) ** exponent
    for shape in ("laplace", "geometric"):
        tables = cells_for.__wrapped__(1 / scale, Fraction(0), signed=shape == "laplace")
        check_tiling(tables)
        start = tables.starts[-1]
        assert acceptance(tables, 0, 0)[1] <= 1
        # Cells of one slot, and the one that took what was left over, are the likeliest to be wrong.
        for cell in {0, len(tables.starts) // 2, len(tables.starts) - 2}:
            assert acceptance(tables, tables.starts[cell], cell)[1] <= 1
        if tables.linear * start < 5000:
            assert acceptance(tables, start, len(tables.starts) - 1, 1)[1] <= Fraction(tables.tail_chance)


def test_the_oracle_knows_e() -> None:
    low, high = enclose(Fraction(1), Fraction(3))
    assert float(low) == float(high) == pytest.approx(3 / math.e, rel=1e-15)


def test_draws_made_ahead_are_forgotten_by_a_fork_and_not_shared_by_threads() -> None:
    wide = cells_for(Fraction(1, 2**40), Fraction(0), signed=True)
    source = System()
    wide.draw(source)
    ahead = list(source.ready(wide))
    assert len(ahead) == 63
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b" ".join(str(wide.draw(source)).encode() for _ in range(64)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        theirs = {int(number) for number in pipe.read().split()}
    os.waitpid(child, 0)
    assert len(theirs) == 64
    assert not theirs & set(ahead)
    mine: list[int] = []
    thread = threading.Thread(target=lambda: mine.extend(wide.draw(source) for _ in range(64)))
    thread.start()
    thread.join()
    assert not set(mine) & set(ahead)
    assert source.ready(wide) == ahead  # the parent goes on where it was
    assert wide.draw(source) == ahead[-1]


def test_samplers_that_keep_draws_ready_do_not_pile_up() -> None:
    source = System()
    for scale in range(1, 400):
        source.ready(scale).append(scale)
    assert len(source._local.ready) <= 256
    assert source.ready(399) == [399]
