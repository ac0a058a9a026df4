"""Exact samplers against NumPy's unsafe ones, what they take from the source, and what a stopwatch learns of them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from benchmarks.harness import Case
from benchmarks.peers.stopwatch import correlation_with_time
from celosia.noise import DiscreteGaussian, DiscreteLaplace, System, bernoulli, permutation, uniform_below
from celosia.noise.cells import cells_for

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

SIZE = 1_000_000
SCALES: dict[str, Fraction] = {"0.3": Fraction(3, 10), "1": Fraction(1), "1e3": Fraction(1000), "2^30": Fraction(2**30)}


class Counting:
    """The system's source, counting the words that it gives."""

    seeded = False

    def __init__(self) -> None:
        self._system = System()
        self.count = 0

    def word(self) -> int:
        """Return 64 bits."""
        self.count += 1
        return self._system.word()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return words of 64 bits."""
        self.count += count
        return self._system.words(count)


def words_per_draw(distribution: DiscreteLaplace | DiscreteGaussian) -> float:
    """Return the entropy spent, in words of 64 bits a draw."""
    source = Counting()
    distribution.sample(SIZE, source)
    return source.count / SIZE


def fresh_tables() -> Callable[[], object]:
    """Return an action that builds the tables of a scale that was never used before."""
    number = iter(range(10**6, 10**9))
    return lambda: cells_for(Fraction(1, next(number)), Fraction(0), signed=True)


def cases() -> list[Case]:
    """Return the cases of the room."""
    rows = []
    for label, scale in SCALES.items():
        laplace, gaussian = DiscreteLaplace(scale), DiscreteGaussian(scale**2)
        parameters = {"n": SIZE, "scale": label}
        for name, distribution, peer in (
            ("discrete Laplace draws", laplace, "laplace-vector"),
            ("discrete Gaussian draws", gaussian, "gaussian-vector"),
        ):
            rows += [
                Case.timed(
                    name,
                    lambda distribution=distribution: distribution.sample(SIZE),  # type: ignore[misc]
                    repeats=7,
                    parameters=parameters,
                    peers={"numpy": peer},
                    aim="numpy: 0.2 x, better 0.5 x",
                ),
                Case.number(
                    f"{name}: entropy",
                    lambda distribution=distribution: words_per_draw(distribution),  # type: ignore[misc]
                    unit="words a draw",
                    parameters=parameters,
                ),
            ]
    source = System()
    ten = DiscreteLaplace(10)
    return [
        *rows,
        Case.timed("tables of a new scale", fresh_tables(), calls=20),
        Case.timed("coins, p = 1/3", lambda: bernoulli("1/3", SIZE), parameters={"n": SIZE}),
        Case.timed("integers below 1000", lambda: uniform_below(1000, SIZE), parameters={"n": SIZE}),
        Case.timed("permutation", lambda: permutation(SIZE), repeats=3, parameters={"n": SIZE}),
        Case.timed("keystream, 8 MB", lambda: source.words(SIZE), repeats=7),
        Case.timed("scalar discrete Laplace draw", lambda: ten.draw(source), calls=20_000, parameters={"scale": 10}),
        Case.number(
            "timing of a scalar draw tells its size",
            lambda: correlation_with_time(lambda: ten.draw(source)),
            unit="Spearman",
            parameters={"calls": 3000},
            aim="|ours| < 0.05",
        ),
    ]
