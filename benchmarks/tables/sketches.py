"""The comparison of sketches in ``docs/api/sketches.md``: ``python -m benchmarks.tables.sketches`` writes it anew.

``--show`` prints it instead, without times.

Every sketch gets 16 KiB when serialized, and the same streams; errors are root mean squares over seeds and are the same
on every machine. How long updates and queries take is measured where the script runs, and stands in columns of its own.
"""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers.stopwatch import seconds
from celosia.sketches.distinct.flajolet_martin import FlajoletMartin
from celosia.sketches.distinct.hyperloglog import HyperLogLog
from celosia.sketches.distinct.theta import Theta
from celosia.sketches.frequency.ams import AMS
from celosia.sketches.frequency.count_mean import CountMean
from celosia.sketches.frequency.count_median import CountMedian
from celosia.sketches.frequency.count_min import CountMin
from celosia.sketches.frequency.count_sketch import CountSketch
from celosia.sketches.frequency.dyadic import DyadicCountMin
from celosia.sketches.membership.bloom import BloomFilter
from celosia.sketches.membership.counting_bloom import CountingBloomFilter

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["main", "table"]

PAGE = Path(__file__).parents[2] / "docs" / "api" / "sketches.md"
BEGIN, END = "<!-- the table of sketches: python -m benchmarks.tables.sketches -->", "<!-- end of the table -->"

BYTES = 16 * 1024
SEEDS = 25
MEMBERS, STRANGERS = 10_000, 100_000
VALUES = 100_000
ROWS, WIDTH = 5, BYTES // 8 // 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the table: what is known of a sketch, how to make it, and what its error is with one seed."""

    name: str
    answers: str
    space: str
    update: str
    query: str
    merge: str
    removes: str
    start: str
    error: str
    make: Callable[[int], Any]
    measure: Callable[[Any, int], float]
    ask: Callable[[Any], float | NDArray[np.generic]]


@functools.cache
def stream(seed: int) -> NDArray[np.int64]:
    """Values by Zipf's law, below 2^16, by the inverse of its distribution: the same whatever NumPy's sampler does."""
    weights = np.arange(1.0, 2**16) ** -1.1
    uniforms = np.random.default_rng(seed).random(VALUES)
    return np.searchsorted(np.cumsum(weights) / weights.sum(), uniforms).astype(np.int64)


