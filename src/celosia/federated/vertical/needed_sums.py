"""Which sums of products of columns a request needs, and which party holds each column.

A sum is of all persons, of one column, or of two multiplied. The columns are a party's features and its target, as
centred integers, and, where sums are taken class by class, for each class a column of ones and zeros.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.base.exact import stepping_of
from celosia.learn.base.fit_spec import read_spec
from celosia.statistics.base.products import Products

if TYPE_CHECKING:
    from celosia.statistics.base.summary_request import Part, SummaryRequest

Words = NDArray[np.uint64]
Factor = tuple[str, int, int]
"""A column that is multiplied: of a part of the request and a place in the table, or of a class."""

MODULUS = 2**64
_MAX_FACTORS = 2
_CLASS = "class"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeededSums:
    """The sums of a request, as pairs of columns.

    ``owners`` has the party of each column of the table, the target last, and ``label_owner`` that of the classes.
    """

    request: "SummaryRequest"
    owners: tuple[int, ...]
    label_owner: int | None
    factors: tuple[tuple[Factor, ...], ...]

    @classmethod
    def of(cls, request: "SummaryRequest", owners: Sequence[int], label_owner: int | None) -> "NeededSums":
        """Return the sums of a request; refuse one that needs more than products of two columns."""
        found: list[tuple[Factor, ...]] = []
        for number, part in enumerate(request.parts):
            if not isinstance(part.measure, Products):
                raise ParameterError("federated.estimator_not_from_products")
            for cell in range(request.cells if part.by_class else 1):
                own: tuple[Factor, ...] = ((_CLASS, 0, cell),) if part.by_class else ()
                found += [(*own, *(("part", number, place) for place in m)) for m in part.measure.monomials]
        if max(map(len, found)) > _MAX_FACTORS:
            raise ParameterError("federated.estimator_not_from_products")
        return cls(request=request, owners=tuple(owners), label_owner=label_owner, factors=tuple(found))

    def find_owner(self, factor: Factor) -> int:
        """Return the party that holds a column."""
        kind, number, place = factor
        if kind == _CLASS:
            assert self.label_owner is not None  # noqa: S101 - for the type checker: there are classes
            return self.label_owner
        return self.owners[self.request.parts[number].columns[place]]

    def list_factors(self, party: int) -> list[Factor]:
        """Return the columns that a party multiplies, in an order that all know."""
        named = dict.fromkeys(factor for factors in self.factors for factor in factors)
        return sorted(factor for factor in named if self.find_owner(factor) == party)

    def read_columns(self, party: int, values: NDArray[np.float64], codes: NDArray[np.int64] | None) -> Words:
        """Return a party's columns as integers modulo 2^64, persons by columns.

        ``values`` are its own columns of the table, in the table's order, and ``codes`` the places of the classes.
        """
        held = [place for place, owner in enumerate(self.owners) if owner == party]
        columns = []
        for kind, number, place in self.list_factors(party):
            if kind == _CLASS:
                assert codes is not None  # noqa: S101 - for the type checker: this party has the classes
                columns.append((codes == place).astype(np.int64))
                continue
            part = self.request.parts[number]
            columns.append(_centre(part, place, self._get_kinds(part), values[:, held.index(part.columns[place])]))
        table = np.column_stack(columns) if columns else np.zeros((len(values), 0), dtype=np.int64)
        return table.astype(np.int64).view(np.uint64)

    def combine(self, sums: Words) -> Words:
        """Return the numbers that are noised, modulo 2^64, from a party's parts of the sums."""
        weights = np.concatenate([self._get_weights(part) for part in self.request.parts])
        weighted = sums.astype(object) * weights
        ends = np.cumsum([part.measure.width * self._count_cells(part) for part in self.request.parts])[:-1]
        parts = [
            one.reshape(self._count_cells(part), -1)
            for part, one in zip(self.request.parts, np.split(weighted, ends), strict=True)
        ]
        return np.array([int(number) % MODULUS for number in self.request.combine(parts)], dtype=np.uint64)

    def _count_cells(self, part: "Part") -> int:
        return self.request.cells if part.by_class else 1

    def _get_weights(self, part: "Part") -> NDArray[Any]:
        assert isinstance(part.measure, Products)  # noqa: S101 - for the type checker: checked when made
        weights = part.measure.weights or (1,) * part.measure.width
        return np.tile(np.array(weights, dtype=object), self._count_cells(part))

    def _get_kinds(self, part: "Part") -> list[Any]:
        kinds = read_spec(self.request).kinds
        return [kinds[place] for place in part.columns]

    def __repr__(self) -> str:
        return f"NeededSums({len(self.factors)} sums, {safe_repr(self.owners)})"


def _centre(part: "Part", place: int, kinds: list[Any], column: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return one column as centred integers, as every engine reads it."""
    from celosia.learn.base.exact import Stepping

    assert isinstance(part.measure, Products)  # noqa: S101 - for the type checker: checked when made
    reading = stepping_of(kinds, part.measure).reading[:, [place]]
    return Stepping(np.ascontiguousarray(reading)).centre(column[:, None])[:, 0].astype(np.int64)
