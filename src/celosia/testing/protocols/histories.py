"""Checks of memoised protocols over time: the exact laws of short histories, against the lifetime guarantees.

A client with a secret reports about a history of values. All sequences of its reports are listed with their exact
probabilities, which the sampler must follow. Histories that change at different times are compared as well: a plain
guarantee must hold between any two of them, one for ``SameChanges`` between histories with their values exchanged.
"""

import math
from collections.abc import Sequence
from functools import singledispatch
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from celosia.core import ConformanceError, Guarantee, PureDP, ReplaceOne, SameChanges, Source
from celosia.local.base.memoised import Memoised
from celosia.local.base.packing import Bytes, unpack
from celosia.local.base.protocol import CHUNK
from celosia.local.longitudinal.d_bit_flip import DBitFlip
from celosia.local.longitudinal.loloha import LOLOHA, second_epsilon
from celosia.local.longitudinal.one_bit_mean import OneBitMean
from celosia.local.longitudinal.rappor import Rappor
from celosia.noise.keyed import KEY_BYTES
from celosia.testing.claims import excess
from celosia.testing.protocols.law import Law, follow

Logs = NDArray[np.float64]
History = tuple[Any, ...]

_TOLERANCE = 1e-9
_MAX_SEQUENCES = 1 << 16  # of reports
_SIZES = ((2, 3), (3, 2))  # reports of a history, and its different values


@singledispatch
def client_draws(protocol: Memoised[Any], payload: Bytes) -> NDArray[np.int64]:  # noqa: ARG001 - registered
    """Return the client's visible draw in each report as a number, equal in all reports of one client.

    >>> protocol = DBitFlip(buckets=3, d=1, epsilon=1)
    >>> int(client_draws(protocol, protocol.outputs()).max())
    191
    """
    raise ConformanceError("testing.no_client_draws_registered", type=type(protocol).__name__)


@singledispatch
def history_log_masses(protocol: Memoised[Any], history: History, payloads: Bytes) -> Logs:  # noqa: ARG001 - registered
    """Return the log probabilities of sequences of reports, an array (sequences, reports, bytes), for a history.

    A third party's protocol registers its own law: ``history_log_masses.register(Kind)``, and ``client_draws``.

    >>> protocol = OneBitMean(low=0, high=1, epsilon=1)
    >>> twice = np.array([[[0], [0]], [[0], [1]], [[1], [0]], [[1], [1]]], dtype=np.uint8)
    >>> np.exp(history_log_masses(protocol, (0, 0), twice)).round(3).tolist()
    [0.731, 0.0, 0.0, 0.269]
    """
    raise ConformanceError("testing.no_history_masses_registered", type=type(protocol).__name__)


@client_draws.register
def _(protocol: DBitFlip, payload: Bytes) -> NDArray[np.int64]:
    return protocol._unpack(payload)[1]  # noqa: SLF001 - here and below: the law is part of the protocol


@client_draws.register
def _(protocol: LOLOHA, payload: Bytes) -> NDArray[np.int64]:
    return unpack(payload, protocol._widths())[1].astype(np.int64)  # noqa: SLF001


@client_draws.register
def _(_protocol: OneBitMean, payload: Bytes) -> NDArray[np.int64]:
    return np.zeros(len(payload), dtype=np.int64)


@client_draws.register
def _(protocol: Rappor, payload: Bytes) -> NDArray[np.int64]:
    _, cohort, half = protocol._unpack(payload)  # noqa: SLF001
    return 2 * cohort + half


@history_log_masses.register
def _(protocol: DBitFlip, history: History, payloads: Bytes) -> Logs:
    items = protocol.encode(list(history))
    drawn = [protocol._unpack(payloads[:, t]) for t in range(len(history))]  # noqa: SLF001
    first = drawn[0][1]
    places = [protocol._places(np.full(len(payloads), one), first) for one in items]  # noqa: SLF001
    logs = _same_client(protocol, payloads) - math.log(protocol.assignments)
    for t, place in enumerate(places):
        repeated = np.zeros(len(payloads), dtype=np.bool_)
        for u in range(t):
            again = places[u] == place
            logs[again & (drawn[u][0] != drawn[t][0]).any(axis=1)] = -np.inf
            repeated |= again
        answer = protocol.log_masses(history[t], payloads[:, t]) + math.log(protocol.assignments)
        logs += np.where(repeated, 0.0, answer)
    return logs


