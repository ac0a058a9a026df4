"""Black-box checks of a local protocol: its reports must not distinguish two values better than epsilon allows.

If reports are too many to list, drawn reports still have stated probabilities: no drawn report may favour a value by
more than epsilon, and the mean ratio of two probabilities must be 1. Independently of these statements, a search among
the bits of the reports looks for the most distinguishing event (``celosia.audit``).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from celosia.audit import compare, gather
from celosia.core import ConformanceError, Source
from celosia.local.base.protocol import Protocol

_TOLERANCE = 1e-9
_MAX_BITS = 24
_MAX_PAIRS = 6


def check_reports(
    protocol: Protocol[Any], values: Sequence[Any], samples: int, source: Source, failure: float
) -> tuple[str, float]:
    """Check that a search for distinguishing events among the bits of reports proves no more than epsilon."""
    payloads = [protocol.privatize([value] * samples, source=source).payload for value in values]
    drawn = [np.unpackbits(payload, axis=1, bitorder="little") for payload in payloads]
    pairs = list(combinations(range(len(values)), 2))[:_MAX_PAIRS]
    best, words = 0.0, "nothing"
    for one, two in pairs:
        columns = _telling(drawn[one], drawn[two])
        # The stated ratio is one more feature: it need not be right to distinguish.
        hints = [
            np.round(protocol.log_masses(values[one], rows) - protocol.log_masses(values[two], rows), 6)
            for rows in (payloads[one], payloads[two])
        ]
        first, second = (
            gather(np.column_stack([hint, bits[:, columns]]))
            for hint, bits in zip(hints, (drawn[one], drawn[two]), strict=True)
        )
        found = compare(first, second, values[one], values[two], failure=failure / len(pairs))
        if found.epsilon > float(protocol.guarantee.epsilon):
            _fail("audit", f"{protocol.guarantee!r} is claimed, but {found}.")
        if found.epsilon > best:
            best, words = found.epsilon, f"{found.hits} of {found.trials} against {found.hits_neighbour}"
    return f"epsilon >= {best:.4g} shown by {samples} reports of each value ({words})", best


def check_stated(protocol: Protocol[Any], values: Sequence[Any], samples: int, source: Source, failure: float) -> str:
    """Check the stated probabilities on drawn reports, if not all can be listed."""
    pairs = [(one, two) for one in values for two in values if one != two]
    worst, furthest = 0.0, 0.0
    reach = 1.25 * -float(special.ndtri(failure / (2 * len(pairs))))
    for one, two in pairs:
        payload = protocol.privatize([one] * samples, source=source).payload
        loss = protocol.log_masses(one, payload) - protocol.log_masses(two, payload)
        if np.isnan(loss).any() or np.abs(loss).max() > float(protocol.guarantee.epsilon) * (1 + _TOLERANCE):
            _fail("stated", f"a drawn report favours a value by {np.abs(loss).max():.9g}, more than epsilon.")
        worst = max(worst, float(np.abs(loss).max()))
        # The mean of Q/P under P is 1; draws from another law than P, or statements about one, show here.
        ratios = np.exp(-loss)
        error = float(ratios.std()) / np.sqrt(samples)
        away = abs(float(ratios.mean()) - 1) / error if error > 0 else 0.0
        if away > reach:
            _fail("stated", f"ratios of probabilities average {ratios.mean():.6g}, {away:.2g} standard errors from 1.")
        furthest = max(furthest, away)
    text = f"ratios average 1 to within {furthest:.2g} standard errors"
    return f"no drawn report favours a value by more than {worst:.6g}; {text}"


def _telling(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the bits whose frequencies differ most: a search among all bits of a long report would take hours."""
    away = np.abs(first.mean(axis=0) - second.mean(axis=0))
    return np.sort(np.argsort(-away, kind="stable")[:_MAX_BITS])


def _fail(check: str, what: str) -> None:
    raise ConformanceError("testing.conduct_check_failed", check=check, finding=what)
