"""IBM's diffprivlib: its mechanisms release one number per call.

It has no queries: a grouped question is written by hand, NumPy's counts and sums with its noise on each.
"""

from __future__ import annotations

import numpy as np
from diffprivlib import mechanisms

from benchmarks.peers.diffprivlib_models import MODEL_CASES
from benchmarks.peers.question import BOUNDS, GROUPS, path
from benchmarks.peers.stopwatch import correlation_with_time, main, peak_megabytes, seconds

LAPLACE = mechanisms.Laplace(epsilon=1, sensitivity=1)
BOUNDED = mechanisms.LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower=0, upper=1000)
GAUSSIAN = mechanisms.GaussianAnalytic(epsilon=1, delta=1e-6, sensitivity=1)
DISCRETE_GAUSSIAN = mechanisms.GaussianDiscrete(epsilon=1, delta=1e-6, sensitivity=1)
GEOMETRIC = mechanisms.Geometric(epsilon=1, sensitivity=1)
GEOMETRIC_TRUNCATED = mechanisms.GeometricTruncated(epsilon=1, sensitivity=1, lower=-1000, upper=1000)
EXPONENTIAL = mechanisms.Exponential(epsilon=1, sensitivity=1, utility=[float(index) for index in range(100)])
BINARY = mechanisms.Binary(epsilon=1, value0="no", value1="yes")


def by_group(column: str) -> list[tuple[float, float, float]]:
    """Count, sum and mean of each group of the table of ``benchmarks/query.py``."""
    import pyarrow.parquet as pq

    low, high = BOUNDS[column]
    table = pq.read_table(path(), columns=["g", column])
    groups = table["g"].to_numpy()
    counts = np.bincount(groups, minlength=GROUPS)
    sums = np.bincount(groups, weights=np.clip(table[column].to_numpy(), low, high), minlength=GROUPS)
    count = mechanisms.Geometric(epsilon=0.5, sensitivity=1)
    total = mechanisms.Laplace(epsilon=0.5, sensitivity=high)
    noisy = [
        (count.randomise(int(rows)), total.randomise(float(value))) for rows, value in zip(counts, sums, strict=True)
    ]
    return [(rows, value, value / max(rows, 1)) for rows, value in noisy]


def peak() -> float:
    """Most memory held while a grouped question is answered."""
    by_group("age")
    return peak_megabytes()


CASES = {
    "laplace-scalar": lambda: seconds(lambda: LAPLACE.randomise(108), calls=2000),
    "laplace-bounded-scalar": lambda: seconds(lambda: BOUNDED.randomise(108), calls=2000),
    "gaussian-scalar": lambda: seconds(lambda: GAUSSIAN.randomise(108), calls=2000),
    "gaussian-discrete-scalar": lambda: seconds(lambda: DISCRETE_GAUSSIAN.randomise(108), calls=500),
    "geometric-scalar": lambda: seconds(lambda: GEOMETRIC.randomise(108), calls=2000),
    "geometric-truncated-scalar": lambda: seconds(lambda: GEOMETRIC_TRUNCATED.randomise(108), calls=2000),
    "exponential-100": lambda: seconds(EXPONENTIAL.randomise, calls=2000),
    "randomized-response-scalar": lambda: seconds(lambda: BINARY.randomise("yes"), calls=2000),
    "laplace-timing": lambda: correlation_with_time(lambda: LAPLACE.randomise(0)),
    "geometric-timing": lambda: correlation_with_time(lambda: GEOMETRIC.randomise(0)),
    "gaussian-discrete-timing": lambda: correlation_with_time(lambda: DISCRETE_GAUSSIAN.randomise(0)),
    "parquet-age": lambda: seconds(lambda: by_group("age"), repeats=3),
    "parquet-weight": lambda: seconds(lambda: by_group("weight"), repeats=3),
    "peak": peak,
    **MODEL_CASES,
}

if __name__ == "__main__":
    main(CASES)
