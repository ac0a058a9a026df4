"""The tables of errors in ``docs/api/local.md``: ``python -m benchmarks.tables.local`` writes them anew.

``--show`` prints what was measured instead, with as many runs as a number after it says (without: 200). Hash functions
and coins are new in each run and seeded, so that numbers are the same on every machine.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia import local
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CASES", "COUNTS", "COVERED", "Case", "coverage", "main", "mistakes"]

PAGE = Path(__file__).parents[2] / "docs" / "api" / "local.md"
BEGIN, END = "<!-- the tables of errors: python -m benchmarks.tables.local -->", "<!-- end of the tables -->"

RUNS = 200
ABSENT = 4_000
FAILURE = 0.05
HELD = ((300, 200), (900, 100))  # people who hold the two values that are there, in even and in odd runs
RAPPOR = {2: ("0.2", "0.25", "0.75"), 6: ("0.02", "0.05", "0.95"), 9: ("0.01", "0.01", "0.99")}
PEOPLE = 2_000
COUNTS = (1, 10, 50, 200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A protocol, made anew for each seed; ``before`` is what was measured before tables had laws of their own."""

    name: str
    make: Callable[[int], local.Protocol[Any]]
    before: tuple[float, ...] = ()
    values: tuple[Any, Any] = (0, 1)


def cases(kind: Any, by: str = "", epsilons: tuple[int, ...] = (2, 6, 9), **given: Any) -> list[Case]:
    """Return cases of a kind of protocol, one for each epsilon."""

    def make(epsilon: int, seed: int) -> local.Protocol[Any]:
        seeded = {} if kind in UNSEEDED else {"seed": seed}
        stays = {"epsilon_infinity": 2 * epsilon} if kind is local.LOLOHA else {}
        made: local.Protocol[Any] = kind(epsilon=epsilon, **given, **seeded, **stays)
        return made

    name = f"`{kind.__name__}`" + (f", {by}" if by else "")
    return [
        Case(
            name=f"{name}, ε = {epsilon}",
            make=lambda seed, epsilon=epsilon: make(epsilon, seed),  # type: ignore[misc]
            before=BEFORE.get(f"{name}, ε = {epsilon}", ()),
            values=("abc", "cab") if kind is local.SequenceFragmentPuzzle else (0, 1),
        )
        for epsilon in epsilons
    ]


def rappor(epsilon: int) -> Case:
    """Return a case of RAPPOR whose first report spends about so much."""
    f, p, q = RAPPOR[epsilon]
    name = f"`Rappor`, 64 cohorts × 64, ε ≈ {epsilon}"
    make = lambda seed: local.Rappor(bits=64, hashes=1, cohorts=64, f=f, p=p, q=q, seed=seed)  # noqa: E731 - as above
    return Case(name=name, make=make, before=BEFORE.get(name, ()))


UNSEEDED = {
    local.DirectEncoding,
    local.OptimizedUnary,
    local.SubsetSelection,
    local.HadamardResponse,
    local.HierarchicalHistogram,
}

