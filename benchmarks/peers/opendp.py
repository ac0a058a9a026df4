"""OpenDP: exact samplers in Rust, the peer that promises what we promise.

Its vector mechanisms take about a minute for a million coordinates, so they run once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import opendp.prelude as dp

from benchmarks.peers.stopwatch import correlation_with_time, main, seconds

dp.enable_features("contrib")

SIZE = 1_000_000
# The scale at which a Gaussian of sensitivity 1 is (1, 1e-6)-private, by the exact calibration.
SIGMA = 4.2248


def integer_laplace() -> Any:  # OpenDP ships no types for its measurements
    """One integer, discrete Laplace noise of scale 1."""
    return dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)


def float_laplace() -> Any:
    """One float, Laplace noise of scale 1 on OpenDP's grid."""
    return dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)


def integer_gaussian() -> Any:
    """One integer, discrete Gaussian noise."""
    return dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=SIGMA)


@cache
def vector(kind: str) -> Any:
    """A million numbers; kind is the noise and the numbers' type, as in ``laplace-float``."""
    noise, _, number = kind.partition("-")
    atom = dp.atom_domain(T=int) if number == "int" else dp.atom_domain(T=float, nan=False)
    scalar = int if number == "int" else float
    if noise == "laplace":
        return dp.m.make_laplace(dp.vector_domain(atom), dp.l1_distance(T=scalar), scale=1.0)
    return dp.m.make_gaussian(dp.vector_domain(atom), dp.l2_distance(T=scalar), scale=SIGMA)


def vector_seconds(kind: str) -> float:
    """Time of one release of a million numbers."""
    mechanism = vector(kind)
    values: list[float] = [0 if kind.endswith("int") else 0.0] * SIZE
    return seconds(lambda: mechanism(values), repeats=1, warm=False)


def scalar_seconds(mechanism: Any, value: float) -> float:
    """Time of one release of one number."""
    return seconds(lambda: mechanism(value), calls=1000)


CASES = {
    "laplace-scalar": lambda: scalar_seconds(integer_laplace(), 108),
    "laplace-float-scalar": lambda: scalar_seconds(float_laplace(), 108.0),
    "gaussian-scalar": lambda: scalar_seconds(integer_gaussian(), 108),
    "laplace-vector": lambda: vector_seconds("laplace-float"),
    "laplace-int-vector": lambda: vector_seconds("laplace-int"),
    "gaussian-vector": lambda: vector_seconds("gaussian-float"),
    "gaussian-int-vector": lambda: vector_seconds("gaussian-int"),
    "laplace-timing": lambda: timing(integer_laplace()),
    "gaussian-timing": lambda: timing(integer_gaussian()),
}


def timing(mechanism: Any) -> float:
    """How much a call's duration tells of its noise."""
    return correlation_with_time(lambda: float(mechanism(0)))


if __name__ == "__main__":
    main(CASES)
