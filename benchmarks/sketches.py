"""Sketches of whole columns against the loops of Apache DataSketches, and how accurate both are at the same size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Case
from celosia.sketches.distinct.flajolet_martin import FlajoletMartin
from celosia.sketches.distinct.hyperloglog import HyperLogLog
from celosia.sketches.distinct.theta import Theta
from celosia.sketches.frequency.ams import AMS
from celosia.sketches.frequency.count_min import CountMin
from celosia.sketches.frequency.count_sketch import CountSketch
from celosia.sketches.hashing.digest import digest
from celosia.sketches.membership.bloom import BloomFilter
from celosia.sketches.membership.counting_bloom import CountingBloomFilter

if TYPE_CHECKING:
    from collections.abc import Callable

# The same as in benchmarks/peers/datasketches.py, which runs in an environment of its own.
INTEGERS = 10_000_000
STRINGS = 1_000_000
LOG_SIZE = 12
ROWS, WIDTH = 5, 2048
ERROR_LOG_SIZE, ERROR_VALUES, TRIALS = 7, 1_000, 40_000

FASTER = "datasketches: faster"
AS_ACCURATE = "datasketches: within 1 %"


def error(estimate: Callable[[Any], float]) -> float:
    """The root mean square of relative errors over the trials, times the root of the size."""
    total = 0.0
    for trial in range(TRIALS):
        values = np.arange(trial * ERROR_VALUES, (trial + 1) * ERROR_VALUES)
        total += (estimate(values) / ERROR_VALUES - 1) ** 2
    return math.sqrt(total / TRIALS * 2**ERROR_LOG_SIZE)


def filled(sketch: Any, values: Any) -> Any:
    """Return a sketch that has seen values."""
    sketch.update(values)
    return sketch


def merged(values: Any) -> float:
    """Return the estimate of two halves that were merged."""
    half = len(values) // 2
    first, second = (filled(HyperLogLog(ERROR_LOG_SIZE), part) for part in (values[:half], values[half:]))
    return float(first.merge(second).estimate())


def cases() -> list[Case]:
    """Return the cases of the room."""
    integers = np.arange(INTEGERS)
    strings = pa.array([f"value-{i}" for i in range(STRINGS)])
    sketches: dict[str, tuple[Callable[[], Any], str]] = {
        "HyperLogLog": (lambda: HyperLogLog(LOG_SIZE), "hll"),
        "theta": (lambda: Theta(1 << LOG_SIZE), "theta"),
        "count-min": (lambda: CountMin(ROWS, WIDTH), "count-min"),
        "Flajolet-Martin": (lambda: FlajoletMartin(1 << LOG_SIZE), ""),
        "Bloom": (lambda: BloomFilter(1 << 20, 7), ""),
        "counting Bloom": (lambda: CountingBloomFilter(1 << 20, 7), ""),
        "count sketch": (lambda: CountSketch(ROWS, WIDTH), ""),
        "AMS": (lambda: AMS(ROWS, WIDTH), ""),
    }
    rows = []
    for name, (make, peer) in sketches.items():
        for kind, values in (("integers", integers), ("strings", strings)):
            rows.append(
                Case.timed(
                    f"{name}: {kind}",
                    lambda make=make, values=values: make().update(values),  # type: ignore[misc]
                    repeats=3,
                    parameters={"n": len(values)},
                    peers={"datasketches": f"{peer}-{kind}"} if peer else {},
                    aim=FASTER if peer else "",
                )
            )
    trials = {"m": 1 << ERROR_LOG_SIZE, "values": ERROR_VALUES, "trials": TRIALS}
    errors: list[tuple[str, Callable[[Any], float], str]] = [
        (
            "HyperLogLog, one stream: error",
            lambda values: float(filled(HyperLogLog(ERROR_LOG_SIZE), values).estimate()),
            "hll-error",
        ),
        ("HyperLogLog, merged: error", merged, "hll-merged-error"),
        (
            "theta: error",
            lambda values: float(filled(Theta(1 << ERROR_LOG_SIZE), values).estimate()),
            "theta-error",
        ),
    ]
    return [
        Case.timed("digests: integers", lambda: digest(integers), repeats=3, parameters={"n": INTEGERS}),
        Case.timed("digests: strings", lambda: digest(strings), repeats=3, parameters={"n": STRINGS}),
        *rows,
        *(
            Case.number(
                name,
                lambda estimate=estimate: error(estimate),  # type: ignore[misc]
                unit="times 1/√m",
                parameters=trials,
                peers={"datasketches": peer},
                aim=AS_ACCURATE,
            )
            for name, estimate, peer in errors
        ),
    ]
