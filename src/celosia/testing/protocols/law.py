"""Checks of the client of a local protocol, against its stated output probabilities.

A small protocol lists all possible reports; then every pair of inputs is compared exactly, the stated event is checked
against the same numbers at several Rényi orders, and both samplers (many at once, and word by word) must follow the
stated law.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from celosia.accounting import renyi
from celosia.accounting.prices.basic import pure
from celosia.core import ConformanceError, NotPricedError, RenyiDP, Source
from celosia.local.base.memoised import Memoised
from celosia.local.base.packing import Bytes
from celosia.local.base.protocol import CHUNK, Protocol
from celosia.local.base.reports import HEADER
from celosia.noise.keyed import KEY_BYTES
from celosia.testing.claims import excess
from celosia.testing.distributions import chi_square

_TOLERANCE = 1e-9
_ORDERS = np.array([1.25, 1.5, 2.0, 4.0, 8.0, 32.0])
_SCALAR_SLOWDOWN = 40
_MAX_SCALAR = 1_500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Law:
    """All possible reports, and the log probability of each of them for some values."""

    values: Sequence[Any]
    outputs: Bytes
    logs: NDArray[np.float64]


def read_law(protocol: Protocol[Any], values: Sequence[Any]) -> Law | None:
    """Return the stated law of a protocol, or None if its reports are too many to list."""
    outputs = protocol.outputs()
    if outputs is None:
        return None
    if outputs.dtype != np.uint8 or outputs.shape[1:] != (protocol.bytes_per_report,):
        _fail("law", f"outputs must be rows of {protocol.bytes_per_report} bytes.")
    if len(np.unique(row_keys(outputs))) < len(outputs):
        _fail("law", "outputs lists a report twice.")
    logs = np.stack([np.asarray(protocol.log_masses(value, outputs), dtype=np.float64) for value in values])
    if logs.shape != (len(values), len(outputs)) or np.isnan(logs).any():
        _fail("law", "log_masses must give one number for each report, and no NaN.")
    return Law(values=values, outputs=outputs, logs=logs)


def check_law(protocol: Protocol[Any], law: Law) -> tuple[str, float]:
    """Check that probabilities add up to one, and that no pair of values exceeds epsilon; return the largest ratio."""
    totals = np.exp(law.logs).sum(axis=1)
    off = int(np.argmax(np.abs(totals - 1)))
    if not abs(totals[off] - 1) <= _TOLERANCE:
        _fail("law", f"the probabilities add up to {totals[off]:.12g}, not to 1.")
    used = 0.0
    for here, there in combinations(law.logs, 2):
        used = max(used, excess(protocol.guarantee, here, there))
    if not used <= 1 + _TOLERANCE:
        _fail("law", f"two values' probabilities reach {used:.9g} times what {protocol.guarantee!r} allows.")
    reached = used * float(protocol.guarantee.epsilon)
    pairs = math.comb(len(law.values), 2)
    text = f"the largest log ratio is {reached:.6g}, {100 * used:.4g} % of the guarantee"
    return f"{len(law.outputs)} reports, {pairs} pairs of values: {text}", reached


def check_event(protocol: Protocol[Any], law: Law | None) -> str:
    """Check that the event of a report is priced at the guarantee, and is never cheaper than what the law reveals."""
    event, guarantee = protocol.event, protocol.guarantee
    name = type(event).__name__
    if (event.adjacency, event.unit) != (guarantee.adjacency, guarantee.unit):
        _fail("event", f"{name} and {guarantee!r} have different adjacencies or units.")
    try:
        price = pure(event)
    except NotPricedError as error:
        raise ConformanceError("testing.event_not_pure", name=name) from error
    if price > guarantee.epsilon:
        _fail("event", f"{name} is priced at {float(price):.9g}, more than {guarantee!r} says.")
    if law is None:
        return f"{name}, priced at {float(price):.6g}"
    curve = renyi(event, _ORDERS)
    allowed = RenyiDP(
        orders=tuple(_ORDERS.tolist()), epsilons=tuple(curve.tolist()), adjacency=event.adjacency, unit=event.unit
    )
    used = max(excess(allowed, here, there) for here, there in combinations(law.logs, 2))
    if not used <= 1 + _TOLERANCE:
        _fail("event", f"the law reaches {used:.9g} times the Rényi divergences that {name} is priced at.")
    return f"{name}, {100 * used:.4g} % of its price at the worst of {len(_ORDERS)} Rényi orders"


def check_sampler(protocol: Protocol[Any], law: Law, samples: int, source: Source, failure: float) -> str:
    """Check that ``privatize`` follows the law: ``samples`` reports of each value, against exact probabilities."""

    def draw(value: Any, count: int) -> Bytes:
        return protocol.privatize(_column(value, count), source=source).payload

    least = follow(law, draw, samples, CHUNK, failure, "sampler")
    return f"{samples} reports of each value, smallest p-value {least:.2g}"


def check_scalar(protocol: Protocol[Any], law: Law, samples: int, source: Source, failure: float) -> str:
    """Check that ``report``, which draws word by word, follows the law, with fewer reports because it is slower."""
    header = protocol.header

    def draw(value: Any, count: int) -> Bytes:
        records = [protocol.report(value, source=source) for _ in range(count)]
        if any(record[:HEADER] != header for record in records):
            _fail("scalar", "a record does not begin with the protocol's header.")
        if any(len(record) != HEADER + protocol.bytes_per_report for record in records):
            _fail("scalar", f"a record does not have {HEADER + protocol.bytes_per_report} bytes.")
        return np.frombuffer(b"".join(records), dtype=np.uint8).reshape(count, -1)[:, HEADER:]

    count = max(min(samples, 100), min(samples // _SCALAR_SLOWDOWN, _MAX_SCALAR))
    least = follow(law, draw, count, count, failure, "scalar")
    return f"{count} reports of each value, smallest p-value {least:.2g}"


def check_memoised(protocol: Memoised[Any], law: Law, samples: int, source: Source, failure: float) -> str:
    """Check that clients with secrets, who report once, follow the law as those without do."""

    def draw(value: Any, count: int) -> Bytes:
        secrets = source.words(count * KEY_BYTES // 8).view(np.uint8).reshape(count, KEY_BYTES)
        return protocol.privatize(_column(value, count), secrets=secrets, source=source).payload

    least = follow(law, draw, samples, CHUNK, failure, "memoised")
    return f"{samples} secrets for each value, smallest p-value {least:.2g}"


def row_keys(rows: Bytes) -> NDArray[np.uint64]:
    """Return 64 bits for each row: equal for equal rows, otherwise different except with negligible probability."""
    from celosia.sketches.hashing.columns import Column
    from celosia.sketches.hashing.digest import digest

    count, size = rows.shape
    offsets = size * np.arange(count + 1, dtype=np.int64)
    return digest(Column(offsets=offsets, data=np.ascontiguousarray(rows).reshape(-1)))


def follow(law: Law, draw: Any, samples: int, chunk: int, failure: float, check: str) -> float:
    """Return the smallest p-value: of each value's reports, and of all reports pooled by their probability.

    The latter pools what all values have in common, such as the frequency of true reports: it detects a slightly biased
    coin when single reports are too many, or too rare, to show it.
    """
    tests = len(law.values) + 1
    keys = row_keys(law.outputs)
    order = np.argsort(keys)
    pooled = np.zeros(law.logs.shape, dtype=np.int64)
    least = 1.0
    for index, value in enumerate(law.values):
        outside = 0
        for first in range(0, samples, chunk):
            found = row_keys(draw(value, min(chunk, samples - first)))
            place = order[np.minimum(np.searchsorted(keys, found, sorter=order), keys.size - 1)]
            known = keys[place] == found
            outside += int((~known).sum())
            pooled[index] += np.bincount(place[known], minlength=keys.size)
        if outside:
            _fail(check, f"{outside} reports were drawn that outputs does not list.")
        if pooled[index][np.isneginf(law.logs[index])].any():
            _fail(check, "a report was drawn whose stated probability is zero.")
        by_mass = np.argsort(-law.logs[index], kind="stable")
        p_value = chi_square(pooled[index][by_mass], np.exp(law.logs[index])[by_mass])
        least = _at_least(p_value, least, failure / tests, check, samples)
    return _at_least(_by_level(law, pooled), least, failure / tests, check, samples * len(law.values))


def _column(value: Any, count: int) -> Any:
    # A list would be encoded again, item by item, for every chunk.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return [value] * count
    return np.full(count, value)


def _by_level(law: Law, counts: NDArray[np.int64]) -> float:
    possible = ~np.isneginf(law.logs)
    levels, where = np.unique(-law.logs[possible].round(9), return_inverse=True)
    masses = np.bincount(where, weights=np.exp(law.logs[possible]), minlength=levels.size) / len(law.values)
    return chi_square(np.bincount(where, weights=counts[possible], minlength=levels.size).astype(np.int64), masses)


def _at_least(p_value: float, least: float, failure: float, check: str, samples: int) -> float:
    if p_value < failure:
        _fail(check, f"{samples} reports have a p-value of {p_value:.2g} under the stated probabilities.")
    return min(least, p_value)


def _fail(check: str, what: str) -> None:
    raise ConformanceError("testing.conduct_check_failed", check=check, finding=what)
