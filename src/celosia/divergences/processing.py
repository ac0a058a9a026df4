"""A search for counterexamples to post-processing, for any divergence.

A measure of privacy must not grow when both sides are put through the same kernel (definition 2.3 of Estrada Franco
2025), or privacy could be lost after the release. The search tries every merging of outcomes on small grids of
distributions, then random distributions and kernels from a seeded source. Finding nothing proves nothing; a
counterexample is conclusive, and is returned.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.divergences.distributions.arguments import as_order
from celosia.noise import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_GRAIN = 4
_TOLERANCE = 1e-9
_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counterexample:
    """Two distributions that a kernel (one row of probabilities per outcome) drives further apart.

    >>> found = obeys_post_processing(lambda p, q: float(((p - q) ** 2).sum()))
    >>> found.after > found.before, np.allclose(found.p @ found.kernel, found.p @ found.kernel)
    (True, True)
    """

    p: "NDArray[np.float64]"
    q: "NDArray[np.float64]"
    kernel: "NDArray[np.float64]"
    before: float
    after: float


def obeys_post_processing(
    divergence: "Callable[[NDArray[np.float64], NDArray[np.float64]], float]",
    *,
    size: int = 4,
    trials: int = 500,
    source: "Source | None" = None,
) -> Counterexample | None:
    """Look for a counterexample to post-processing; None if none was found.

    ``divergence`` takes two aligned arrays of probabilities, of ``size`` outcomes: up to 5, and with fewer than 4 much
    is missed. The largest difference of two probabilities grows when outcomes are merged, but not of 3 outcomes, where
    the two that are merged make up for the third. ``source`` drives the random part (by default a fixed
    seed, so that the search can be repeated).

    >>> from celosia.divergences import kl
    >>> obeys_post_processing(kl, size=3, trials=50) is None
    True
    >>> obeys_post_processing(lambda p, q: float(abs(p - q).max())).after
    0.5
    """
    size, trials = exact_integer(size, name="size", least=2), exact_integer(trials, name="trials", least=0)
    if size > 5:
        raise ParameterError("divergences.size_too_large", size=size)
    if not callable(divergence):
        raise ParameterError("divergences.divergence_not_a_function", divergence=safe_repr(divergence))
    stream = Seeded(_SEED) if source is None else source
    for p, q, kernel in itertools.chain(_enumerate_trials(size), _draw_trials(size, trials, stream)):
        before, after = _value(divergence, p, q), _value(divergence, p @ kernel, q @ kernel)
        if after > before + _TOLERANCE * (1 + abs(before)):
            return Counterexample(p=p, q=q, kernel=kernel, before=before, after=after)
    return None


def _value(
    divergence: "Callable[[NDArray[np.float64], NDArray[np.float64]], float]",
    p: "NDArray[np.float64]",
    q: "NDArray[np.float64]",
) -> float:
    return as_order(divergence(p, q), least=-math.inf, name=f"divergence of {p.tolist()} and {q.tolist()}")


_Trial = tuple["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"]


def _enumerate_trials(size: int) -> Iterator[_Trial]:
    """Yield every pair of distributions in quarters, with every merging of two outcomes: others consist of these."""
    steps = itertools.product(range(_GRAIN + 1), repeat=size)
    grid = [np.array(parts) / _GRAIN for parts in steps if sum(parts) == _GRAIN]
    for kept, gone in itertools.combinations(range(size), 2):
        kernel = np.eye(size)
        kernel[gone, [gone, kept]] = 0.0, 1.0
        for p, q in itertools.product(grid, repeat=2):
            yield p, q, kernel


def _draw_trials(size: int, trials: int, source: "Source") -> Iterator[_Trial]:
    """Yield random pairs and random kernels; a third of the kernels are nearly deterministic."""
    shape = (trials, size + 2, size)
    uniform = (source.words(math.prod(shape)).reshape(shape) >> np.uint64(11)) / 2.0**53
    # Normalised exponential draws are uniform on the simplex; powers of them crowd towards its corners.
    weights = -np.log1p(-uniform) + 1e-12
    weights[::3, 2:] = weights[::3, 2:] ** 8 + 1e-12
    simplex = weights / weights.sum(axis=2, keepdims=True)
    for block in simplex:
        yield block[0], block[1], block[2:]
