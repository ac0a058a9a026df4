"""Simulation of noisy iterations of contractions, many chains at once, to illustrate the theorems.

X_t = phi_t(X_{t-1}) + Z_t (Estrada Franco 2025, definition 5.2), all chains at once. The noise is real-valued:
quantiles of uniform doubles. That is for experiments and plots only: the gaps between doubles reveal more than the
theorems allow (Mironov 2012), so a release draws its noise differently.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source
    from celosia.divergences.magnitude import Noise

_Map: TypeAlias = "Callable[[NDArray[np.float64]], NDArray[np.float64]]"


def contractive_iteration(
    start: "ArrayLike",
    maps: Sequence[_Map],
    noises: "Sequence[Noise]",
    source: "Source | None" = None,
    *,
    size: int = 1,
) -> "NDArray[np.float64]":
    """Return the last states of ``size`` chains that begin at ``start``, a number or a vector.

    Each map takes the states of all chains, an array of shape (size,) or (size, dimension), to the next ones; each
    noise is `GaussianNoise`, `LaplaceNoise` or a frozen continuous SciPy distribution.

    >>> from celosia.divergences.magnitude import GaussianNoise
    >>> from celosia.noise import Seeded
    >>> halve = [lambda x: x / 2] * 20
    >>> states = contractive_iteration(8.0, halve, [GaussianNoise(variance=3)] * 20, Seeded(7), size=10_000)
    >>> states.shape, bool(abs(states.var() - 4) < 0.2)
    ((10000,), True)
    """
    if not len(maps) or len(maps) != len(noises):
        raise ParameterError("accounting.maps_and_noises_differ", maps=len(maps), noises=len(noises))
    origin = np.asarray(start)
    if origin.dtype.kind not in "iuf" or origin.ndim > 1 or not origin.size or not np.isfinite(origin).all():
        raise ParameterError("accounting.start_not_finite")
    source = source_or_system(source)
    states = np.broadcast_to(origin.astype(np.float64), (exact_integer(size, name="size"), *origin.shape))
    for contraction, noise in zip(maps, noises, strict=True):
        if not hasattr(noise, "ppf"):
            raise ParameterError("accounting.noise_without_quantiles", noise=safe_repr(noise))
        mapped = np.asarray(contraction(states), dtype=np.float64)
        if mapped.shape != states.shape:
            raise InputError("accounting.map_changed_shape", found=mapped.shape, wanted=states.shape)
        states = mapped + noise.ppf(_uniform(states.shape, source))
    return np.array(states)


def _uniform(shape: tuple[int, ...], source: "Source") -> "NDArray[np.float64]":
    """Draw doubles strictly between 0 and 1: odd multiples of 2^-53."""
    words = source.words(int(np.prod(shape))).reshape(shape) >> np.uint64(12)
    return np.asarray((2.0 * words + 1.0) * 2.0**-53)
