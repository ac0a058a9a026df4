"""Mondrian under further privacy models: a split is allowed only if both halves satisfy all of them.

Parts are split in rounds, all that are left at once, so that a model judges thousands of halves in one pass. A part
whose split is refused tries its next column in the next round. Models survive merging: where nulls are wildcards and
several classes match, together they still satisfy them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.generalization.mondrian.classes import Classes, Rows, make_classes, stack_domains
from celosia.anonymity.generalization.mondrian.domains import Domain
from celosia.anonymity.generalization.mondrian.kernels import split_once
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.models import ClassModel
from celosia.anonymity.models.classes import Classes as Judged
from celosia.anonymity.models.classes import Records
from celosia.anonymity.models.reading import read_records
from celosia.core.errors import InfeasibleError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Models, and what they read of each row."""

    models: Sequence[ClassModel]
    records: Records

    def find_allowed(
        self, order: "NDArray[np.int64]", lows: "NDArray[np.int64]", highs: "NDArray[np.int64]"
    ) -> "NDArray[np.bool_]":
        """Return whether each part of the ordered rows satisfies all models."""
        judged = self._read_parts(order, lows, highs)
        allowed = np.ones(len(lows), dtype=np.bool_)
        for model in self.models:
            allowed &= model.find_satisfied(judged)
        return allowed

    def check(self, order: "NDArray[np.int64]", starts: "NDArray[np.int64]") -> None:
        """Raise the error that names the model if a part that must not be joined with others violates one."""
        judged = self._read_parts(order, starts[:-1], starts[1:])
        for model in self.models:
            if not model.find_satisfied(judged).all():
                names = ", ".join(map(safe_repr, model.columns))
                raise InfeasibleError("anonymity_recoding.model_infeasible", model=repr(model), names=names)

    def _read_parts(self, order: "NDArray[np.int64]", lows: "NDArray[np.int64]", highs: "NDArray[np.int64]") -> Judged:
        lengths = highs - lows
        ends = np.cumsum(lengths)
        rows = order[np.repeat(lows - (ends - lengths), lengths) + np.arange(int(ends[-1]))]
        records = Records(
            counts=None if self.records.counts is None else self.records.counts[rows],
            weights=self.records.weights[rows],
            codes={name: codes[rows] for name, codes in self.records.codes.items()},
            columns=self.records.columns,
        )
        return Judged(ids=np.repeat(np.arange(len(lows)), lengths), count=len(lows), records=records)


def read_judge(data: Microdata, rows: Rows, models: Sequence[ClassModel]) -> Judge:
    """Return the judge of rows, each of which stands for records with the same sensitive values."""
    _, records = read_records(data, models)
    known = Records(
        counts=rows.masses.astype(np.float64),
        weights=np.bincount(rows.ids, weights=records.weights).astype(np.float64),
        codes={name: codes[rows.examples] for name, codes in records.codes.items()},
        columns=records.columns,
    )
    return Judge(models, known)


def find_guarded_classes(domains: Sequence[Domain], rows: Rows, judge: Judge, *, k: int, relaxed: bool) -> Classes:
    """Return the classes of at least ``k`` records that satisfy all models, and that no allowed split makes smaller."""
    codes, positions, places, sizes = stack_domains(domains, rows)
    masses, order = rows.masses.copy(), np.arange(len(rows.masses))
    judge.check(order, rows.starts)
    lows, highs = rows.starts[:-1].copy(), rows.starts[1:].copy()
    attempts, final = np.zeros(len(lows), dtype=np.int64), [np.empty(0, dtype=np.int64)]
    while len(lows):
        middles = split_once(codes, masses, order, lows, highs, attempts, positions, places, sizes, k, relaxed)
        final.append(lows[middles < 0])
        split = middles >= 0
        lows, middles, highs, attempts = lows[split], middles[split], highs[split], attempts[split]
        if not len(lows):
            break
        halves = judge.find_allowed(order, np.append(lows, middles), np.append(middles, highs))
        good = halves.reshape(2, -1).all(axis=0)
        lows, highs, attempts = (
            np.concatenate([lows[good], middles[good], lows[~good]]),
            np.concatenate([middles[good], highs[good], highs[~good]]),
            np.concatenate([np.zeros(2 * int(good.sum()), dtype=np.int64), attempts[~good] + 1]),
        )
    starts = np.append(np.sort(np.concatenate(final)), len(order))
    return make_classes(rows, order, starts)
