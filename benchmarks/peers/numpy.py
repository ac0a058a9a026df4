"""NumPy's floating-point generators: neither cryptographic nor exact, so not safe. They mark how fast it can be."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.stopwatch import correlation_with_time, main, seconds

RNG = np.random.default_rng()
VALUES = np.zeros(1_000_000)

CASES = {
    "laplace-scalar": lambda: seconds(lambda: RNG.laplace(0.0, 1.0), calls=20_000),
    "gaussian-scalar": lambda: seconds(lambda: RNG.normal(0.0, 1.0), calls=20_000),
    "laplace-vector": lambda: seconds(lambda: VALUES + RNG.laplace(0.0, 1.0, VALUES.size), repeats=7),
    "gaussian-vector": lambda: seconds(lambda: VALUES + RNG.normal(0.0, 1.0, VALUES.size), repeats=7),
    "laplace-timing": lambda: correlation_with_time(lambda: RNG.laplace(0.0, 1.0)),
    "gaussian-timing": lambda: correlation_with_time(lambda: RNG.normal(0.0, 1.0)),
}

if __name__ == "__main__":
    main(CASES)
