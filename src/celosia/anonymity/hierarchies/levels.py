"""What a hierarchy makes of some values, level by level, and the protocol of a hierarchy.

Level 0 is the value itself, each further level is coarser, and the last one is ``*``: any value.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import numpy as np

from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

ANY: Final = "*"
"""The value that stands for all others."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Some values at every level: value ``i`` becomes ``labels[level][codes[level, i]]``.

    ``shares[level]`` has the part of the domain that each label stands for: 1 at the last level.
    """

    codes: "NDArray[np.int32]"
    labels: "tuple[pa.Array, ...]"
    shares: "tuple[NDArray[np.float64], ...]"

    @property
    def height(self) -> int:
        """The number of levels, with level 0."""
        return len(self.labels)


@runtime_checkable
class Hierarchy(Protocol):
    """Protocol of a hierarchy: it generalizes values of one column.

    >>> from celosia.anonymity import Prefixes
    >>> isinstance(Prefixes(5), Hierarchy)
    True
    """

    @property
    def height(self) -> int:
        """The number of levels: level 0 is the values themselves, the last one is ``*``."""

    def generalize(self, values: "pa.Array", *, name: str) -> Levels:
        """Return different values at every level; ``name`` is the column's, for the error about one that is missing."""


def make_levels(values: "pa.Array", texts: "Sequence[Sequence[str]]", sizes: "Sequence[ArrayLike]") -> Levels:
    """Return levels from the text of each value at each level above 0, and how much of the domain it covers.

    ``sizes[level]`` goes with ``texts``; level 0 and the last are given too: there are two more sizes than texts.
    """
    import pyarrow as pa

    count = len(values)
    codes, labels = [np.arange(count, dtype=np.int32)], [values]
    shares = [np.asarray(sizes[0], dtype=np.float64)]
    for line, size in zip(texts, sizes[1:-1], strict=True):
        found, first, ids = np.unique(np.array(line, dtype=object), return_index=True, return_inverse=True)
        codes.append(ids.astype(np.int32))
        labels.append(pa.array(found.tolist(), pa.string()))
        shares.append(np.asarray(size, dtype=np.float64)[first])
    codes.append(np.zeros(count, dtype=np.int32))
    labels.append(pa.array([ANY]))
    shares.append(np.ones(1))
    return Levels(np.array(codes), tuple(labels), tuple(shares))


@dataclass(frozen=True, slots=True, eq=False)
class UpperLevels:
    """The hierarchy of a column that was generalized: its labels, and the levels above them.

    ``take_upper_levels`` makes one. Shares stay those of the original domain.
    """

    levels: Levels

    @property
    def height(self) -> int:
        """The number of levels that are left."""
        return self.levels.height

    def generalize(self, values: "pa.Array", *, name: str) -> Levels:
        """Return labels at every level that is left."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = values.cast(pa.string())
        places = pc.index_in(texts, value_set=self.levels.labels[0].cast(pa.string()))
        if places.null_count:
            raise SchemaError("anonymity.hierarchy_with_gap", name=safe_repr(name))
        rows = places.to_numpy()
        codes = self.levels.codes[:, rows]
        codes[0] = np.arange(len(values), dtype=np.int32)
        shares = (self.levels.shares[0][rows], *self.levels.shares[1:])
        return Levels(codes, (values, *self.levels.labels[1:]), shares)


def take_upper_levels(levels: Levels, level: int) -> UpperLevels:
    """Return the hierarchy of values that were generalized to a level."""
    below, above = levels.codes[level], levels.codes[level:]
    codes = np.empty((len(above), len(levels.labels[level])), dtype=np.int32)
    codes[:, below] = above
    return UpperLevels(Levels(codes, levels.labels[level:], levels.shares[level:]))


def check_nested(codes: "NDArray[np.int32]") -> int:
    """Return the first level that splits a label of the level before it, or 0 if none does."""
    for level in range(1, len(codes)):
        above = np.full(int(codes[level - 1].max(initial=0)) + 1, -1, dtype=np.int32)
        above[codes[level - 1]] = codes[level]
        if not np.array_equal(above[codes[level - 1]], codes[level]):
            return level
    return 0


def check_level(level: int, height: int, *, name: str) -> int:
    """Return a level of a hierarchy, or raise the error that names the column."""
    if isinstance(level, bool) or not 0 <= level < height:
        raise ParameterError("anonymity.unknown_level", name=safe_repr(name), level=safe_repr(level), last=height - 1)
    return level
