"""Base classes of the sketches: a seed, and parameters that two sketches must share to be merged."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.sketches.base.weights import MAX_COUNTER
from celosia.sketches.hashing.digest import as_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Sketch(ABC):
    """A mutable summary of a stream with fixed parameters."""

    __slots__ = ("seed",)

    _NOT_ALIKE: ClassVar[str] = "sketches.sketches_not_alike"

    seed: Final[int]
    """The seed of the hash functions."""

    def __init__(self, seed: int) -> None:
        self.seed = int(as_seed(seed))

    @abstractmethod
    def _parameters(self) -> tuple[int, ...]:
        """Return what two sketches of a class must share to be merged."""

    def _require_alike(self, other: Self) -> None:
        if type(other) is not type(self) or self._parameters() != other._parameters():
            raise ParameterError(self._NOT_ALIKE, sketch=repr(self), other=safe_repr(other))


class ArraySketch(Sketch):
    """A sketch whose state is one array of integers."""

    __slots__ = ("_state",)

    _state: "NDArray[Any]"

    @property
    def memory(self) -> int:
        """The bytes of the state."""
        return self._state.nbytes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._parameters() == other._parameters() and bool(np.array_equal(self._state, other._state))

    __hash__ = None  # type: ignore[assignment] # mutable


class WeightedSketch(Sketch):
    """A sketch of a stream whose values have weights, negative ones too."""

    __slots__ = ("_total", "_volume")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._total = 0
        self._volume = 0

    @property
    def total(self) -> int:
        """The sum of all weights."""
        return self._total

    @property
    def volume(self) -> int:
        """The sum of all weights without their signs: no norm of the frequencies is larger."""
        return self._volume

    def _require_room(self, volume: int) -> None:
        if self._volume + volume > MAX_COUNTER:
            raise InputError("sketches.total_weight_too_large")