@functools.cache
def count_values(seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different values of a stream, and how often each is there."""
    return np.unique(stream(seed), return_counts=True)


def membership(sketch: Any, seed: int) -> float:
    """The share of strangers that are taken for members."""
    start = seed * 10**6
    sketch.update(np.arange(start, start + MEMBERS))
    return float(np.mean(sketch.contains(np.arange(start + MEMBERS, start + MEMBERS + STRANGERS))))


def frequency(sketch: Any, seed: int) -> float:
    """The root mean square error of all frequencies, as a share of the total."""
    values, counts = count_values(seed)
    sketch.update(stream(seed))
    return math.sqrt(np.mean((sketch.estimate(values) - counts) ** 2)) / VALUES


def ranges(sketch: DyadicCountMin, seed: int) -> float:
    """The root mean square error of ranges, as a share of the total."""
    values = stream(seed)
    sketch.update(values)
    borders = np.sort(np.random.default_rng(seed).integers(0, 2**16, (200, 2)), axis=1)
    found = sketch.range(borders[:, 0], borders[:, 1])
    ordered = np.sort(values)
    true = np.searchsorted(ordered, borders[:, 1], side="right") - np.searchsorted(ordered, borders[:, 0])
    return math.sqrt(np.mean((found - true) ** 2)) / VALUES


def norm(sketch: AMS, seed: int) -> float:
    """The relative error of the sum of squared frequencies."""
    counts = count_values(seed)[1]
    sketch.update(stream(seed))
    return sketch.estimate() / float(np.sum(counts.astype(np.float64) ** 2)) - 1


def distinct(sketch: Any, seed: int) -> float:
    """The relative error of the number of different values."""
    start = seed * 10**6
    sketch.update(np.arange(start, start + VALUES))
    return float(sketch.estimate()) / VALUES - 1


def merged(sketch: HyperLogLog, seed: int) -> float:
    """The relative error of the number of different values of two halves."""
    start, half = seed * 10**6, HyperLogLog(sketch.precision, seed=seed)
    sketch.update(np.arange(start, start + VALUES // 2))
    half.update(np.arange(start + VALUES // 2, start + VALUES))
    return sketch.merge(half).estimate() / VALUES - 1


def entries() -> list[Entry]:
    """Return the sketches of the room, each with 16 KiB."""
    asked = np.arange(1_000)
    hashes = round(BYTES * 8 / MEMBERS * math.log(2))
    counters, width = "all counters 0", dyadic_width()
    frequencies = [
        Entry(
            name=name,
            answers="how often a value came",
            space="rows · width counters",
            update="rows",
            query=query,
            merge="sum of the tables",
            removes="yes",
            start=counters,
            error=error,
            make=lambda seed, kind=kind: kind(ROWS, WIDTH, seed=seed),  # type: ignore[misc]
            measure=frequency,
            ask=lambda sketch: sketch.estimate(asked),
        )
        for name, kind, query, error in (
            ("`CountMin`", CountMin, "rows", "too high by more than e·total/width: at most e^−rows"),
            ("`CountMean`", CountMean, "rows", "√(F₂/(rows·(width − 1))), no bias"),
            (
                "`CountMedian`",
                CountMedian,
                "rows",
                "seldom more than a multiple of √(F₂/width); bias up to total/width",
            ),
            ("`CountSketch`", CountSketch, "rows", "seldom more than a multiple of √(F₂/width)"),
        )
    ]
    return [
        Entry(
            name="`BloomFilter`",
            answers="whether a value is in a set",
            space="m bits",
            update="k",
            query="k",
            merge="bitwise or",
            removes="no",
            start="all bits 0",
            error="strangers taken for members: (1 − e^(−nk/m))^k",
            make=lambda seed: BloomFilter(BYTES * 8, hashes, seed=seed),
            measure=membership,
            ask=lambda sketch: sketch.contains(asked),
        ),
        Entry(
            name="`CountingBloomFilter`",
            answers="whether a value is in a set",
            space="m counters",
            update="k",
            query="k",
            merge="sum, up to the largest number",
            removes="yes",
            start=counters,
            error="as `BloomFilter`, with a counter for each bit",
            make=lambda seed: CountingBloomFilter(BYTES, 1, seed=seed),
            measure=membership,
            ask=lambda sketch: sketch.contains(asked),
        ),
        *frequencies,
        Entry(
            name="`DyadicCountMin`",
            answers="ranges, quantiles, frequent values",
            space="a table for each level",
            update="rows · levels",
            query="rows · levels",
            merge="sum of the tables",
            removes="yes",
            start=counters,
            error="too high by a multiple of 2·levels·total/width",
            make=lambda seed: DyadicCountMin(0, 2**16 - 1, rows=3, width=width, seed=seed),
            measure=ranges,
            ask=lambda sketch: sketch.range([100], [10_000]),
        ),
        Entry(
            name="`AMS`",
            answers="sum of squared frequencies, inner products",
            space="rows · width counters",
            update="rows",
            query="rows · width",
            merge="sum of the tables",
            removes="yes",
            start=counters,
            error="seldom more than a multiple of √(2/width), relative",
            make=lambda seed: AMS(ROWS, WIDTH, seed=seed),
            measure=norm,
            ask=lambda sketch: sketch.estimate(),
        ),
        Entry(
            name="`FlajoletMartin`",
            answers="how many different values",
            space="m bitmaps of 64 bits",
            update="1",
            query="m",
            merge="bitwise or",
            removes="no",
            start="all bits 0",
            error="0.65/√m, relative (0.78/√m by the classical estimate)",
            make=lambda seed: FlajoletMartin(BYTES // 8, seed=seed),
            measure=distinct,
            ask=lambda sketch: sketch.estimate(),
        ),
        Entry(
            name="`HyperLogLog`",
            answers="how many different values",
            space="m registers of 4 bits",
            update="1",
            query="1",
            merge="largest registers",
            removes="no",
            start="no values, then registers 0",
            error="0.83/√m, relative; exact up to m/16 values",
            make=lambda seed: HyperLogLog(15, seed=seed),
            measure=distinct,
            ask=lambda sketch: sketch.estimate(),
        ),
        Entry(
            name="`HyperLogLog`, merged",
            answers="how many different values",
            space="m registers of 4 bits",
            update="1",
            query="m",
            merge="largest registers",
            removes="no",
            start="no values, then registers 0",
            error="1.04/√m, relative",
            make=lambda seed: HyperLogLog(15, seed=seed),
            measure=merged,
            ask=lambda sketch: sketch.estimate(),
        ),
        Entry(
            name="`Theta`",
            answers="how many different values; unions, intersections, differences",
            space="k digests of 64 bits",
            update="1",
            query="1",
            merge="the k smallest",
            removes="no",
            start="no digests",
            error="1/√(k − 1), relative; exact up to k values",
            make=lambda seed: Theta(BYTES // 8, seed=seed),
            measure=distinct,
            ask=lambda sketch: sketch.estimate(),
        ),
    ]


def dyadic_width() -> int:
    """Return the largest width at which a tree over 16 bits, of 3 rows, takes at most 16 KiB."""
    return max(width for width in range(20, 400) if DyadicCountMin(0, 2**16 - 1, rows=3, width=width).memory <= BYTES)


KINDS = ("sketch", "answers", "space", "update", "query", "merge", "removes", "begins with")
ERRORS = ("sketch", "error, as stated", "bytes", "error, measured")
TIMES = ("updates, M/s", "query, µs")


def described(entry: Entry) -> list[str]:
    """Return what is known of a sketch without measuring."""
    costs = [entry.space, entry.update, entry.query]
    return [entry.name, entry.answers, *costs, entry.merge, entry.removes, entry.start]


def measured(entry: Entry) -> list[str]:
    """Return the error of a sketch, which is the same on every machine."""
    sketches = [entry.make(seed) for seed in range(SEEDS)]
    errors = np.array([entry.measure(sketch, seed) for seed, sketch in enumerate(sketches)])
    return [entry.name, entry.error, f"{len(sketches[0].serialize()):,}", rounded(math.sqrt(np.mean(errors**2)))]


def timed(entry: Entry) -> list[str]:
    """Return how fast a sketch is here: millions of updates a second, and the microseconds of a query."""
    values = np.arange(4_000_000) % 2**16 if isinstance(entry.make(0), DyadicCountMin) else np.arange(4_000_000)
    rate = values.size / seconds(lambda: entry.make(0).update(values), repeats=3) / 1e6
    full = entry.make(0)
    entry.measure(full, 0)
    queries = np.size(entry.ask(full))
    return [rounded(rate), rounded(seconds(lambda: entry.ask(full), calls=5) / queries * 1e6)]


def rounded(number: float) -> str:
    """Return a number with two digits that count."""
    short = float(f"{number:.2g}")
    return f"{short:,.0f}" if short >= 10 else f"{short:.10g}"


def table(*, times: bool) -> str:
    """Return the two tables in Markdown; without times they are the same on every machine."""
    known = entries()
    errors = [[*measured(entry), *(timed(entry) if times else ())] for entry in known]
    return "\n\n".join(
        [
            markdown(list(KINDS), [described(entry) for entry in known if "," not in entry.name]),
            markdown([*ERRORS, *(TIMES if times else ())], errors),
        ]
    )


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, ["---"] * len(heads), *rows])


def main() -> None:
    """Write the table into the page, between its markers, or print what no machine changes in it."""
    if sys.argv[1:] == ["--show"]:
        print(table(times=False))
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(times=True)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
