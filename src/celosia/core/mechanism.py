"""Protocols of a source of randomness and of a mechanism that draws from it.

They are structural: a third party's class is a mechanism if it has these members, and
``celosia.testing.check_mechanism`` checks whether it keeps its guarantee.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from celosia.core.events import Event
from celosia.core.guarantees import Guarantee
from celosia.core.release import Release

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Source(Protocol):
    """Source of random words. ``celosia.noise.System`` is the default, ``celosia.noise.Seeded`` is for tests.

    >>> from celosia.noise import Seeded
    >>> isinstance(Seeded(7), Source)
    True
    """

    @property
    def seeded(self) -> bool:
        """Whether the stream is repeatable; a release drawn from such a stream protects no one.

        >>> from celosia.noise import Seeded
        >>> Seeded(7).seeded
        True
        """

    def word(self) -> int:
        """Return 64 uniform bits.

        >>> from celosia.noise import Seeded
        >>> Seeded(7).word() == Seeded(7).word()
        True
        """

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return ``count`` independent words of 64 uniform bits.

        >>> from celosia.noise import Seeded
        >>> Seeded(7).words(3).shape
        (3,)
        """


@runtime_checkable
class Mechanism(Protocol):
    """Protocol of a mechanism: it turns a true value into a private one, and states the cost.

    >>> from celosia.mechanisms import Laplace
    >>> isinstance(Laplace(epsilon=1, sensitivity=1), Mechanism)
    True
    """

    @property
    def event(self) -> Event:
        """The event of one release, for a ledger to reserve.

        >>> from celosia.mechanisms import Laplace
        >>> Laplace(epsilon=1, sensitivity=1).event
        LaplaceEvent(scale=1, sensitivity=1)
        """

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one release.

        >>> from celosia.mechanisms import Laplace
        >>> Laplace(epsilon=1, sensitivity=1).guarantee
        PureDP(epsilon=1)
        """

    def release(self, value: Any, /, *, source: Source | None = None) -> Release[Any]:
        """Return the private answer; ``source`` is the operating system's unless a test passes another.

        >>> from celosia.mechanisms import Laplace
        >>> isinstance(Laplace(epsilon=1, sensitivity=1).release(108).value, int)
        True
        """


@runtime_checkable
class Tabulated(Protocol):
    """Protocol of a mechanism with known output probabilities, so that neighbours are compared without sampling.

    >>> from celosia.mechanisms import Laplace
    >>> isinstance(Laplace(epsilon=1, sensitivity=1), Tabulated)
    True
    """

    def outputs(self, value: Any, /) -> Sequence[Any] | None:
        """Return outputs that carry all but 1e-12 of the probability, or None if there is no table for this value.

        >>> from celosia.mechanisms import PermuteAndFlip
        >>> list(PermuteAndFlip(epsilon=1, sensitivity=1).outputs([3, 1, 2]))
        [0, 1, 2]
        """

    def log_masses(self, value: Any, outputs: Sequence[Any], /) -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each output, given the true value.

        >>> import math
        >>> from celosia.mechanisms import Laplace
        >>> here, there = Laplace(epsilon=1, sensitivity=1).log_masses(108, [108, 109])
        >>> math.isclose(here - there, 1)
        True
        """
