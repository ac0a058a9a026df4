"""Columns as a method compares them: numbers on a common scale, ordered values by rank, names by equality."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from celosia.anonymity.coding import Coded, encode
from celosia.anonymity.masking.microaggregation.centers import average_groups, find_group_medians, find_group_modes
from celosia.anonymity.masking.parts import get_complete_codes, get_complete_numbers
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A numeric column, whose center is the mean."""

    values: "NDArray[np.float64]"

    def take(self, rows: "NDArray[np.int64]") -> "Numbers":
        """Return the column of some rows."""
        return Numbers(self.values[rows])

    def aggregate(self, groups: "NDArray[np.int64]") -> "pa.Array":
        """Return the mean of each record's group."""
        import pyarrow as pa

        return pa.array(average_groups(self.values, groups))


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """A column of ordered values, whose center is the lower median; ``ranks`` are the places of its values."""

    coded: Coded
    ranks: "NDArray[np.int64]"

    @property
    def values(self) -> "NDArray[np.float64]":
        """The ranks as numbers."""
        return self.ranks.astype(np.float64)

    def take(self, rows: "NDArray[np.int64]") -> "Ordered":
        """Return the column of some rows."""
        return Ordered(self.coded.take(rows), self.ranks[rows])

    def aggregate(self, groups: "NDArray[np.int64]") -> "pa.Array":
        """Return the median of each record's group."""
        back = np.zeros(int(self.ranks.max(initial=0)) + 1, dtype=np.int32)
        back[self.ranks] = self.coded.codes
        return Coded(back[find_group_medians(self.ranks, groups)], self.coded.labels).decode()


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """A column of names, whose center is the most frequent one; a null is a name like others."""

    coded: Coded

    @property
    def codes(self) -> "NDArray[np.int64]":
        """The codes from 0, which is null."""
        return self.coded.codes.astype(np.int64) + 1

    @property
    def values(self) -> "NDArray[np.float64]":
        """The codes as numbers."""
        return self.codes.astype(np.float64)

    def take(self, rows: "NDArray[np.int64]") -> "Names":
        """Return the column of some rows."""
        return Names(self.coded.take(rows))

    def aggregate(self, groups: "NDArray[np.int64]") -> "pa.Array":
        """Return the most frequent name of each record's group."""
        return Coded((find_group_modes(self.codes, groups) - 1).astype(np.int32), self.coded.labels).decode()


Feature: TypeAlias = Numbers | Ordered | Names


def read_feature(data: Microdata, name: str, orders: Mapping[str, Sequence[Any]]) -> Feature:
    """Return a column as its type says: numbers, dates in their order, else names, unless an order is declared."""
    import pyarrow as pa

    kind = data.get_column(name).type
    if name not in orders and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return Numbers(get_complete_numbers(data, name))
    if name not in orders and not pa.types.is_temporal(kind):
        return Names(encode(data.get_column(name), name=name))
    coded = get_complete_codes(data, name)
    listed = orders.get(name, ())
    if not listed:
        return Ordered(coded, coded.codes.astype(np.int64))
    places = {str(value): place for place, value in enumerate(listed)}
    found = [places.get(str(label), -1) for label in coded.labels.to_pylist()]
    if -1 in found or len(places) < len(listed):
        raise SchemaError("anonymity_masking.order_incomplete", name=safe_repr(name))
    return Ordered(coded, np.array(found, dtype=np.int64)[coded.codes])


def standardize(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return numbers with mean 0 and deviation 1; a constant column becomes 0."""
    centered = values - values.mean()
    deviation = centered.std()
    return np.asarray(centered / deviation if deviation > 0 else np.zeros(values.size), dtype=np.float64)


def scale_to_range(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return numbers from 0 to 1; a constant column becomes 0."""
    low, high = values.min(), values.max()
    return np.asarray((values - low) / (high - low) if high > low else np.zeros(values.size), dtype=np.float64)
