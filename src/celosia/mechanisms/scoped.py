"""The base of mechanisms that keep what their sensitivity is stated for: the neighbours, and the privacy unit."""

from dataclasses import dataclass

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.exact import ReprMixin, exact_adjacency, exact_text


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ScopedMechanism(ReprMixin):
    """The base of ``KNorm``, ``StableKeys`` and the mechanisms that compare utilities."""

    adjacency: Adjacency = AddRemove
    unit: str = "row"

    def _set_scope(self, adjacency: Adjacency, unit: str) -> None:
        self._set(adjacency=exact_adjacency(adjacency), unit=exact_text(unit, name="unit"))
