"""Local suppression: few cells become null, so that each combination of quasi-identifiers is shared by ``k`` records.

The other cells stay as they are, which statistics of few columns hardly notice. A null is a value of its own here: a
class is ``k`` equal rows. Equal rows match whatever a null means, so the result is k-anonymous as well where nulls are
wildcards, and so are all subsets of columns that were asked for. It does not protect against those who know what all
of a class have in common, nor hide that a value was rare (Hundepool et al. 2012, section 3.3.4).
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import Coded, group_rows, sort_rows
from celosia.anonymity.generalization.recoding.columns import replace_column
from celosia.anonymity.generalization.suppression.cells import Cells, make_key_maker
from celosia.anonymity.generalization.suppression.patterns import list_bounds, list_patterns
from celosia.anonymity.generalization.suppression.search import Search
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import InfeasibleError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.noise import permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSuppression:
    """Replace few cells by null, so that each record shares its quasi-identifiers with ``k`` - 1 others.

    Strata, if there are any, are protected separately. Where some of several equal records lose a cell, ``source``
    draws which: their order, or their other values, must not show.

    Parameters
    ----------
    k
        The least number of records with the same values in all quasi-identifiers; None asks only for combinations.
    combinations
        For a number of columns, the least number of records with the same values in any so many quasi-identifiers.
    importance
        Quasi-identifiers from the most important: a cell of one is dearer than a cell in all that come after it.
    costs
        What a cell of a column costs, 1 by default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"sex": ["F", "F", "M", "M", "M"], "age": [30, 30, 40, 40, 50]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["sex", "age"]))
    >>> LocalSuppression(k=2).apply(data).get_column("age").null_count
    3
    """

    k: int | None = None
    combinations: Mapping[int, int] = field(default_factory=dict)
    importance: Sequence[str] = ()
    costs: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise unless something is asked for, and costs are above 0."""
        if self.k is None and not self.combinations:
            raise ParameterError("anonymity_recoding.nothing_asked")
        for name, number in (
            ("k", 1 if self.k is None else self.k),
            *(("k of combinations", k) for k in self.combinations.values()),
        ):
            exact_integer(number, name=name, least=1)
        sizes = [int(size) if str(size).isdecimal() else size for size in self.combinations]  # text in a plan file
        for size in sizes:
            exact_integer(size, name="size of combinations", least=1)
        object.__setattr__(self, "combinations", dict(zip(sizes, self.combinations.values(), strict=True)))
        object.__setattr__(self, "importance", tuple(self.importance))
        if self.importance and self.costs:
            raise ParameterError("anonymity_recoding.importance_and_costs")
        for name, cost in self.costs.items():
            if not 0 < cost < np.inf:
                raise ParameterError(
                    "anonymity_recoding.cost_not_positive", name=safe_repr(name), value=safe_repr(cost)
                )

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with suppressed cells; their spread is 1."""
        columns = data.encode_quasi_identifiers()
        goals = list(self._list_goals(len(columns)))
        costs = self._read_costs(data.roles.quasi_identifiers)
        strata = data.strata
        if np.bincount(strata).min() < max(k for _, k in goals):
            raise _explain(data, max(k for _, k in goals))
        groups = group_rows([_as_column(strata), *columns])
        examples = groups.find_examples()
        codes = np.column_stack([column.codes[examples] + np.int32(1) for column in columns])
        cells = Cells(codes, groups.sizes.copy(), np.arange(groups.count), strata[examples].astype(np.int64))
        suppress_cells(cells, goals, costs, sizes=[len(column.labels) + 1 for column in columns])
        order = _order_records(data, cells, groups.ids, source)
        shown = np.empty_like(cells.codes, shape=(len(data), len(columns)))
        shown[order] = np.repeat(cells.codes, cells.counts, axis=0)
        return _hide_cells(data, columns, shown == 0)

    def _list_goals(self, width: int) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield the sets of columns and how many records must agree on each, the largest sets first."""
        asked = dict(self.combinations)
        for size in asked:
            if size > width:
                raise ParameterError("anonymity_recoding.combination_too_large", size=size, most=width)
        if self.k is not None:
            asked[width] = max(self.k, asked.get(width, 1))
        for size in sorted(asked, reverse=True):
            yield from ((columns, asked[size]) for columns in itertools.combinations(range(width), size))

    def _read_costs(self, names: Sequence[str]) -> "NDArray[np.float64]":
        for name in (*self.importance, *self.costs):
            if name not in names:
                known = ", ".join(map(safe_repr, names))
                raise ParameterError("anonymity_recoding.not_a_quasi_identifier", name=safe_repr(name), known=known)
        costs = {name: float(self.costs.get(name, 1.0)) for name in names}
        total = float(len(set(names) - set(self.importance)))
        for name in reversed(self.importance):
            costs[name] = total + 1.0
            total += costs[name]
        return np.array([costs[name] for name in names])


