"""Release of keys that are not known beforehand: those that enough units share.

Which diagnoses, words or places occur in a table is private, because one of them may occur through one person only. So
the number of units of every key gets two-sided geometric noise, and only keys whose noisy number reaches a threshold
are shown. A key that one unit alone is in reaches it with probability ``delta`` at most, over all keys that the unit is
in; for all others the noise gives ``epsilon``. Keys without a unit are never considered, and there may be any number of
them.

Korolova, Kenthapadi, Mishra and Ntoulas 2009; Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson 2020.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from celosia.accounting.prices.key_selection import least_threshold
from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError, ParameterError
from celosia.core.events import KeySelectionEvent
from celosia.core.exact import Exact, exact_epsilon, exact_integer, exact_level, exact_positive, safe_repr
from celosia.core.guarantees import ApproxDP
from celosia.core.release import Release
from celosia.mechanisms.grid import add_to_array
from celosia.mechanisms.scoped import ScopedMechanism
from celosia.noise.laplace import DiscreteLaplace
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source

Key = TypeVar("Key", bound=Hashable)

_MAX_NOISE_WIDTH = 2**40  # steps of noise: beyond, a threshold would not fit in 64 bits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SelectedKeys:
    """Which of the keys are shown, and the noisy numbers of units of those that are.

    ``mask`` reveals the true number of keys: use it to pick the keys, and do not release it.

    >>> from celosia.noise import Seeded
    >>> StableKeys(epsilon=1, delta="1e-6").select([500, 1, 300], source=Seeded(7))
    <SelectedKeys: 2 shown>
    """

    mask: "NDArray[np.bool_]"
    counts: "NDArray[np.int64]"

    def __repr__(self) -> str:
        return f"<SelectedKeys: {self.counts.size} shown>"


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class StableKeys(ScopedMechanism):
    """Show the keys that enough units share, with their noisy numbers of units.

    Parameters
    ----------
    epsilon, delta
        For all keys together.
    groups
        The largest number of keys of one unit; it counts once in each.
    adjacency, unit
        Whether one unit is there or not, or has other keys, and what a unit is.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> keys = StableKeys(epsilon=1, delta="1e-6")
    >>> keys.threshold
    15
    >>> keys.release({"I219": 500, "U071": 300, "Q999": 1}, source=Seeded(7))
    Release({'I219': 504, 'U071': 302}, ApproxDP(epsilon=1, delta='1e-06'), seeded=True)
    """

    epsilon: Fraction
    delta: Fraction
    groups: int = 1

    def __init__(
        self, *, epsilon: Exact, delta: Exact, groups: int = 1, adjacency: Adjacency = AddRemove, unit: str = "row"
    ) -> None:
        chance = exact_positive(delta, name="delta")
        if chance >= 1:
            raise ParameterError("core.delta_too_large", delta=safe_repr(delta))
        self._set(epsilon=exact_epsilon(epsilon), delta=chance, groups=exact_integer(groups, name="groups"))
        self._set_scope(adjacency, unit)
        if self._max_keys / self.epsilon > _MAX_NOISE_WIDTH:
            raise ParameterError(
                "mechanisms.noise_beyond_integers", epsilon=safe_repr(epsilon), groups=safe_repr(groups)
            )

    @property
    def _max_keys(self) -> int:
        return self.groups if self.adjacency is AddRemove else 2 * self.groups

    @property
    def threshold(self) -> int:
        """The noisy number of units that a key must reach: the smallest that keeps ``delta``.

        >>> StableKeys(epsilon=1, delta="1e-6", groups=3).threshold
        45
        """
        return _threshold(self._max_keys / self.epsilon, self.delta / self._max_keys)

    @property
    def event(self) -> KeySelectionEvent:
        """The event of a release.

        >>> StableKeys(epsilon="0.5", delta="1e-6").event
        KeySelectionEvent(scale=2, threshold=28)
        """
        return KeySelectionEvent(
            scale=self._max_keys / self.epsilon,
            threshold=self.threshold,
            groups=self.groups,
            adjacency=self.adjacency,
            unit=self.unit,
        )

    @property
    def guarantee(self) -> ApproxDP:
        """The guarantee of a release.

        >>> StableKeys(epsilon=1, delta="1e-6").guarantee
        ApproxDP(epsilon=1, delta='1e-06')
        """
        return ApproxDP(epsilon=self.epsilon, delta=self.delta, adjacency=self.adjacency, unit=self.unit)

    def release(self, counts: Mapping[Key, int], /, *, source: "Source | None" = None) -> Release[dict[Key, int]]:
        """Return the keys that are shown, sorted, with their noisy numbers of units.

        ``counts`` maps every key to its number of units; a key with none is ignored.

        >>> StableKeys(epsilon=1, delta="1e-6").release({"rare": 1, "absent": 0}).value
        {}
        """
        if not isinstance(counts, Mapping):
            raise InputError("mechanisms.counts_not_a_mapping", type=type(counts).__name__)
        source = source_or_system(source)
        names, numbers = list(counts), list(counts.values())
        chosen = self.select(np.asarray(numbers) if numbers else np.empty(0, dtype=np.int64), source=source)
        shown = [names[index] for index in np.flatnonzero(chosen.mask)]
        order = _sorted(shown)  # the order of the table would reveal keys between them
        return Release(
            value={shown[place]: int(chosen.counts[place]) for place in order},
            event=self.event,
            guarantee=self.guarantee,
            seeded=source.seeded,
        )

    def select(self, counts: "ArrayLike", /, *, source: "Source | None" = None) -> SelectedKeys:
        """Return which of many keys are shown, and their noisy numbers, for a table that holds the keys itself.

        A table may come in parts, each key in one of them: all parts together are one release.

        >>> from celosia.noise import Seeded
        >>> chosen = StableKeys(epsilon=1, delta="1e-6").select([500, 1, 300], source=Seeded(7))
        >>> chosen.mask.tolist(), chosen.counts.tolist()
        ([True, False, True], [504, 300])
        """
        numbers = np.asarray(counts)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            if numbers.size or numbers.ndim != 1:
                raise InputError("mechanisms.counts_not_integers")
            numbers = numbers.astype(np.int64)
        noise = DiscreteLaplace(self._max_keys / self.epsilon).sample(numbers.size, source_or_system(source))
        noisy = np.asarray(add_to_array(numbers, noise, None), dtype=np.int64)
        mask = (numbers > 0) & (noisy >= self.threshold)
        return SelectedKeys(mask=mask, counts=noisy[mask])

    def error(self, level: Exact = 0.95) -> int:
        """Return a bound on the error of the noisy number of a surely shown key, with probability ``level`` or more.

        Of keys near the threshold those with large noise are shown: their numbers are too large more often.

        >>> StableKeys(epsilon=1, delta="1e-6").error(0.95)
        3
        """
        return DiscreteLaplace(self._max_keys / self.epsilon).margin(exact_level(level))

    def sure_count(self, level: Exact = 0.95) -> int:
        """Return the number of units from which on a key is shown with probability ``level`` or more.

        >>> StableKeys(epsilon=1, delta="1e-6").sure_count(0.95)
        17
        """
        # With n >= T units it is missed with probability r^(n - T + 1) / (1 + r).
        scale = self._max_keys / self.epsilon
        missed = (1 - exact_level(level)) * (1 + math.exp(-1 / scale))
        beyond = math.ceil(-float(scale) * math.log(missed) - 1e-9)
        return self.threshold + max(0, beyond - 1)


@lru_cache(maxsize=256)
def _threshold(scale: Fraction, tail: Fraction) -> int:
    return least_threshold(scale, tail)


def _sorted(keys: list[Any]) -> list[int]:
    """Return the places of the keys in an order that depends on nothing but the keys."""
    places = sorted(range(len(keys)), key=lambda place: repr(keys[place]))
    try:
        return sorted(places, key=keys.__getitem__)
    except TypeError:  # keys of several types
        return places