BEFORE: dict[str, tuple[float, ...]] = {  # of 200 runs; others were not measured
    "`PrefixExtension`, 8 groups, ε = 2": (0.95, 0.945, 0.955, 0.95),
    "`PrefixExtension`, 8 groups, ε = 6": (1.0, 1.0, 0.84, 0.95),
    "`PrefixExtension`, 8 groups, ε = 8": (1.0, 0.505, 0.82, 0.935),
    "`PrefixExtension`, 2 groups, ε = 2": (0.97, 0.955, 0.925, 0.92),
    "`PrefixExtension`, 2 groups, ε = 6": (0.98, 0.98, 0.945, 0.93),
    "`PrefixExtension`, 2 groups, ε = 8": (0.985, 0.95, 0.915, 0.925),
    "`HierarchicalHistogram`, 256 leaves, ε = 2": (0.95, 0.965, 0.95, 0.93),
    "`HierarchicalHistogram`, 256 leaves, ε = 6": (0.975, 0.965, 0.945, 0.935),
    "`HierarchicalHistogram`, 256 leaves, ε = 8": (0.995, 0.94, 0.95, 0.95),
    "`LocalHashing`, 256 functions, ε = 2": (0.95, 0.97, 0.945, 0.97),
    "`LocalHashing`, 256 functions, ε = 6": (0.985, 0.965, 0.94, 0.95),
    "`LocalHashing`, 256 functions, ε = 8": (1.0, 0.96, 0.94, 0.965),
    "`OptimizedUnary`, 256 values, ε = 2": (0.95, 0.975, 0.97, 0.945),
    "`OptimizedUnary`, 256 values, ε = 6": (0.97, 0.94, 0.965, 0.955),
    "`OptimizedUnary`, 256 values, ε = 8": (1.0, 0.9, 0.97, 0.94),
    "`CountMeanSketch`, 64 × 1024, ε = 2": (17, 8),
    "`CountMeanSketch`, 64 × 1024, ε = 6": (60, 57),
    "`CountMeanSketch`, 64 × 1024, ε = 9": (60, 42),
    "`CountMeanSketch`, 256 × 4096, ε = 8": (85, 53),
    "`HadamardCountMeanSketch`, 64 × 1024, ε = 2": (11, 6),
    "`HadamardCountMeanSketch`, 64 × 1024, ε = 6": (8, 4),
    "`HadamardCountMeanSketch`, 64 × 1024, ε = 9": (6, 3),
    "`LocalHashing`, 64 functions, ε = 2": (5, 6),
    "`LocalHashing`, 64 functions, ε = 6": (28, 17),
    "`LocalHashing`, 1024 functions, ε = 9": (19, 0),
    "`LOLOHA`, 256 functions, ε = 2": (8, 5),
    "`LOLOHA`, 256 functions, ε = 6": (46, 11),
    "`LOLOHA`, 256 functions, ε = 9": (83, 37),
    "`PrefixExtension`, 256 functions, ε = 2": (6, 3),
    "`PrefixExtension`, 256 functions, ε = 6": (41, 0),
    "`PrefixExtension`, 256 functions, ε = 8": (70, 0),
    "`PrefixExtension`, 256 functions, ε = 9": (109, 0),
    "`DBitFlip`, 16 of 4002, ε = 2": (0, 0),
    "`DBitFlip`, 16 of 4002, ε = 6": (1, 3),
    "`DBitFlip`, 16 of 4002, ε = 9": (0, 59),
}

CASES = [
    *cases(local.CountMeanSketch, "64 × 1024", hashes=64, width=1024),
    *cases(local.CountMeanSketch, "256 × 4096", (8,), hashes=256, width=4096),
    *cases(local.HadamardCountMeanSketch, "64 × 1024", hashes=64, width=1024),
    *cases(local.LocalHashing, "64 functions", (2, 6), domain=ABSENT + 2, hashes=64),
    *cases(local.LocalHashing, "1024 functions", (9,), domain=ABSENT + 2, hashes=1024),
    *cases(local.LOLOHA, "256 functions", domain=ABSENT + 2, functions=256),
    *cases(local.PrefixExtension, "256 functions", (2, 6, 8, 9), domain=2**16, hashes=256),
    *cases(
        local.SequenceFragmentPuzzle,
        "64 × 1024",
        alphabet="abcdefgh",
        length=4,
        hashes=64,
        width=1024,
        fragment_hashes=64,
        fragment_width=1024,
    ),
    *(rappor(epsilon) for epsilon in RAPPOR),
    *cases(local.LocalHashing, "a function each", domain=ABSENT + 2),
    *cases(local.DirectEncoding, domain=ABSENT + 2),
    *cases(local.OptimizedUnary, domain=ABSENT + 2),
    *cases(local.SubsetSelection, domain=ABSENT + 2),
    *cases(local.HadamardResponse, domain=ABSENT + 2),
    *cases(local.HierarchicalHistogram, domain=ABSENT + 2),
    *cases(local.DBitFlip, "16 of 4002", buckets=ABSENT + 2, d=16),
]