def suppress_cells(
    cells: Cells, goals: Sequence[tuple[tuple[int, ...], int]], costs: "NDArray[np.float64]", *, sizes: Sequence[int]
) -> None:
    """Suppress cells until all goals are met, each a set of columns and the ``k`` of its classes.

    A null in one set of columns changes the classes of the others, so the sets are visited until none has a class that
    is too small. Each visit that changes something adds nulls, so it ends.
    """
    salt, strata = 0, int(cells.strata.max(initial=0)) + 1
    while True:
        maker = make_key_maker(sizes, strata, salt)
        changed = False
        for columns, k in goals:
            search = Search(cells, maker.restrict(columns), costs, k)
            if not search.is_done:
                patterns = list_patterns(search, columns)
                search.run(patterns, list_bounds(patterns @ costs, int(cells.counts.sum())))
                changed = True
        cells.merge_equal()
        if not changed and all(_is_met(cells, columns, k) for columns, k in goals):
            return
        salt += 1  # keys of many columns are hashes: others do not collide again


def _is_met(cells: Cells, columns: Sequence[int], k: int) -> bool:
    """Return whether the classes on some columns have ``k`` records, without hashes."""
    groups = group_rows([_as_column(cells.strata), *(_as_column(cells.codes[:, column]) for column in columns)])
    return bool(np.bincount(groups.ids, weights=cells.counts).min() >= k)


def _order_records(
    data: Microdata, cells: Cells, ids: "NDArray[np.int32]", source: "Source | None"
) -> "NDArray[np.int64]":
    """Return the records in the order of the entries, in which equal ones of several entries are drawn by lot."""
    is_split = np.bincount(cells.origins)[ids] > 1
    order = np.argsort(ids, kind="stable")
    drawn = np.flatnonzero(is_split)
    if len(drawn):
        part = data.keep_rows(drawn)
        # Sorted first: the same source gives the same records, whatever the order of the rows was.
        drawn = drawn[sort_rows((_as_column(ids[drawn]), *part.encode(data.table.column_names)))]
        lots = permutation(len(drawn), source)
        order[is_split[order]] = drawn[np.lexsort((lots, ids[drawn]))]
    return order


def _hide_cells(data: Microdata, columns: Sequence[Coded], hidden: "NDArray[np.bool_]") -> Microdata:
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, (name, column) in enumerate(zip(data.roles.quasi_identifiers, columns, strict=True)):
        new = hidden[:, place] & (column.codes >= 0)
        if new.any():
            kept = pc.if_else(pa.array(new), None, data.get_column(name))
            data = replace_column(data, name, kept, new.astype(np.float64))
    return data


def _as_column(ids: "NDArray[np.int32] | NDArray[np.int64]") -> Coded:
    import pyarrow as pa

    return Coded(ids.astype(np.int32), pa.nulls(int(ids.max(initial=-1)) + 1))


def _explain(data: Microdata, k: int) -> InfeasibleError:
    if data.roles.stratum is None or len(data) < k:
        return InfeasibleError("anonymity_recoding.too_few_records", k=k)
    return InfeasibleError("anonymity_recoding.stratum_too_small", name=safe_repr(data.roles.stratum), k=k)
