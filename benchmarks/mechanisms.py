"""Releases of one number and of a million, against the peers; and what a stopwatch learns of the noise."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Case
from benchmarks.peers.stopwatch import correlation_with_time
from celosia.mechanisms import BoundedLaplace, Exponential, Gaussian, Laplace, PermuteAndFlip, RandomizedResponse

SIZE = 1_000_000
CALLS = 5_000


def cases() -> list[Case]:
    """Return the cases of the room."""
    laplace = Laplace(epsilon=1, sensitivity=1)
    bounded = BoundedLaplace(epsilon=1, sensitivity=1, low=0, high=1000)
    gaussian = Gaussian(epsilon=1, delta="1e-6", sensitivity=1)
    reals, integers = np.zeros(SIZE), np.zeros(SIZE, dtype=np.int64)
    exponential, flip = Exponential(epsilon=1, sensitivity=1), PermuteAndFlip(epsilon=1, sensitivity=1)
    utilities = np.arange(100)
    response = RandomizedResponse(epsilon=1)
    answers = np.zeros(SIZE, dtype=np.bool_)
    pure = {"epsilon": 1}
    approximate = {"epsilon": 1, "delta": "1e-6"}
    many = {"n": SIZE}
    return [
        Case.timed(
            "vector Laplace, reals",
            lambda: laplace.release(reals),
            repeats=7,
            parameters=pure | many,
            peers={"opendp": "laplace-vector", "numpy": "laplace-vector"},
            aim="opendp: 100 x; numpy: 0.2 x, better 0.5 x",
        ),
        Case.timed(
            "vector Gaussian, reals",
            lambda: gaussian.release(reals),
            repeats=7,
            parameters=approximate | many,
            peers={"opendp": "gaussian-vector", "numpy": "gaussian-vector"},
            aim="opendp: 100 x; numpy: 0.2 x, better 0.5 x",
        ),
        Case.timed(
            "vector Laplace, integers",
            lambda: laplace.release(integers),
            repeats=7,
            parameters=pure | many,
            peers={"opendp": "laplace-int-vector", "numpy": "laplace-vector"},
            aim="opendp: 100 x",
        ),
        Case.timed(
            "vector Gaussian, integers",
            lambda: gaussian.release(integers),
            repeats=7,
            parameters=approximate | many,
            peers={"opendp": "gaussian-int-vector", "numpy": "gaussian-vector"},
            aim="opendp: 100 x",
        ),
        Case.timed(
            "scalar Laplace, integer",
            lambda: laplace.release(108),
            calls=CALLS,
            parameters=pure,
            peers={"diffprivlib": "laplace-scalar", "opendp": "laplace-scalar", "numpy": "laplace-scalar"},
            aim="diffprivlib: faster",
        ),
        Case.timed(
            "scalar Laplace, real",
            lambda: laplace.release(108.0),
            calls=CALLS,
            parameters=pure,
            peers={"diffprivlib": "laplace-scalar", "opendp": "laplace-float-scalar"},
            aim="diffprivlib: faster",
        ),
        Case.timed(
            "scalar bounded Laplace, integer",
            lambda: bounded.release(108),
            calls=CALLS,
            parameters=pure,
            peers={"diffprivlib": "laplace-bounded-scalar"},
        ),
        Case.timed(
            "scalar Gaussian, integer",
            lambda: gaussian.release(108),
            calls=CALLS,
            parameters=approximate,
            peers={"diffprivlib": "gaussian-scalar", "opendp": "gaussian-scalar"},
            aim="diffprivlib: faster",
        ),
        Case.timed(
            "new Laplace mechanism and one release",
            lambda: Laplace(epsilon=1, sensitivity=1).release(108),
            calls=CALLS,
            parameters=pure,
        ),
        Case.timed(
            "exponential, 100 candidates",
            lambda: exponential.release(utilities),
            calls=1_000,
            parameters=pure,
            peers={"diffprivlib": "exponential-100"},
        ),
        Case.timed("permute-and-flip, 100 candidates", lambda: flip.release(utilities), calls=1_000, parameters=pure),
        Case.timed(
            "randomized response, one answer",
            lambda: response.release(True),  # noqa: FBT003  # the answer
            calls=1_000,
            parameters=pure,
            peers={"diffprivlib": "randomized-response-scalar"},
        ),
        Case.timed("randomized response, a million", lambda: response.release(answers), parameters=pure | many),
        *(
            Case.number(
                f"timing of a {name} release tells its noise",
                lambda mechanism=mechanism, value=value: correlation_with_time(  # type: ignore[misc]
                    lambda: mechanism.release(value).value, value=value
                ),
                unit="Spearman",
                # Python keeps one object for each integer up to 256: there, an output that equals its input is a few
                # nanoseconds slower, and only a large input shows the mechanism alone.
                parameters={"calls": 3000, "value": value},
                peers=peers,
                aim="|ours| < 0.05",
            )
            for name, mechanism, peers in (
                ("Laplace", laplace, {"diffprivlib": "geometric-timing", "opendp": "laplace-timing"}),
                ("Gaussian", gaussian, {"diffprivlib": "gaussian-discrete-timing", "opendp": "gaussian-timing"}),
            )
            for value in (0, 108, 10_000)
        ),
    ]
