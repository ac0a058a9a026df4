"""The greedy search of cells to suppress.

Fewest cells is NP-hard (Meyerson and Williams 2004). A *pattern* is the columns that a record loses. For one pattern,
the records that agree on the other columns can form a class, join one that looks so already, or borrow records from
larger classes. The search takes what costs least for each record that it helps, as greedy covers do, in tiers of
rising cost.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.generalization.suppression.cells import Cells, KeyMaker, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLACK: Final = 1 + 1e-9  # for sums of costs that are equal but for rounding


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The classes of some entries: the class of each, and the key, size and one entry of each class."""

    ids: "NDArray[np.int32]"
    keys: "NDArray[np.int64]"
    sizes: "NDArray[np.int64]"
    examples: "NDArray[np.int64]"


@dataclass(frozen=True, slots=True, eq=False)
class Loans:
    """How many records each class lends, to which bucket, and what that costs each bucket (infinite if too few)."""

    classes: "NDArray[np.int64]"
    buckets: "NDArray[np.int64]"
    amounts: "NDArray[np.int64]"
    costs: "NDArray[np.float64]"


class Search:
    """The search of classes of ``k`` records on the columns to which the key maker gives numbers."""

    def __init__(self, cells: Cells, maker: KeyMaker, costs: "NDArray[np.float64]", k: int) -> None:
        self.cells, self.maker, self.costs, self.k = cells, maker, costs, k
        self.keys = maker.make(cells.codes, cells.strata)
        ids, count = number(self.keys)
        self.done = np.bincount(ids, weights=cells.counts, minlength=count)[ids] >= k
        self._classes: Table | None = None

    @property
    def is_done(self) -> bool:
        """Whether each record is in a class of ``k``."""
        return bool(self.done.all())

    def run(self, patterns: "NDArray[np.bool_]", bounds: "NDArray[np.float64]") -> None:
        """Suppress cells until each record is in a class of ``k``.

        ``patterns`` come from cheap to dear, with one of all columns. The last bound is what nothing exceeds.
        """
        totals = patterns @ self.costs
        for bound in bounds:
            for pattern in patterns[totals <= bound * _SLACK]:
                if self.is_done:
                    return
                self._help(np.flatnonzero(pattern), bound)

    def count_helped(self, pattern: "NDArray[np.int64]") -> int:
        """Return how many records that are in no class would form classes without the columns of a pattern."""
        entries = np.flatnonzero(~self.done)
        ids, count = number(self.keys[entries] - self._sum_numbers(entries, pattern))
        sizes = np.bincount(ids, weights=self.cells.counts[entries], minlength=count)
        return int(sizes[sizes >= self.k].sum())

    def _help(self, pattern: "NDArray[np.int64]", bound: float) -> None:
        """Suppress the columns of a pattern where that costs at most ``bound`` for each record that it helps."""
        cells, classes = self.cells, self._find_classes()
        entries = np.flatnonzero(~self.done)
        keys = self.keys[entries] - self._sum_numbers(entries, pattern)
        ids, count = number(np.concatenate([keys, classes.keys]))
        buckets = ids[: len(entries)]
        members = np.bincount(buckets, weights=cells.counts[entries], minlength=count)
        costs = np.bincount(buckets, weights=cells.counts[entries] * self._price(entries, pattern), minlength=count)
        ready = members >= self.k
        ready[ids[len(entries) :]] = True
        limit = bound * members * _SLACK
        helped = ready & (costs <= limit)
        short = ~ready & (members > 0) & (costs + (self.k - members) * self.costs[pattern].min() <= limit)
        if short.any() and len(classes.keys):
            loans = self._borrow(pattern, keys, buckets, np.where(short, self.k - members, 0).astype(np.int64))
            helped |= short & (costs + loans.costs <= limit)
            self._lend(pattern, loans, helped)
        chosen = entries[helped[buckets]]
        self._suppress(chosen, pattern)
        self.done[chosen] = True

    def _borrow(
        self,
        pattern: "NDArray[np.int64]",
        keys: "NDArray[np.int64]",
        buckets: "NDArray[np.int32]",
        needs: "NDArray[np.int64]",
    ) -> Loans:
        """Return what larger classes lend to buckets that need records: their surplus, or else all of one class."""
        classes = self._find_classes()
        lent = classes.keys - self._sum_numbers(classes.examples, pattern)
        joint, count = number(np.concatenate([keys, lent]))
        names = np.full(count, -1, dtype=np.int64)
        names[joint[: len(keys)]] = buckets
        asked = names[joint[len(keys) :]]
        lenders = np.flatnonzero((asked >= 0) & (needs[asked] > 0))
        prices = self._price(classes.examples[lenders], pattern)
        # Of equal price the largest class lends first: it is the least likely to be rare on other columns.
        order = np.lexsort((classes.keys[lenders], -classes.sizes[lenders], prices, asked[lenders]))
        lenders, prices = lenders[order], prices[order]
        asked, sizes = asked[lenders], classes.sizes[lenders]
        surplus = sizes - self.k
        before = _sum_before(surplus, asked)
        amounts = np.clip(needs[asked] - before, 0, surplus)
        got = np.bincount(asked, weights=amounts, minlength=len(needs))
        lacking = (got < needs)[asked]
        amounts = np.where(lacking, np.where(_is_cheapest(sizes * prices, asked), sizes, 0), amounts)
        costs = np.bincount(asked, weights=amounts * prices, minlength=len(needs)).astype(np.float64)
        costs[np.bincount(asked, weights=amounts, minlength=len(needs)) < needs] = np.inf
        return Loans(lenders, asked, amounts, costs)

    def _lend(self, pattern: "NDArray[np.int64]", loans: Loans, helped: "NDArray[np.bool_]") -> None:
        """Suppress the columns in the records that classes lend to buckets that are helped."""
        classes = self._find_classes()
        amounts = np.zeros(len(classes.keys), dtype=np.int64)
        amounts[loans.classes] = np.where(helped[loans.buckets], loans.amounts, 0)
        entries = np.flatnonzero(self.done)
        owners = classes.ids.astype(np.int64)
        wanted = amounts[owners] > 0
        entries, owners = entries[wanted], owners[wanted]
        order = np.argsort(owners, kind="stable")
        entries, owners = entries[order], owners[order]
        counts = self.cells.counts[entries]
        moved = np.clip(amounts[owners] - _sum_before(counts, owners), 0, counts)
        self._move(entries[moved > 0], moved[moved > 0], pattern)

    def _move(self, entries: "NDArray[np.int64]", moved: "NDArray[np.int64]", pattern: "NDArray[np.int64]") -> None:
        """Suppress the columns in some records of entries that are in classes, and stay so."""
        places = self.cells.split(entries, moved)
        extra = len(self.cells.counts) - len(self.keys)
        self.keys = np.append(self.keys, self.keys[entries[places != entries]])
        self.done = np.append(self.done, np.ones(extra, dtype=np.bool_))
        self._suppress(places, pattern)

    def _suppress(self, entries: "NDArray[np.int64]", pattern: "NDArray[np.int64]") -> None:
        if len(entries):
            self.keys[entries] -= self._sum_numbers(entries, pattern)
            self.cells.codes[np.ix_(entries, pattern)] = 0
            self._classes = None

    def _price(self, entries: "NDArray[np.int64]", pattern: "NDArray[np.int64]") -> "NDArray[np.float64]":
        """Return what a pattern costs in a record of each entry: values that are null already cost nothing."""
        price: NDArray[np.float64] = (self.cells.codes[np.ix_(entries, pattern)] > 0) @ self.costs[pattern]
        return price

    def _sum_numbers(self, entries: "NDArray[np.int64]", pattern: "NDArray[np.int64]") -> "NDArray[np.int64]":
        total = np.zeros(len(entries), dtype=np.int64)
        for column in pattern:
            total += self.maker.numbers[column][self.cells.codes[entries, column]]
        return total

    def _find_classes(self) -> Table:
        """Return the classes of the entries that are done."""
        if self._classes is None:
            entries = np.flatnonzero(self.done)
            ids, count = number(self.keys[entries])
            sizes = np.bincount(ids, weights=self.cells.counts[entries], minlength=count).astype(np.int64)
            examples = np.empty(count, dtype=np.int64)
            examples[ids] = entries
            self._classes = Table(ids, self.keys[examples], sizes, examples)
        return self._classes


def _sum_before(values: "NDArray[np.int64]", groups: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return the sum of the values before each one in its group; groups are together."""
    before = np.cumsum(values) - values
    starts = np.append(True, groups[1:] != groups[:-1])[: len(groups)]
    return before - np.maximum.accumulate(np.where(starts, before, 0))


def _is_cheapest(totals: "NDArray[np.float64]", groups: "NDArray[np.int64]") -> "NDArray[np.bool_]":
    """Return whether each item is the first of the least total in its group."""
    order = np.lexsort((np.arange(len(groups)), totals, groups))
    first = np.append(True, np.diff(groups[order]) != 0)[: len(groups)]
    chosen = np.zeros(len(groups), dtype=np.bool_)
    chosen[order[first]] = True
    return chosen
