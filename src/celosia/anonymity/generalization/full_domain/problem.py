"""What the search asks of a node: how many records must be dropped there, and what is lost.

The classes that violate a model are dropped. Where that changes the others, as with wildcards, the step is repeated
until none is left that violates. Models of the file as a whole then drop the smallest classes, those of one size in
the order of ARX: what loses less goes first.

**Bounds.** Call *core* those models of which no record comes to violate them when classes are joined: the models that
survive joining, and without suppression or wildcards those that survive merging. The records that the core drops at a node are also
dropped at every finer node, for a class that violates there is part of one that violates here. Hence

* a node where the core drops too many records rules out all finer nodes;
* the loss of a finer node is at least its own loss without suppression, plus what dropping the core's records adds:
  a dropped record loses 1 and a kept one no more at a finer node, so what dropping it adds only grows downwards.

With wildcards the core's records are what remains to be dropped when matches among kept records count only. Kept
records still match after generalization, so both hold there too. Other models are free to violate anything anywhere:
they only add to what is dropped, so that the bounds of the core hold for them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from celosia.anonymity.coding import Groups
from celosia.anonymity.coding.matching import match_keys
from celosia.anonymity.generalization.full_domain.base import Base
from celosia.anonymity.generalization.full_domain.kernels import sum_remainders
from celosia.anonymity.generalization.full_domain.lattice import Lattice
from celosia.anonymity.models import ClassModel, FileModel
from celosia.anonymity.models.classes import Classes, Link
from celosia.anonymity.models.measures import find_violations

if TYPE_CHECKING:
    from numpy.typing import NDArray

LossName: TypeAlias = Literal["loss", "average_class_size", "discernibility"]

LOSSES: Final = ("loss", "average_class_size", "discernibility")
"""The measures of loss that the search can minimize."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A node: ``loss`` is infinite if it is not feasible, and ``open_below`` is False if no finer node is either.

    ``floor`` is a lower bound of its loss without suppression, and ``extra`` of what the core's suppression adds.
    """

    loss: float
    suppressed: int
    classes: int
    floor: float
    extra: float
    open_below: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Problem:
    """What to search: a file, its lattice, the models, and at most how many records may be dropped."""

    base: Base = field(repr=False)
    lattice: Lattice = field(repr=False)
    core: tuple[ClassModel, ...]
    rest: tuple[ClassModel, ...]
    whole: tuple[FileModel, ...]
    limit: int
    loss: LossName
    wildcard: bool

    @property
    def rows(self) -> int:
        """The number of records of the file."""
        return int(self.base.counts.sum())

    @property
    def is_monotone(self) -> bool:
        """Whether a node that is not feasible rules out all finer ones."""
        return not self.rest and not (self.wildcard and self.whole)

    def evaluate(self, levels: Sequence[int]) -> Evaluation:
        """Return what a node drops and loses."""
        classes = self.make_classes(levels)
        members = classes.members
        core = self._drop_violating(classes, self.core, np.zeros(classes.count, dtype=np.bool_))
        least = math.inf if core is None else members[core].sum()
        if core is not None and least <= self.limit and self.whole and not self.wildcard:
            least = members[self._drop_smallest(classes, core, levels)].sum()
        if core is None or least > self.limit:
            return self._rule_out(members)
        dropped = self._judge(classes, core, levels)
        floor, extra = self._measure(classes, members, core, levels)
        if dropped is None or members[dropped].sum() > self.limit or not (members[~dropped] > 0).any():
            return Evaluation(loss=math.inf, suppressed=0, classes=0, floor=floor, extra=extra, open_below=True)
        kept = members[~dropped & (members > 0)]
        return Evaluation(
            loss=self._sum_loss(classes, members, dropped, levels),
            suppressed=int(members[dropped].sum()),
            classes=len(kept),
            floor=floor,
            extra=extra,
            open_below=True,
        )

    def find_dropped(self, levels: Sequence[int]) -> "NDArray[np.bool_]":
        """Return which records of the base a feasible node drops."""
        classes = self.make_classes(levels)
        core = self._drop_violating(classes, self.core, np.zeros(classes.count, dtype=np.bool_))
        dropped = None if core is None else self._judge(classes, core, levels)
        if dropped is None:
            return np.zeros(len(self.base), dtype=np.bool_)
        rows: NDArray[np.bool_] = dropped[classes.ids]
        return rows

    def make_classes(self, levels: Sequence[int]) -> Classes:
        """Return the classes of a node."""
        ids, count = self.base.group(self.lattice, levels)
        links = self._link(ids, count, levels) if self.wildcard else None
        return Classes(ids=ids, count=count, records=self.base.records, links=links)

    def _link(self, ids: "NDArray[np.int32]", count: int, levels: Sequence[int]) -> tuple[Link, ...] | None:
        columns = self.base.generalize(self.lattice, levels)
        if not any(column.has_nulls for column in columns):
            return None
        groups = Groups(ids, np.bincount(ids, minlength=count))
        return tuple(Link(*pair) for pair in match_keys(columns, groups))

    def _judge(self, classes: Classes, core: "NDArray[np.bool_]", levels: Sequence[int]) -> "NDArray[np.bool_] | None":
        """Return the classes that all models together drop; None if dropping cannot satisfy them."""
        models = (*self.core, *self.rest)
        dropped = self._drop_violating(classes, models, core) if self.rest else core
        while dropped is not None and self.whole:
            if all(model.is_satisfied(classes.drop(dropped)) for model in self.whole):
                break
            more = self._drop_smallest(classes, dropped, levels)
            if np.array_equal(more, dropped):
                break  # satisfied but for rounding
            dropped = self._drop_violating(classes, models, more)
        return dropped

    def _drop_violating(
        self, classes: Classes, models: Sequence[ClassModel], dropped: "NDArray[np.bool_]"
    ) -> "NDArray[np.bool_] | None":
        """Return these classes and those that violate the models after they are dropped; None if that is no use."""
        final = not self.wildcard and all(model.survives_dropping for model in models)
        members = classes.members
        total = dropped
        while models:
            left = classes.drop(total) if total.any() else classes
            violating = find_violations(models, left)
            if (violating & (total | (members == 0))).any():
                return None  # a class of the population without records violates: there is nothing to drop
            total = total | violating
            if final or not violating.any() or members[total].sum() > self.limit:
                break
        return total

    def _drop_smallest(
        self, classes: Classes, dropped: "NDArray[np.bool_]", levels: Sequence[int]
    ) -> "NDArray[np.bool_]":
        """Return these classes and the smallest others, as many as the models of the whole file ask for."""
        left = classes.drop(dropped)
        sizes, present = left.sizes, left.members > 0
        places = np.flatnonzero(present)
        if left.links is not None:  # what is dropped changes the others: one size at a time
            smallest: NDArray[np.bool_] = present & (sizes == sizes[places].min(initial=np.inf))
            return dropped | smallest
        order = places[np.lexsort((self._rank_losses(classes, levels)[places], sizes[places]))]
        count = max(model.count_dropped(sizes[order]) for model in self.whole)
        more = dropped.copy()
        more[order[:count]] = True
        return more

    def _rank_losses(self, classes: Classes, levels: Sequence[int]) -> "NDArray[np.float64]":
        """Return the part of the domain that the labels of each class stand for, summed over columns."""
        examples = np.empty(classes.count, dtype=np.int64)
        examples[classes.ids[::-1]] = np.arange(len(self.base) - 1, -1, -1)
        total = np.zeros(classes.count)
        for place, (ladder, level) in enumerate(zip(self.lattice.ladders, levels, strict=True)):
            total += ladder.shares[level][self.base.codes[examples, place]]
        return np.round(total, 12)

    def _rule_out(self, members: "NDArray[np.float64]") -> Evaluation:
        floor = self._measure_whole(members)
        return Evaluation(loss=math.inf, suppressed=0, classes=0, floor=floor, extra=0.0, open_below=False)

    def _measure_whole(self, members: "NDArray[np.float64]") -> float:
        """Return a bound of the loss of a node without suppression that also holds for all coarser ones.

        The squares of class sizes only grow when classes merge, and the number of classes only falls.
        """
        match self.loss:
            case "loss":
                return 0.0  # known beforehand, from the lattice
            case "discernibility":
                return float(np.sum(members**2))
            case "average_class_size":
                return (self.rows - self.limit) / max(int((members > 0).sum()), 1)

    def _measure(
        self, classes: Classes, members: "NDArray[np.float64]", core: "NDArray[np.bool_]", levels: Sequence[int]
    ) -> tuple[float, float]:
        """Return the floor of a node, and what dropping the core adds."""
        floor = self._measure_whole(members)
        return floor, 0.0 if self.loss == "average_class_size" else self._add(classes, members, core, levels)

    def _add(
        self, classes: Classes, members: "NDArray[np.float64]", dropped: "NDArray[np.bool_]", levels: Sequence[int]
    ) -> float:
        """Return what dropping classes adds to the loss."""
        if self.loss == "discernibility":
            return float(np.sum(members[dropped] * (self.rows - members[dropped])))
        if not dropped.any():
            return 0.0
        losses, ids = self.lattice.list_losses(levels), classes.ids.astype(np.int32, copy=False)
        added = sum_remainders(ids, dropped, self.base.counts, self.base.codes, losses, self.lattice.starts)
        return float(added) / self.rows

    def _sum_loss(
        self, classes: Classes, members: "NDArray[np.float64]", dropped: "NDArray[np.bool_]", levels: Sequence[int]
    ) -> float:
        """Return the loss of a node; ``loss`` without what the lattice knows beforehand."""
        if self.loss == "average_class_size":
            kept = members[~dropped & (members > 0)]
            return float(kept.sum() / len(kept))
        return self._measure_whole(members) + self._add(classes, members, dropped, levels)
