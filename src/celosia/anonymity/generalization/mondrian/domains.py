"""The domain of a column that Mondrian splits: its codes in the order of the splits, and where numbers are.

A number's place is between 0 and 1. Categories have no places: they are split in the order of their hierarchy, so that
neighbours belong together, or else in the order of their names.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import Coded
from celosia.anonymity.hierarchies import Levels
from celosia.anonymity.microdata import Microdata

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """A column's values in the order of the splits; ``positions`` are empty for categories.

    Code 0 is null, and code ``i`` is ``labels[i - 1]``.
    """

    name: str
    labels: "pa.Array"
    codes: "NDArray[np.int32]"
    positions: "NDArray[np.float64]"
    levels: Levels | None


def read_domain(data: Microdata, name: str, *, categorical: bool) -> Domain:
    """Return the domain of a column; ``categorical`` says that its numbers are names."""
    import pyarrow as pa

    (coded,) = data.encode([name])
    hierarchy = data.hierarchies.get(name)
    if not categorical and is_numeric(coded.labels.type):
        levels = None if hierarchy is None else hierarchy.generalize(coded.labels, name=name)
        return Domain(name, coded.labels, coded.codes + np.int32(1), _place_numbers(coded.labels), levels)
    if hierarchy is None:
        return Domain(name, coded.labels, coded.codes + np.int32(1), np.empty(0), None)
    above = hierarchy.generalize(coded.labels, name=name).codes
    order = np.lexsort(above)  # its last key, the top level, counts most
    ranks = np.empty(len(order) + 1, dtype=np.int32)
    ranks[order], ranks[-1] = np.arange(1, len(order) + 1, dtype=np.int32), 0
    labels = coded.labels.take(pa.array(order))
    return Domain(name, labels, ranks[coded.codes], np.empty(0), hierarchy.generalize(labels, name=name))


def is_numeric(kind: "pa.DataType") -> bool:
    """Return whether values of a type have distances: numbers, dates and times."""
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_temporal)
    return any(test(kind) for test in tests)


def _place_numbers(labels: "pa.Array") -> "NDArray[np.float64]":
    """Return the place of null, which does not count, and of each number between the least and the greatest."""
    import pyarrow as pa

    if pa.types.is_temporal(labels.type):
        narrow = labels.type.bit_width == 32
        labels = labels.cast(pa.int32() if narrow else pa.int64())
    numbers = labels.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if not len(numbers):
        return np.zeros(1)
    # Halved, so that the difference of the largest doubles is finite.
    width = numbers[-1] / 2 - numbers[0] / 2
    return np.append(0.0, (numbers / 2 - numbers[0] / 2) / width if width > 0 else np.zeros(len(numbers)))


def as_coded(domain: Domain) -> Coded:
    """Return the codes as a column whose code 0 is a value like others, for groups of equal rows."""
    import pyarrow as pa

    return Coded(domain.codes, pa.nulls(len(domain.labels) + 1))
