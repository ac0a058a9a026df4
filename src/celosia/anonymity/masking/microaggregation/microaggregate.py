"""Microaggregation: each record gets the center of a group of at least k similar records.

If all quasi-identifiers are aggregated together, the file is k-anonymous, so that nobody is singled out by them; means
of numbers stay exactly the same. Sensitive values of a group may still be alike. It is *not* differential privacy,
and adding noise for k records to these centers is not either, because groups change with one record:
``celosia.anonymity.private.InsensitiveMicroaggregation`` is. Domingo-Ferrer and Mateo-Sanz 2002; Domingo-Ferrer and
Torra 2005; Hansen and Mukherjee 2003.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from celosia.anonymity.masking.microaggregation.centers import average_groups
from celosia.anonymity.masking.microaggregation.features import Feature, Numbers, read_feature
from celosia.anonymity.masking.microaggregation.grouping import (
    group_by_principal,
    group_in_blocks,
    group_univariate,
    make_mdav,
    make_points,
)
from celosia.anonymity.masking.parts import check_choice, check_names, get_complete_numbers, split_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

Method: TypeAlias = Literal["mdav", "blocks", "univariate", "principal"]
METHODS: Final = ("mdav", "blocks", "univariate", "principal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Microaggregate:
    """Replace values by the center of a group of ``k`` to ``2 k - 1`` similar records, within strata.

    The center is the mean of numbers, the median of ordered values and the most frequent name. Integers become real
    numbers, because means are kept. Nulls are refused where a distance needs a number; among names they are a name of
    their own, and ``"univariate"`` leaves them in place.

    Parameters
    ----------
    columns
        The columns, aggregated together. If they are all quasi-identifiers, the file becomes k-anonymous.
    k
        The least number of records of a group.
    method
        ``"mdav"``: groups around the records that lie farthest out, by standardized numbers, or by Gower's distance if
        some columns hold no numbers. ``"blocks"``: the same within blocks of near records, for large mixed files.
        ``"univariate"``: each column on its own with the least squared error; the file does not become k-anonymous.
        ``"principal"``: neighbours along the first principal component of numbers; a baseline that loses more.
    within
        Columns whose values groups must share, beside the stratum.
    orders
        The columns whose center is the median, each with its values from low to high; an empty list is their own order.
    block
        The most records of a block.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> frame = pa.table({"job": ["web", "data", "web", "data"], "pay": [2700, 2950, 3500, 2760]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["job"], sensitive=["pay"]))
    >>> Microaggregate(columns=["pay"], k=2, within=["job"]).apply(data).get_column("pay").to_pylist()
    [3100.0, 2855.0, 3100.0, 2855.0]
    """

    columns: Sequence[str]
    k: int
    method: Method = "mdav"
    within: Sequence[str] = ()
    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    block: int = 10_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_names(self.columns, name="columns"))
        object.__setattr__(self, "within", check_names(self.within, name="within", least=0))
        check_choice(self.method, METHODS, name="method")
        exact_integer(self.k, name="k", least=2)
        exact_integer(self.block, name="block")
        if both := [name for name in self.columns if name in self.within]:
            raise ParameterError("anonymity_masking.swapped_and_kept", name=safe_repr(both[0]))
        if unknown := [name for name in self.orders if name not in self.columns]:
            raise ParameterError("anonymity_masking.order_of_other_column", name=safe_repr(unknown[0]))

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the file with aggregated columns."""
        if self.method == "univariate":
            return self._apply_univariate(data)
        features = self._read(data)
        groups = self._group(data, features)
        return data.replace_columns(
            {name: feature.aggregate(groups) for name, feature in zip(self.columns, features, strict=True)}
        )

    def _read(self, data: Microdata) -> list[Feature]:
        if self.method == "principal":
            return [Numbers(get_complete_numbers(data, name)) for name in self.columns]
        return [read_feature(data, name, self.orders) for name in self.columns]

    def _group(self, data: Microdata, features: Sequence[Feature]) -> "NDArray[np.int64]":
        """Return the group of each record; each part of the file is grouped on its own."""
        parts = split_rows(data, self.columns, within=self.within, least=self.k)
        whole = np.concatenate(parts)  # sums in this order do not depend on the order of the input
        ordered = [each.take(whole) for each in features]
        group = self._make_grouping(ordered)
        groups, first, begin = np.empty(len(data), dtype=np.int64), 0, 0
        for rows in parts:
            found = group(np.arange(begin, begin + rows.size))
            groups[rows] = first + found
            first, begin = first + int(found.max()) + 1, begin + rows.size
        return groups

    def _make_grouping(self, features: Sequence[Feature]) -> "Callable[[NDArray[np.int64]], NDArray[np.int64]]":
        """Return the function that groups some places of the features."""
        if self.method == "mdav":
            mdav = make_mdav(features)
            return lambda places: mdav(places, self.k)
        points = make_points(features)
        if self.method == "principal":
            return lambda places: group_by_principal(points[places], self.k)
        return partial(group_in_blocks, points=points, block=self.block, k=self.k, group=make_mdav(features))

    def _apply_univariate(self, data: Microdata) -> Microdata:
        """Aggregate each column on its own, and leave nulls in place."""
        import pyarrow as pa

        changed = {}
        for name in self.columns:
            values = data.get_numbers(name)
            out = values.copy()
            for rows in split_rows(data, [name], within=self.within):
                known = rows[~np.isnan(values[rows])]
                if 0 < known.size < self.k:
                    raise InputError("anonymity_masking.too_few_known", name=safe_repr(name), least=self.k)
                out[known] = average_groups(values[known], group_univariate(values[known], self.k))
            changed[name] = pa.array(out, from_pandas=True)
        return data.replace_columns(changed)