COVERED = [
    *cases(local.PrefixExtension, "8 groups", (2, 6, 8), domain=2**62, hashes=256),
    *cases(local.PrefixExtension, "2 groups", (2, 6, 8), domain=2**16, hashes=256),
    *cases(local.HierarchicalHistogram, "256 leaves", (2, 6, 8), domain=256),
    *cases(local.LocalHashing, "256 functions", (2, 6, 8), domain=256, hashes=256),
    *cases(local.OptimizedUnary, "256 values", (2, 6, 8), domain=256),
]


def mistakes(case: Case, run: int) -> tuple[bool, bool]:
    """Return whether a run shows any value that nobody holds, and whether any simultaneous interval misses."""
    protocol, held = case.make(run), HELD[run % len(HELD)]
    values = [value for value, count in zip(case.values, held, strict=True) for _ in range(count)]
    aggregate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(run)))
    if isinstance(protocol, local.SequenceFragmentPuzzle):
        candidates: list[Any] = [*case.values, *(f"{word:04o}".translate(LETTERS) for word in range(ABSENT))]
        candidates = list(dict.fromkeys(candidates))
    else:
        candidates = list(range(ABSENT + 2))
    true = np.zeros(len(candidates))
    true[:2] = held
    estimate = aggregate.estimate(candidates)
    low, high = estimate.interval(1 - FAILURE, simultaneous=True)
    missed = bool((low > true + 1e-9).any() or (high < true - 1e-9).any())
    if isinstance(protocol, local.PrefixExtension | local.SequenceFragmentPuzzle):
        return bool(set(protocol.discover(aggregate, failure=FAILURE).candidates) - set(case.values)), missed
    return bool(estimate.significant(FAILURE)[2:].any()), missed


LETTERS = str.maketrans("01234567", "abcdefgh")


def coverage(case: Case, runs: int) -> list[float]:
    """Return how often an interval of 95 % holds the count of a value that so many people hold."""
    values = np.repeat(np.arange(len(COUNTS)), COUNTS)
    values = np.concatenate([values, np.full(PEOPLE - values.size, 7)])
    held = np.zeros(len(COUNTS))
    for run in range(runs):
        protocol = case.make(run)
        aggregate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(run)))
        low, high = aggregate.estimate(list(range(len(COUNTS)))).interval(0.95)
        held += (low <= np.array(COUNTS) + 1e-9) & (high >= np.array(COUNTS) - 1e-9)
    return [float(share) for share in held / runs]


def measured(runs: int) -> str:
    """Return what is measured, one case in a line, as it stands in ``BEFORE``."""
    lines = [f'    "{case.name}": {tuple(count_mistakes(case, runs))},' for case in CASES]
    return "\n".join([*lines, *(f'    "{case.name}": {tuple(coverage(case, runs))},' for case in COVERED)])


def count_mistakes(case: Case, runs: int) -> list[int]:
    """Return in how many runs something false is shown, and in how many an interval misses."""
    found = np.array([mistakes(case, run) for run in range(runs)]).sum(axis=0)
    return [int(number) for number in found]


def table() -> str:
    """Return both tables in Markdown."""
    first = [[case.name, *beside(case.before), *map(str, count_mistakes(case, RUNS))] for case in CASES]
    heads = ["protocol", "false before", "missed before", "false", "missed"]
    second = [
        [case.name, *(f"{was:.2f} → {now:.2f}" for was, now in zip(case.before, coverage(case, RUNS), strict=True))]
        for case in COVERED
    ]
    return "\n\n".join([markdown(heads, first), markdown(["protocol", *map(str, COUNTS)], second)])


def beside(before: tuple[float, ...]) -> list[str]:
    """Return what was measured before as text."""
    return [f"{number:.0f}" for number in before] or ["–", "–"]


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, ["---"] * len(heads), *rows])


def main() -> None:
    """Write the tables into the page, between their markers, or print what is measured."""
    if sys.argv[1:2] == ["--show"]:
        print(measured(int(sys.argv[2]) if sys.argv[2:] else RUNS))
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
