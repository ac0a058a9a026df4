"""The kit for engines passes the right ones and names what is wrong with others."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import ConformanceError
from celosia.core.errors import EngineError
from celosia.query.engines.registry import open_engine
from celosia.testing.engines import check
from celosia.testing.engines.cases import cases
from celosia.testing.engines.check import check_engine
from celosia.testing.engines.reference_engine import ReferenceEngine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.query.engines.base import Request
    from celosia.query.plan.nodes import Plan
    from celosia.query.planning.cells import Cells
    from celosia.statistics import ContributionBounds


def test_duckdb_passes(monkeypatch: pytest.MonkeyPatch, *, thorough: bool) -> None:
    if not thorough:  # random plans and rows are compared with the reference as well
        monkeypatch.setattr(check, "cases", lambda *, persons: list(cases(persons=persons))[::3])
    checks = check_engine(open_engine)
    assert len(checks) > (25 if thorough else 10)
    assert len({one.name for one in checks}) == len(checks)


Arrays = tuple["NDArray[Any]", ...]


class Mutant(ReferenceEngine):
    """The reference with something changed: the bounds it keeps, its secret, or its results."""

    def bounds(self, bounding: ContributionBounds) -> ContributionBounds:
        return bounding

    def secret(self, secret: Sequence[int]) -> Sequence[int]:
        return secret

    def results(self, arrays: Arrays) -> Arrays:
        return arrays

    def summaries(
        self, plan: Plan, requests: Sequence[Request], bounding: ContributionBounds, secret: Sequence[int], cells: Cells
    ) -> Arrays:
        return self.results(super().summaries(plan, requests, self.bounds(bounding), self.secret(secret), cells))


class OneMore(Mutant):
    """Counts one row too many in the last cell."""

    def results(self, arrays: Arrays) -> Arrays:
        arrays[-1][-1, -1] += 1
        return arrays


class Doubles(Mutant):
    """Sums in floats."""

    def results(self, arrays: Arrays) -> Arrays:
        return tuple(array.astype(np.float64) for array in arrays)


class Transposed(Mutant):
    """Gives arrays of the wrong shape."""

    def results(self, arrays: Arrays) -> Arrays:
        return tuple(array.T for array in arrays)


class MissesOne(Mutant):
    """Forgets a request."""

    def results(self, arrays: Arrays) -> Arrays:
        return arrays[:-1]


class Fails(Mutant):
    """Cannot divide."""

    def results(self, arrays: Arrays) -> Arrays:
        message = f"division by {len(arrays) - len(arrays)}"
        raise EngineError(message)


class Unbounded(Mutant):
    """Lets one person count as often as there are rows."""

    def bounds(self, bounding: ContributionBounds) -> ContributionBounds:
        return dataclasses.replace(bounding, rows=10**6)


class TooManyCells(Mutant):
    """Lets one person count in one cell more."""

    def bounds(self, bounding: ContributionBounds) -> ContributionBounds:
        return dataclasses.replace(bounding, groups=min(bounding.groups + 1, bounding.cells))


class OtherSecret(Mutant):
    """Chooses rows in an order of its own."""

    def secret(self, secret: Sequence[int]) -> Sequence[int]:
        return (*secret, 9)


class MissesKeys(ReferenceEngine):
    """Loses a key."""

    def key_counts(self, plan: Plan, bounding: ContributionBounds, secret: Sequence[int]) -> Iterator[pa.RecordBatch]:
        for batch in super().key_counts(plan, bounding, secret):
            yield batch.slice(1)


class Refuses(ReferenceEngine):
    """Does not know some plans."""

    def check(self, plan: Plan) -> None:
        if plan.filter is not None:
            message = "no filters"
            raise EngineError(message)


def test_what_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch, *, thorough: bool) -> None:
    if not thorough:  # the cases that show something, and a filter
        shown = ("moments", "where", "private keys", "choices")
        few = {p: [case for case in cases(persons=p) if case.name.startswith(shown)] for p in (False, True)}
        monkeypatch.setattr(check, "cases", lambda *, persons: few[persons])
    mutants: list[tuple[type[ReferenceEngine], str]] = [
        (OneMore, "rows: moments: request"),
        (Doubles, "rows: moments: request 0"),
        (Transposed, "rows: moments: request 0"),
        (Unbounded, "persons: choices: request"),
        (TooManyCells, "persons: choices: request"),
        (OtherSecret, "persons: choices: request"),
        (MissesOne, "rows: moments: 20 arrays were expected, not 19"),
        (MissesKeys, "rows: private keys: request 0"),
        (Fails, "the engine raised EngineError: division by 0"),
        (Refuses, "the engine raised EngineError: no filters"),
    ]
    for mutant, named in mutants:
        with pytest.raises(ConformanceError, match=named):
            check_engine(mutant)