@history_log_masses.register
def _(protocol: OneBitMean, history: History, payloads: Bytes) -> Logs:
    parts = protocol.parts
    items = protocol.encode(list(history))
    ends = sorted({0, parts, *items.tolist()})
    said = payloads[:, :, 0].astype(np.bool_)
    truth = 1 / (1 + math.exp(-float(protocol.epsilon)))
    total = np.zeros(len(payloads))
    for low, high in pairwise(ends):  # between these thresholds all sides are the same
        above = items >= high
        chance = np.full(len(payloads), (high - low) / parts)
        for side in set(above.tolist()):
            told = said[:, above == side]
            alike = (told == told[:, :1]).all(axis=1)
            chance *= np.where(alike, np.where(told[:, 0] == side, truth, 1 - truth), 0.0)
        total += chance
    with np.errstate(divide="ignore"):
        return np.log(total)


@history_log_masses.register
def _(protocol: LOLOHA, history: History, payloads: Bytes) -> Logs:
    function = client_draws(protocol, payloads[:, 0])
    items = protocol.encode(list(history))
    cells = np.stack([protocol._cells(np.full(len(payloads), one), function) for one in items], axis=1)  # noqa: SLF001
    said = np.stack([unpack(payloads[:, t], protocol._widths())[0] for t in range(len(history))], axis=1)  # noqa: SLF001
    second = second_epsilon(protocol.epsilon, protocol.epsilon_infinity, protocol.g)
    kept, fresh = (_answers(protocol.g, float(step)) for step in (protocol.epsilon_infinity, second))
    logs = _same_client(protocol, payloads) - math.log(protocol.functions)
    for t in range(len(history)):
        leads = (cells[:, :t] != cells[:, t : t + 1]).all(axis=1)  # the first report about its cell
        about = cells == cells[:, t : t + 1]
        chance = np.zeros(len(payloads))
        for answer in range(protocol.g):
            told = np.where(about, fresh[answer, said.astype(np.int64)], 1.0).prod(axis=1)
            chance += kept[cells[:, t], answer] * told
        logs += np.where(leads, np.log(chance), 0.0)
    return logs


@history_log_masses.register
def _(protocol: Rappor, history: History, payloads: Bytes) -> Logs:
    drawn = [protocol._unpack(payloads[:, t]) for t in range(len(history))]  # noqa: SLF001
    items, cohort = protocol.encode(list(history)), drawn[0][1]
    shown = np.stack([_bits(words, protocol.bits) for words, _, _ in drawn], axis=1)
    f, p, q = (float(chance) for chance in (protocol.f, protocol.p, protocol.q))
    logs = _same_client(protocol, payloads) - math.log(2 * protocol.cohorts)
    with np.errstate(divide="ignore"):
        for value in set(items.tolist()):
            told = shown[:, items == value]
            one, zero = (np.where(told, chance, 1 - chance).prod(axis=1) for chance in (q, p))
            set_bits = _bits(protocol._filters(np.full(len(payloads), value, dtype=np.uint64), cohort), protocol.bits)  # noqa: SLF001
            kept = np.where(set_bits, 1 - f / 2, f / 2)
            logs += np.log(kept * one + (1 - kept) * zero).sum(axis=1)
    return logs


def _bits(words: NDArray[np.uint64], count: int) -> NDArray[np.bool_]:
    rows = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
    return np.unpackbits(rows, axis=1, bitorder="little")[:, :count].astype(np.bool_)


def _answers(cells: int, epsilon: float) -> NDArray[np.float64]:
    """Return the probabilities of randomized response: a row for each true cell."""
    return np.where(np.eye(cells, dtype=np.bool_), 1.0, math.exp(-epsilon)) / (1 + (cells - 1) * math.exp(-epsilon))


def _same_client(protocol: Memoised[Any], payloads: Bytes) -> Logs:
    """Return 0 for sequences of reports that one client can have sent, and minus infinity for others."""
    draws = np.stack([client_draws(protocol, payloads[:, t]) for t in range(payloads.shape[1])], axis=1)
    return np.where((draws == draws[:, :1]).all(axis=1), 0.0, -np.inf)


