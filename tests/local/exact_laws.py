"""The exact law of every local protocol, from the reference client alone: all its draws, enumerated.

The client of ``reference_client`` draws by ``below`` and ``coin`` only. Here these return one outcome after the other,
until all have been seen, and multiply their probabilities (decimals of 80 digits). What stays is drawn once for each
purpose and number, and given again: so the laws of whole histories come out as well. Nothing is taken from the package.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.local.reference_client import (
    DECIMALS,
    MEMOISED,
    PLAIN,
    column,
    decimal,
    digest,
    field_width,
    part_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Law = dict[bytes, Decimal]
_LISTED = 4096  # numbers below a larger bound are only compared, or rounded


class Draws:
    """A source of draws that takes each path through a client once; ``chance`` is that of the path."""

    def __init__(self) -> None:
        self.path: list[tuple[int, int]] = []  # which option was taken, and how many there are
        self.at, self.chance = 0, Decimal(1)

    def paths(self) -> Iterator[None]:
        while True:
            self.at, self.chance = 0, Decimal(1)
            yield
            while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
                self.path.pop()
            if not self.path:
                return
            taken, options = self.path[-1]
            self.path[-1] = taken + 1, options

    def choose(self, chances: Sequence[Decimal]) -> int:
        if self.at == len(self.path):
            self.path.append((0, len(chances)))
        taken = self.path[self.at][0]
        self.at += 1
        self.chance = DECIMALS.multiply(self.chance, chances[taken])
        return taken

    def below(self, bound: int) -> Any:
        return self.choose([decimal(Fraction(1, bound))] * bound) if bound <= _LISTED else Large(bound, self)

    def coin(self, chance: Fraction | Decimal) -> bool:
        exact = decimal(chance) if isinstance(chance, Fraction) else chance
        return self.choose([exact, DECIMALS.subtract(1, exact)]) == 0


class Large:
    """A number below a bound of which only comparisons are asked: what is known of it is an interval."""

    def __init__(self, bound: int, draws: Draws) -> None:
        self.low, self.high, self.draws = 0, bound, draws

    def __lt__(self, other: int) -> bool:
        if not self.low < other < self.high:
            return self.high <= other
        below = self.draws.coin(Fraction(other - self.low, self.high - self.low))
        self.low, self.high = (self.low, other) if below else (other, self.high)
        return below

    def __radd__(self, other: int) -> Rounded:
        return Rounded(other, self)


class Rounded:
    """A sum with a large number, of which only the leading bits are asked."""

    def __init__(self, known: int, large: Large) -> None:
        self.known, self.large = known, large

    def __rshift__(self, bits: int) -> int:
        whole, rest = divmod(self.known, 1 << bits)
        return whole + (not self.large < (1 << bits) - rest)


class Kept:
    """What stays: for each purpose and number, draws that are made once and given again."""

    def __init__(self, draws: Draws) -> None:
        self.draws, self.known = draws, defaultdict[tuple[str, int], list[Any]](list)

    def __call__(self, purpose: str, number: int) -> Any:
        return Again(self.draws, self.known[purpose, number])


class Again:
    def __init__(self, draws: Draws, known: list[Any]) -> None:
        self.draws, self.known, self.at = draws, known, 0

    def _drawn(self, draw: Callable[[Any], Any], of: Any) -> Any:
        if self.at == len(self.known):
            self.known.append(draw(of))
        self.at += 1
        return self.known[self.at - 1]

    def below(self, bound: int) -> Any:
        return self._drawn(self.draws.below, bound)

    def coin(self, chance: Fraction | Decimal) -> bool:
        return bool(self._drawn(self.draws.coin, chance))


def law(protocol: str, value: Any) -> Law:
    """The probability of each report of a value, by a client that reports once."""
    if json.loads(protocol)["kind"] == "LocalLaplace":
        return laplace_law(json.loads(protocol), value)
    return {reports[0]: chance for reports, chance in history_law(protocol, [value]).items()}


def history_law(protocol: str, history: Sequence[Any]) -> dict[tuple[bytes, ...], Decimal]:
    """The probability of each sequence of reports, by a client that keeps what stays."""
    parameters, draws = json.loads(protocol), Draws()
    kind, found = parameters["kind"], defaultdict[tuple[bytes, ...], Decimal](Decimal)
    for _ in draws.paths():
        memo, reports = Kept(draws), []
        for value in history:
            source: Any = draws
            made = (
                PLAIN[kind](parameters, value, source)
                if kind in PLAIN
                else MEMOISED[kind](parameters, value, memo, source)
            )
            reports.append(made[0].to_bytes(-(-made[1] // 8), "little"))
        found[tuple(reports)] = DECIMALS.add(found[tuple(reports)], draws.chance)
    return {reports: chance for reports, chance in found.items() if chance}


def laplace_law(p: dict[str, Any], value: float) -> Law:
    """Discrete Laplace noise never ends: its law by formula (Ghosh, Roughgarden and Sundararajan 2009)."""
    scale = p["grid"] / Fraction(p["epsilon"])
    ratio, reach = DECIMALS.exp(DECIMALS.minus(decimal(1 / scale))), math.ceil(45 * scale)
    most = p["grid"] + 2 * reach
    single = DECIMALS.divide(DECIMALS.subtract(1, ratio), DECIMALS.add(1, ratio))
    tail = DECIMALS.divide(1, DECIMALS.add(1, ratio))  # of |noise| >= k, on one side: times ratio^k
    whole, rest = divmod(part_of(value, p["low"], p["high"], p["grid"] << 32), 1 << 32)
    powers = [Decimal(1)]
    while len(powers) <= most:
        powers.append(DECIMALS.multiply(powers[-1], ratio))
    found = {}
    for said in range(most + 1):
        chance = Decimal(0)
        for position, share in ((whole, (1 << 32) - rest), (whole + 1, rest)):
            each = DECIMALS.multiply(tail if said in (0, most) else single, powers[abs(said - reach - position)])
            chance = DECIMALS.fma(decimal(Fraction(share, 1 << 32)), each, chance)
        found[said.to_bytes(-(-field_width(most + 1) // 8), "little")] = chance
    return found


# ------------------------------------------------------------------ what estimates are right for, on average


def expected(protocol: str, held: Any, asked: Any) -> float:
    """The expected share of a value where all hold ``held``, with hash functions as they are.

    1 or 0, but for hashed values: functions that send both to one cell count for both (Apple 2017; Wang et al. 2017).
    """
    p = json.loads(protocol)
    kind, seed = p["kind"], p.get("seed", 0)
    if kind == "PrefixExtension":
        length = field_width(p["domain"])
        words = [digest(value | 1 << length) for value in (held, asked)]
        width = min(round(math.exp(min(float(Fraction(p["epsilon"])), 16.0))) + 1, 2**16)
        return shared(words, p["hashes"], width, seed)
    if kind in ("CountMeanSketch", "HadamardCountMeanSketch", "SequenceFragmentPuzzle"):
        return shared([digest(value) for value in (held, asked)], p["hashes"], p["width"], seed)
    if kind == "LocalHashing":
        return shared([digest(value, seed) for value in (held, asked)], p["hashes"], p["buckets"], seed)
    if kind == "LOLOHA":
        return shared([digest(value, seed) for value in (held, asked)], p["functions"], p["g"], seed)
    return float(held == asked)


def shared(words: list[int], rows: int, width: int, seed: int) -> float:
    """How often two digests share a column, less what chance gives."""
    equal = sum(column(words[0], row, width, seed) == column(words[1], row, width, seed) for row in range(rows))
    return (equal / rows - 1 / width) / (1 - 1 / width)
