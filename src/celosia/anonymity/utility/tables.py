"""Frequency tables of both files, and how far apart they are.

A generalized value is one that the original does not have, so the distance of a generalized column is large: these
measures are for columns that were masked by noise, swapping or suppression, or not at all.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.anonymity.coding import Coded, group_rows
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.utility.pairs import encode_jointly, list_compared

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrequencyTable:
    """The sums of weights of each combination of values in both files. ``values`` are those of the combinations."""

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    before: "NDArray[np.float64]"
    after: "NDArray[np.float64]"

    @property
    def total_variation(self) -> float:
        """Half the sum of the differences of the shares: 0 if the shares are equal, 1 if no combination is in both."""
        before, after = self.before / self.before.sum(), self.after / max(self.after.sum(), 1e-300)
        return float(np.abs(before - after).sum() / 2)

    @property
    def divergence(self) -> float:
        """The Kullback-Leibler divergence of the masked shares from the original ones, in nats.

        Half a record is added to each combination, so that one that is lost does not make it infinite.
        """
        before, after = self.before + 0.5, self.after + 0.5
        before, after = before / before.sum(), after / after.sum()
        return max(0.0, float((before * np.log(before / after)).sum()))


def tabulate(original: Microdata, masked: Microdata, columns: Sequence[str]) -> FrequencyTable:
    """Return the table of one or more columns before and after, with sampling weights; a null is a value.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"sex": ["F", "M", "M"]}), roles=Roles(quasi_identifiers=["sex"]))
    >>> table = tabulate(data, data.keep_rows(np.array([1, 2])), ["sex"])
    >>> table.values, table.before.tolist(), table.after.tolist(), round(table.total_variation, 4)
    ((('F',), ('M',)), [1.0, 2.0], [0.0, 2.0], 0.3333)
    """
    pairs = [encode_jointly(original, masked, name) for name in columns]
    joint = [Coded(np.concatenate([one.codes, two.codes]), one.labels) for one, two in pairs]
    groups = group_rows(joint, rows=len(original) + len(masked))
    examples = groups.find_examples()
    values = zip(*(column.take(examples).decode().to_pylist() for column in joint), strict=True)
    ids, split = groups.ids, len(original)
    return FrequencyTable(
        columns=tuple(columns),
        values=tuple(values),
        before=np.bincount(ids[:split], weights=original.weights, minlength=groups.count).astype(np.float64),
        after=np.bincount(ids[split:], weights=masked.weights, minlength=groups.count).astype(np.float64),
    )


def compare_tables(
    original: Microdata, masked: Microdata, *, ways: int = 1
) -> Mapping[tuple[str, ...], FrequencyTable]:
    """Return the tables of all compared columns, or of all pairs of them with ``ways=2``.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> roles = Roles(quasi_identifiers=["sex", "age"])
    >>> data = read_microdata(pa.table({"sex": ["F", "M"], "age": [1, 2]}), roles=roles)
    >>> list(compare_tables(data, data, ways=2))
    [('sex', 'age')]
    """
    names = list_compared(original)
    return {chosen: tabulate(original, masked, chosen) for chosen in itertools.combinations(names, ways)}


def average(values: Sequence[float]) -> float:
    """Return the mean of the values that are numbers, NaN if none is."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
