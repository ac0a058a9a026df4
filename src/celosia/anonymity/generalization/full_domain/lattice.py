"""The lattice of levels: a node is a level for each quasi-identifier.

A value loses the part of its column's domain that its label stands for, scaled so that an exact value loses 0 and ``*``
loses 1. This is the measure that ARX calls *Loss* (Iyengar 2002). The loss of a node without suppression is a sum over
columns, so it is known before the node is looked at, and it rises along the lattice.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import Coded
from celosia.anonymity.hierarchies import Hierarchy, Levels
from celosia.anonymity.hierarchies.levels import check_level, check_nested
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ladder:
    """A column at every level, from ``low`` to ``high``. The last code of each level is that of nulls.

    ``codes[level, v]`` is the label of value ``v``, ``sizes[level]`` the number of labels, ``losses[level, v]`` what it
    loses, and ``shares[level, v]`` the part of the domain it stands for.
    """

    name: str
    levels: Levels = field(repr=False)
    codes: "NDArray[np.int64]" = field(repr=False)
    losses: "NDArray[np.float64]" = field(repr=False)
    shares: "NDArray[np.float64]" = field(repr=False)
    sizes: tuple[int, ...]
    low: int
    high: int

    @property
    def null(self) -> int:
        """The place of nulls among the values."""
        return int(self.codes.shape[1]) - 1

    def place_nulls(self, codes: "NDArray[np.int32]") -> "NDArray[np.int32]":
        """Return codes with that of nulls, -1, replaced by their place."""
        return np.where(codes < 0, np.int32(self.null), codes)


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """The ladders of all quasi-identifiers."""

    ladders: tuple[Ladder, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(ladder.high - ladder.low + 1 for ladder in self.ladders)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return math.prod(self.shape)

    @property
    def bottom(self) -> tuple[int, ...]:
        """The finest node."""
        return tuple(ladder.low for ladder in self.ladders)

    @property
    def top(self) -> tuple[int, ...]:
        """The coarsest node."""
        return tuple(ladder.high for ladder in self.ladders)

    @property
    def starts(self) -> "NDArray[np.int64]":
        """Where the values of each column start in a list of those of all."""
        widths = [ladder.codes.shape[1] for ladder in self.ladders]
        return np.cumsum([0, *widths[:-1]], dtype=np.int64)

    def list_finer(self, levels: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the nodes with one column one level finer."""
        return [
            (*levels[:axis], level - 1, *levels[axis + 1 :])
            for axis, (level, low) in enumerate(zip(levels, self.bottom, strict=True))
            if level > low
        ]

    def list_trades(self, levels: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the nodes with one column one level finer, and another one level coarser."""
        top = self.top
        return [
            (*finer[:axis], level + 1, *finer[axis + 1 :])
            for finer in self.list_finer(levels)
            for axis, level in enumerate(finer)
            if level == levels[axis] < top[axis]
        ]

    def list_keys(self, levels: Sequence[int]) -> "tuple[NDArray[np.int64], int]":
        """Return what each value adds to the key of a row at a node, and how many keys there may be."""
        parts, room = [], 1
        for ladder, level in zip(self.ladders, levels, strict=True):
            parts.append(ladder.codes[level] * room if room < 2**62 else ladder.codes[level])
            room *= ladder.sizes[level]
        return np.concatenate(parts), room

    def list_losses(self, levels: Sequence[int]) -> "NDArray[np.float64]":
        """Return what each value loses at a node."""
        return np.concatenate([ladder.losses[level] for ladder, level in zip(self.ladders, levels, strict=True)])


def build_ladder(name: str, coded: Coded, hierarchy: Hierarchy, level: int | None) -> Ladder:
    """Return a column at every level of its hierarchy, or at one that is fixed."""
    levels = hierarchy.generalize(coded.labels, name=name)
    if check_nested(levels.codes):
        raise ParameterError("anonymity_search.levels_not_nested", name=safe_repr(name))
    last = levels.height - 1
    nulls = np.array([[len(labels)] for labels in levels.labels[:-1]] + [[0]], dtype=np.int64)
    spread = [share[codes] for share, codes in zip(levels.shares, levels.codes, strict=True)]
    exact = np.concatenate([spread[0], [spread[0].min(initial=1.0)]])
    shares = np.vstack([np.append(row, exact[-1]) for row in spread[:-1]] + [np.ones(len(exact))])
    shares = np.maximum.accumulate(shares, axis=0)
    losses = np.divide(shares - exact, 1 - exact, out=np.zeros_like(shares), where=exact < 1)
    if level is not None:
        check_level(level, levels.height, name=name)
    return Ladder(
        name=name,
        levels=levels,
        codes=np.hstack([levels.codes.astype(np.int64), nulls]),
        losses=losses,
        shares=shares,
        sizes=tuple(len(labels) + (place < last) for place, labels in enumerate(levels.labels)),
        low=0 if level is None else level,
        high=last if level is None else level,
    )


def build_lattice(
    names: Sequence[str],
    columns: Sequence[Coded],
    hierarchies: Mapping[str, Hierarchy],
    fixed: Mapping[str, int],
) -> Lattice:
    """Return the lattice of the quasi-identifiers; each must have a hierarchy."""
    if missing := [name for name in names if name not in hierarchies]:
        raise ParameterError("anonymity_search.no_hierarchy", name=safe_repr(missing[0]))
    if unknown := [name for name in fixed if name not in names]:
        known = ", ".join(map(safe_repr, names))
        raise ParameterError("anonymity.unknown_column", name=safe_repr(unknown[0]), known=known)
    return Lattice(
        tuple(
            build_ladder(name, coded, hierarchies[name], fixed.get(name))
            for name, coded in zip(names, columns, strict=True)
        )
    )
