"""The equivalence classes of a file, with what the models read of them.

A class is the records with one combination of quasi-identifiers. Where nulls are wildcards, an attacker who looks for
a record finds all that match it: the measures of a class are then those of all records that match its combination.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from celosia.anonymity.models.histograms import Histogram, Sensitive, sum_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pairs: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]"
_PENDING: Final = 1 << 23  # as many pairs as may wait to be added up


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Records:
    """What is known of each record, or of each set of equal records, beside its class.

    ``counts`` are the numbers of records of the file that each stands for, None if each is one. ``codes`` are those of
    the sensitive columns, -1 where nothing is known. ``populations`` are the people of the population that a model was
    given, with its table.
    """

    counts: "NDArray[np.float64] | None"
    weights: "NDArray[np.float64]"
    codes: "Mapping[str, NDArray[np.int64]]"
    columns: Mapping[str, Sensitive]
    populations: "tuple[tuple[object, NDArray[np.float64]], ...]" = ()


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """Classes ``left`` and ``right`` match where their keys are equal."""

    left: "NDArray[np.int64]"
    right: "NDArray[np.int64]"
    left_keys: "NDArray[np.int32]"
    right_keys: "NDArray[np.int32]"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Classes:
    """Classes of records: ``ids`` are the class of each, from 0 to ``count`` - 1.

    ``links`` say which classes match, where nulls are wildcards; None if each class matches itself alone.
    """

    ids: "NDArray[np.int32] | NDArray[np.int64]"
    count: int
    records: Records = field(repr=False)
    links: tuple[Link, ...] | None = field(default=None, repr=False)

    @property
    def members(self) -> "NDArray[np.float64]":
        """The number of records in each class."""
        return self._sum(self.records.counts)

    @property
    def sizes(self) -> "NDArray[np.float64]":
        """The number of records that match each class."""
        return self._match(self.members)

    @property
    def weights(self) -> "NDArray[np.float64]":
        """The sum of the sampling weights of the records that match each class."""
        return self._match(self._sum(self.records.weights))

    def count_population(self, table: object) -> "NDArray[np.float64]":
        """Return the number of people of a population that match each class."""
        people = next(people for given, people in self.records.populations if given is table)
        return self._match(self._sum(people))

    def count_sensitive(self, name: str) -> Histogram:
        """Return how often each value of a sensitive column occurs among the records that match each class."""
        codes, column = self.records.codes[name], self.records.columns[name]
        known = codes >= 0
        classes, counts = self.ids, self.records.counts
        if not known.all():
            codes, classes = codes[known], classes[known]
            counts = None if counts is None else counts[known]
        pairs = sum_pairs(classes.astype(np.int64), codes, counts, self.count, column.size)
        if self.links is not None:
            pairs = _spread(self.links, pairs, self.count, column.size)
        found, values, sums = pairs
        return Histogram(classes=found, values=values, counts=sums, count=self.count, column=column)

    def drop(self, classes: "NDArray[np.bool_]") -> "Classes":
        """Return the classes after the records of some of them were dropped; the population stays."""
        kept = (~classes)[self.ids]
        counts = kept.astype(np.float64) if self.records.counts is None else self.records.counts * kept
        records = replace(self.records, counts=counts, weights=self.records.weights * kept)
        return replace(self, records=records)

    def _sum(self, terms: "NDArray[np.float64] | None") -> "NDArray[np.float64]":
        return np.bincount(self.ids, weights=terms, minlength=self.count).astype(np.float64)

    def _match(self, sums: "NDArray[np.float64]") -> "NDArray[np.float64]":
        if self.links is None:
            return sums
        total = np.zeros(self.count)
        for link in self.links:
            keyed = np.bincount(link.right_keys, weights=sums[link.right], minlength=_count_keys(link))
            total[link.left] += keyed[link.left_keys]
        return total


def _count_keys(link: Link) -> int:
    return int(max(link.left_keys.max(initial=-1), link.right_keys.max(initial=-1))) + 1


def _spread(links: tuple[Link, ...], pairs: Pairs, count: int, size: int) -> Pairs:
    """Return for each class the sums of the pairs of all classes that match it."""
    found: list[Pairs] = []
    for link in links:
        found.append(_look_up(link, pairs, count, size))
        if sum(len(part[0]) for part in found) > _PENDING:
            found = [_join(found, count, size)]
    return _join(found, count, size)


def _look_up(link: Link, pairs: Pairs, count: int, size: int) -> Pairs:
    """Return what a link adds to each of its left classes."""
    classes, values, counts = pairs
    keys = np.full(count, -1, dtype=np.int64)
    keys[link.right] = link.right_keys
    here = keys[classes] >= 0
    keyed, keyed_values, sums = sum_pairs(keys[classes[here]], values[here], counts[here], _count_keys(link), size)
    lows = np.searchsorted(keyed, link.left_keys)
    lengths = np.searchsorted(keyed, link.left_keys, side="right") - lows
    owners = np.repeat(link.left, lengths)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(lows, lengths)
    return owners, keyed_values[places], sums[places]


def _join(parts: list[Pairs], count: int, size: int) -> Pairs:
    classes, values, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sum_pairs(classes, values, counts, count, size)
