"""The conformance kit for engines: exact results on tables of unusual values.

A summary that is off by one makes the noise too small; an error that depends on a row reveals it. So an engine must
return exactly the integers of the reference, for every case, and raise nothing. A pass is evidence, never a proof.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import CelosiaError, ConformanceError
from celosia.testing.engines.cases import Case, cases
from celosia.testing.engines.reference_engine import ReferenceEngine
from celosia.testing.engines.tables import nasty_tables
from celosia.testing.mechanism import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celosia.data.table import Table
    from celosia.query.engines.base import Engine

SECRET = (1, 2, 3, 4)
"""The secret of the checks: the choice of rows must follow from it alone."""


def check_engine(open_engine: "Callable[[Mapping[str, Table]], Engine]") -> tuple[Check, ...]:
    """Return the checks if an engine passes, else raise ``ConformanceError`` naming the case that failed.

    Parameters
    ----------
    open_engine
        Opens the engine on tables whose sources are frames; it may first write them to where the engine reads.

    Examples
    --------
    >>> class Silent(ReferenceEngine):
    ...     def summaries(self, *request):
    ...         return ()
    >>> check_engine(Silent)
    Traceback (most recent call last):
    celosia.core.errors.ConformanceError: rows: moments: 20 arrays were expected, not 0.
    """
    passed = []
    with open_engine(nasty_tables()) as engine:
        for persons in (False, True):
            for case in cases(persons=persons):
                name = f"{'persons' if persons else 'rows'}: {case.name}"
                try:
                    engine.check(case.plan)
                    found, expected = _answers(engine, case), _expect(case)
                except CelosiaError as error:
                    raise ConformanceError(
                        "testing.engine_raised", name=name, type=type(error).__name__, error=error
                    ) from error
                _compare(name, found, expected)
                passed.append(Check(name=name, found=f"{sum(map(_size, expected))} integers"))
    return tuple(passed)


@cache
def _open_reference() -> ReferenceEngine:
    return ReferenceEngine(nasty_tables())


@cache
def _expect(case: Case) -> list[Any]:
    """Return the reference's answers, which are computed once for all engines."""
    return _answers(_open_reference(), case)


def _answers(engine: "Engine", case: Case) -> list[Any]:
    if case.cells is not None:
        return list(engine.summaries(case.plan, case.requests, case.bounding, SECRET, case.cells))
    found: dict[tuple[Any, ...], int] = {}
    for batch in engine.key_counts(case.plan, case.bounding, SECRET):
        *keys, units = (column.to_pylist() for column in batch.columns)
        found |= dict(zip(zip(*keys, strict=True), units, strict=True))
    return [found]


def _compare(name: str, found: list[Any], expected: list[Any]) -> None:
    if len(found) != len(expected):
        raise ConformanceError("testing.wrong_number_of_arrays", name=name, wanted=len(expected), found=len(found))
    for place, (mine, right) in enumerate(zip(found, expected, strict=True)):
        if isinstance(right, dict):
            equal = mine == right
        else:
            equal = mine.shape == right.shape and mine.dtype.kind in "iO" and bool(np.all(mine == right))
        if not equal:
            raise ConformanceError(
                "testing.engine_answer_wrong",
                name=name,
                place=place,
                found=_format_answer(mine),
                wanted=_format_answer(right),
            )


def _size(answer: Any) -> int:
    return len(answer) if isinstance(answer, dict) else int(answer.size)


def _format_answer(answer: Any) -> str:
    text = str(answer if isinstance(answer, dict) else answer.tolist())
    return text if len(text) < 500 else f"{text[:500]}…"
