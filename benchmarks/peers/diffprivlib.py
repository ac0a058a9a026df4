"""IBM's diffprivlib: its mechanisms release one number per call."""

from __future__ import annotations

from diffprivlib import mechanisms

from benchmarks.peers.stopwatch import correlation_with_time, main, seconds

LAPLACE = mechanisms.Laplace(epsilon=1, sensitivity=1)
GAUSSIAN = mechanisms.GaussianAnalytic(epsilon=1, delta=1e-6, sensitivity=1)
DISCRETE_GAUSSIAN = mechanisms.GaussianDiscrete(epsilon=1, delta=1e-6, sensitivity=1)
GEOMETRIC = mechanisms.Geometric(epsilon=1, sensitivity=1)
GEOMETRIC_TRUNCATED = mechanisms.GeometricTruncated(epsilon=1, sensitivity=1, lower=-1000, upper=1000)
EXPONENTIAL = mechanisms.Exponential(epsilon=1, sensitivity=1, utility=[float(index) for index in range(100)])
BINARY = mechanisms.Binary(epsilon=1, value0="no", value1="yes")

CASES = {
    "laplace-scalar": lambda: seconds(lambda: LAPLACE.randomise(108), calls=2000),
    "gaussian-scalar": lambda: seconds(lambda: GAUSSIAN.randomise(108), calls=2000),
    "gaussian-discrete-scalar": lambda: seconds(lambda: DISCRETE_GAUSSIAN.randomise(108), calls=500),
    "geometric-scalar": lambda: seconds(lambda: GEOMETRIC.randomise(108), calls=2000),
    "geometric-truncated-scalar": lambda: seconds(lambda: GEOMETRIC_TRUNCATED.randomise(108), calls=2000),
    "exponential-100": lambda: seconds(EXPONENTIAL.randomise, calls=2000),
    "randomized-response-scalar": lambda: seconds(lambda: BINARY.randomise("yes"), calls=2000),
    "laplace-timing": lambda: correlation_with_time(lambda: LAPLACE.randomise(0)),
    "geometric-timing": lambda: correlation_with_time(lambda: GEOMETRIC.randomise(0)),
    "gaussian-discrete-timing": lambda: correlation_with_time(lambda: DISCRETE_GAUSSIAN.randomise(0)),
}

if __name__ == "__main__":
    main(CASES)
