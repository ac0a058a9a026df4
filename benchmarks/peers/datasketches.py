"""Apache DataSketches: its Python sketches take one value at a time, so that a column is a loop.

The loops are as short as they can be: the values are Python's own already, and the method is looked up once. Errors are
those of its estimates over the same seeded trials as ours (``TRIALS`` streams of different values).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import datasketches

from benchmarks.peers.stopwatch import main, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INTEGERS = 10_000_000
STRINGS = 1_000_000
LOG_SIZE = 12
ROWS, WIDTH = 5, 2048
ERROR_LOG_SIZE, ERROR_VALUES, TRIALS = 7, 1_000, 40_000  # many small trials: a ratio of errors to half a percent


def looped(make: Callable[[], Any], values: Sequence[object]) -> Callable[[], None]:
    """Return an action that updates a new sketch with values, one after another."""

    def run() -> None:
        update = make().update
        for value in values:
            update(value)

    return run


def integers(make: Callable[[], Any]) -> float:
    """Seconds to take in ten million integers."""
    return seconds(looped(make, list(range(INTEGERS))), repeats=3)


def strings(make: Callable[[], Any]) -> float:
    """Seconds to take in a million texts."""
    return seconds(looped(make, [f"value-{i}" for i in range(STRINGS)]), repeats=3)


def root_mean_square(errors: list[float]) -> float:
    """The root mean square of relative errors, times the root of the size: what is published as a constant."""
    return math.sqrt(sum(error**2 for error in errors) / len(errors) * 2**ERROR_LOG_SIZE)


def stream(make: Callable[[], Any], trial: int, start: int, stop: int) -> Any:
    """Return a sketch of a part of the values of a trial."""
    sketch = make()
    update = sketch.update
    for value in range(trial * ERROR_VALUES + start, trial * ERROR_VALUES + stop):
        update(value)
    return sketch


def hll_error() -> float:
    """The error of one stream."""
    sketches = (stream(error_hll, trial, 0, ERROR_VALUES) for trial in range(TRIALS))
    return root_mean_square([sketch.get_estimate() / ERROR_VALUES - 1 for sketch in sketches])


def hll_merged_error() -> float:
    """The error of two halves that were merged."""
    errors = []
    for trial in range(TRIALS):
        union = datasketches.hll_union(ERROR_LOG_SIZE)
        union.update(stream(error_hll, trial, 0, ERROR_VALUES // 2))
        union.update(stream(error_hll, trial, ERROR_VALUES // 2, ERROR_VALUES))
        errors.append(union.get_estimate() / ERROR_VALUES - 1)
    return root_mean_square(errors)


def theta_error() -> float:
    """The error with the same number of digests: by itself a sketch here keeps up to 15/8 times its size of them."""
    errors = []
    for trial in range(TRIALS):
        sketch = stream(lambda: datasketches.update_theta_sketch(ERROR_LOG_SIZE), trial, 0, ERROR_VALUES)
        sketch.trim()
        errors.append(sketch.get_estimate() / ERROR_VALUES - 1)
    return root_mean_square(errors)


def hll() -> Any:
    """Return a HyperLogLog of the size that is timed."""
    return datasketches.hll_sketch(LOG_SIZE)


def error_hll() -> Any:
    """Return a HyperLogLog of the size whose error is measured."""
    return datasketches.hll_sketch(ERROR_LOG_SIZE)


def theta() -> Any:
    """Return a theta sketch."""
    return datasketches.update_theta_sketch(LOG_SIZE)


def count_min() -> Any:
    """Return a count-min sketch."""
    return datasketches.count_min_sketch(ROWS, WIDTH)


CASES = {
    "hll-integers": lambda: integers(hll),
    "hll-strings": lambda: strings(hll),
    "theta-integers": lambda: integers(theta),
    "theta-strings": lambda: strings(theta),
    "count-min-integers": lambda: integers(count_min),
    "count-min-strings": lambda: strings(count_min),
    "hll-error": hll_error,
    "hll-merged-error": hll_merged_error,
    "theta-error": theta_error,
}

if __name__ == "__main__":
    main(CASES)
