"""Targeted record swapping: risky households change places with similar households elsewhere.

A household whose members have rare values in their area moves, as a whole, to the area of a household that looks alike,
and that one moves back. Someone who finds a rare person in an area cannot be sure that the record is true. Totals of
areas by the similar columns stay the same; other tables by area change. It is *not* differential privacy, and gives no
bound on an attacker's success. Dalenius and Reiss 1982; Shlomo, Tudor and Groom 2010.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding import Coded, Groups, group_rows
from celosia.anonymity.masking.draws import draw_uniform
from celosia.anonymity.masking.parts import check_names, order_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import exact_integer, exact_level, safe_repr
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

_ATTEMPTS: Final = 4  # to find partners for random households; in the last one all are asked


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapHouseholds:
    """Swap the areas of risky households, and of others at random, with those of similar households.

    A household is risky at a level of the geography if fewer than ``k`` persons of its area have the values in ``keys``
    of one of its members. From the largest areas to the smallest, each risky household changes places with a random one
    of another area within the same area of the level above. Then random households are swapped, within the areas of the
    level before the last, until the share is reached. A household moves once at most; one without a partner stays.

    Parameters
    ----------
    geography
        The columns of the area, from the largest areas to the smallest; alike in a household.
    keys
        The columns whose combinations make a person rare.
    similar
        Columns that both households must have in common: the same values among their members. Households of a pair
        always have the same number of members.
    share
        The part of all households that is swapped at least, if there are enough partners.
    k
        How many persons make a combination of keys safe in an area.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> frame = pa.table({"home": [1, 1, 2, 2], "region": list("NNSS"), "age": [93, 90, 40, 41]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["region", "age"], household="home"))
    >>> step = SwapHouseholds(geography=["region"], keys=["age"], share=0.5)
    >>> step.apply(data).get_column("region").to_pylist()
    ['S', 'S', 'N', 'N']
    """

    geography: Sequence[str]
    keys: Sequence[str]
    similar: Sequence[str] = ()
    share: float = 0.05
    k: int = 3

    def __post_init__(self) -> None:
        for name, least in (("geography", 1), ("keys", 1), ("similar", 0)):
            object.__setattr__(self, name, check_names(getattr(self, name), name=name, least=least))
        if both := [name for name in self.geography if name in (*self.keys, *self.similar)]:
            raise ParameterError("anonymity_masking.swapped_and_kept", name=safe_repr(both[0]))
        exact_level(self.share, name="share")
        exact_integer(self.k, name="k", least=2)

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with swapped areas; all else of a household stays together."""
        import pyarrow as pa

        drawn = source_or_system(source)
        columns = (*self.geography, *self.keys, *self.similar)
        order = order_rows(data, columns)
        homes, heads = _number_households(data.households, order)
        areas = self._list_areas(data, homes, heads)
        profiles = self._find_profiles(data, homes)
        partners = self._choose_partners(data, homes, areas, profiles, drawn)
        moved = np.where(partners >= 0, partners, np.arange(partners.size))
        origins = pa.array(heads[moved][homes])
        return data.replace_columns({name: data.get_column(name).take(origins) for name in self.geography})

    def _list_areas(
        self, data: Microdata, homes: "NDArray[np.int64]", heads: "NDArray[np.int64]"
    ) -> "list[NDArray[np.int64]]":
        """Return the area of each household at each level, which follows from all levels down to it."""
        areas = [np.zeros(heads.size, dtype=np.int64)]
        for level, name in enumerate(self.geography, start=1):
            ids = group_rows(data.encode(self.geography[:level])).ids
            if (ids[heads][homes] != ids).any():
                raise SchemaError("anonymity_masking.household_in_two_areas", name=safe_repr(name))
            areas.append(ids[heads].astype(np.int64))
        return areas

    def _find_profiles(self, data: Microdata, homes: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return a number for each household, equal where members and their values in the similar columns are."""
        import pyarrow as pa

        values = group_rows(data.encode(self.similar), rows=len(data))
        sizes = np.bincount(homes)
        members = np.lexsort((values.ids, homes))
        starts = np.cumsum(sizes) - sizes
        profile = group_rows([Coded(sizes.astype(np.int32), pa.nulls(int(sizes.max()) + 1))])
        for place in range(int(sizes.max()) if self.similar else 0):
            nth = np.full(sizes.size, -1, dtype=np.int32)
            has = sizes > place
            nth[has] = values.ids[members[starts[has] + place]]
            profile = group_rows([_as_codes(profile), Coded(nth, pa.nulls(values.count))])
        return profile.ids.astype(np.int64)

    def _choose_partners(
        self,
        data: Microdata,
        homes: "NDArray[np.int64]",
        areas: "list[NDArray[np.int64]]",
        profiles: "NDArray[np.int64]",
        source: "Source",
    ) -> "NDArray[np.int64]":
        """Return the household that each changes places with, -1 if it stays."""
        count = profiles.size
        partners = np.full(count, -1, dtype=np.int64)
        for level in range(1, len(areas)):
            wanted = self._find_risky(data, homes, areas[level])
            self._pair(areas[level - 1], areas[level], profiles, wanted, count, partners, source)
        for attempt in range(_ATTEMPTS):
            missing = int(np.ceil(self.share * count)) - int((partners >= 0).sum())
            if missing <= 0:
                break
            pairs = -(-missing // 2)
            free = np.flatnonzero(partners < 0)
            drawn = free[np.argsort(source.words(free.size), kind="stable")]
            wanted = np.zeros(count, dtype=np.bool_)
            wanted[drawn[: pairs if attempt + 1 < _ATTEMPTS else None]] = True
            self._pair(areas[-2], areas[-1], profiles, wanted, pairs, partners, source)
        return partners

    def _find_risky(
        self, data: Microdata, homes: "NDArray[np.int64]", areas: "NDArray[np.int64]"
    ) -> "NDArray[np.bool_]":
        import pyarrow as pa

        area = Coded(areas[homes].astype(np.int32), pa.nulls(int(areas.max()) + 1))
        groups = group_rows([area, *data.encode(self.keys)])
        risky = np.zeros(areas.size, dtype=np.bool_)
        risky[homes[groups.sizes[groups.ids] < self.k]] = True
        return risky

    @staticmethod
    def _pair(
        above: "NDArray[np.int64]",
        areas: "NDArray[np.int64]",
        profiles: "NDArray[np.int64]",
        wanted: "NDArray[np.bool_]",
        most: int,
        partners: "NDArray[np.int64]",
        source: "Source",
    ) -> None:
        """Pair wanted households; groups come in random order, so that the last pairs are not always of the same."""
        from celosia.anonymity.masking.household_kernels import pair_households

        groups = above * (int(profiles.max()) + 1) + profiles
        found, numbers = np.unique(groups, return_inverse=True)
        lots = np.argsort(source.words(found.size), kind="stable")[numbers]
        draws = draw_uniform(2 * profiles.size, source)
        order = np.lexsort((draws[profiles.size :], areas, lots))
        pair_households(order, groups, areas, wanted, draws[: profiles.size], most, partners)


def _number_households(
    homes: "NDArray[np.int32]", order: "NDArray[np.int64]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Number households by their first record in an order of the rows, and return a record of each."""
    found, first, numbers = np.unique(homes[order], return_index=True, return_inverse=True)
    rank = np.empty(found.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(found.size)
    numbered = np.empty(homes.size, dtype=np.int64)
    numbered[order] = rank[numbers]
    return numbered, order[np.sort(first)]


def _as_codes(groups: Groups) -> Coded:
    import pyarrow as pa

    return Coded(groups.ids, pa.nulls(groups.count))