def history_law(protocol: Memoised[Any], values: Sequence[Any], reports: int) -> Law | None:
    """Return the law of all histories of ``reports`` reports about some values, or None if they are too many.

    A row of ``outputs`` is a sequence of reports, one after the other.
    """
    outputs = protocol.outputs()
    if outputs is None:
        return None
    sizes = np.unique(client_draws(protocol, outputs), return_inverse=True)[1]
    if sum(int(size) ** reports for size in np.bincount(sizes)) > _MAX_SEQUENCES:
        return None
    rows = [np.flatnonzero(sizes == draw) for draw in range(int(sizes.max()) + 1)]
    places = np.concatenate([np.stack(np.meshgrid(*[own] * reports), axis=-1).reshape(-1, reports) for own in rows])
    payloads = outputs[places]
    histories = list(product(values, repeat=reports))
    logs = np.stack([history_log_masses(protocol, history, payloads) for history in histories])
    return Law(values=histories, outputs=payloads.reshape(len(payloads), -1), logs=logs)


def check_histories(
    protocol: Memoised[Any], values: Sequence[Any], samples: int, source: Source, failure: float
) -> str:
    """Check the lifetime guarantees on all pairs of short histories, and that memoised reports follow their law."""
    found, limited, plain, unlimited = 0, 0, 0, 0
    for reports, count in _SIZES:
        law = history_law(protocol, values[:count], reports)
        if law is None:
            continue
        found += 1
        totals = np.exp(law.logs).sum(axis=1)
        if not np.abs(totals - 1).max() <= _TOLERANCE:
            _fail("the probabilities of the reports of a history do not add up to 1.")
        _check_draws(protocol, law, reports, samples, source, failure / len(_SIZES))
        for (one, here), (two, there) in combinations(zip(law.values, law.logs, strict=True), 2):
            different = max(len(set(one)), len(set(two)))
            stated = protocol.lifetime(reports, values=different).guarantee  # type: ignore[attr-defined]
            limited += _check_pair(stated, one, two, here, there)
            epsilon = protocol.plain_lifetime_epsilon(reports, different)
            if epsilon is None:
                unlimited += 1
            else:
                guarantee = PureDP(epsilon=epsilon, adjacency=ReplaceOne, unit=stated.unit)
                plain += _check_pair(guarantee, one, two, here, there)
    if not found:
        return "not checked: sequences of reports are too many to list"
    text = f"{limited} pairs of histories within the lifetime, {plain} within the plain one"
    return text + (f"; {unlimited} have no finite plain bound" if unlimited else "")


def _check_pair(guarantee: Guarantee, one: History, two: History, here: Logs, there: Logs) -> bool:
    """Check one guarantee on two histories, and return whether it applies to them."""
    if guarantee.adjacency is SameChanges and not _is_exchanged(one, two):
        return False
    used = excess(guarantee, here, there)
    if not used <= 1 + _TOLERANCE:
        changes = f"histories that change at {_words(one)} and {_words(two)}"
        _fail(f"{changes} reach {used:.9g} times what {guarantee!r} allows.")
    return True


def _is_exchanged(one: History, two: History) -> bool:
    """Return whether two histories change at the same times: equal up to exchanged values, or both constant.

    Other histories with equal changes of values may differ in the changes of memoised answers: values can share a cell.
    """
    pairs, values = set(zip(one, two, strict=True)), set(one)
    alike = len(pairs) == len(values) == len(set(two))
    return alike and (len(values) == 1 or values == set(two))


def _words(history: History) -> str:
    changes = [str(t + 1) for t in range(1, len(history)) if history[t] != history[t - 1]]
    return f"report {' and '.join(changes)}" if changes else "no report"


def _check_draws(protocol: Memoised[Any], law: Law, reports: int, samples: int, source: Source, failure: float) -> None:
    def draw(history: History, count: int) -> Bytes:
        secrets = source.words(count * KEY_BYTES // 8).view(np.uint8).reshape(count, KEY_BYTES)
        told = [protocol.privatize([value] * count, secrets=secrets, source=source).payload for value in history]
        return np.concatenate(told, axis=1)

    few = max(100, samples // (10 * reports))
    follow(law, draw, few, CHUNK, failure, "histories")


def _fail(what: str) -> None:
    raise ConformanceError("testing.histories_check_failed", finding=what)
