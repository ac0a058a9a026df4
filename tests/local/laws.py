"""What every protocol of counts is held to: its exact law, draws from it, and estimates that are right on average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from celosia.noise import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local import Protocol

    Floats = NDArray[np.float64]


def table(protocol: Protocol[Any], values: list[Any]) -> Floats:
    """Row: the value; column: the report. Logarithms."""
    outputs = protocol.outputs()
    assert outputs is not None
    assert outputs.shape[1] == protocol.bytes_per_report
    assert len(np.unique(outputs, axis=0)) == len(outputs)
    assert protocol.is_valid(outputs).all()
    return np.array([protocol.log_masses(value, outputs) for value in values])


def check_law(protocol: Protocol[Any], values: list[Any]) -> None:
    """The masses are of a distribution, and epsilon is spent, all of it and no more."""
    logs = table(protocol, values)
    assert np.abs(np.exp(logs).sum(axis=1) - 1).max() < 1e-9
    assert abs((logs.max(axis=0) - logs.min(axis=0)).max() - float(protocol.epsilon)) < 1e-9


def places(protocol: Protocol[Any], payload: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The number of each report among the outputs."""
    outputs = protocol.outputs()
    assert outputs is not None
    known, said = numbers(outputs), numbers(payload)
    order = np.argsort(known)
    found = order[np.minimum(np.searchsorted(known, said, sorter=order), len(known) - 1)]
    assert (known[found] == said).all()
    return found


def numbers(payload: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Reports of at most 8 bytes as numbers."""
    padded = np.zeros((len(payload), 8), dtype=np.uint8)
    padded[:, : payload.shape[1]] = payload
    return padded.view("<u8").reshape(-1)


def one_by_one(protocol: Protocol[Any], value: Any, count: int, seed: int) -> NDArray[np.uint8]:
    """Reports as devices make them."""
    source = Seeded(seed)
    records = b"".join(protocol.report(value, source=source)[4:] for _ in range(count))
    return np.frombuffer(records, dtype=np.uint8).reshape(count, -1)


def fit(protocol: Protocol[Any], payload: NDArray[np.uint8], masses: Floats) -> float:
    """The p-value of Pearson's test that reports have these probabilities; rare ones are put together."""
    observed = np.bincount(places(protocol, payload), minlength=len(masses)).astype(np.float64)
    expected = masses * len(payload)
    rare = expected < 5
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    assert observed[~keep].sum() == 0
    return float(stats.chisquare(observed[keep], expected[keep] * observed.sum() / expected[keep].sum()).pvalue)


def check_draws(protocol: Protocol[Any], value: Any, *, many: int = 240_000, few: int = 500, seed: int = 1) -> None:
    """Both ways of drawing follow the law, and many would show an epsilon that is a tenth larger than is told.

    Reports one by one are few: the kit for protocols draws more of them (``tests/testing/protocols``).
    """
    masses = np.exp(protocol.log_masses(value, protocol.outputs()))  # type: ignore[arg-type] # the law was listed
    payload = protocol.privatize(np.full(many, value), source=Seeded(seed)).payload
    assert fit(protocol, payload, masses) > 1e-5
    assert fit(protocol, one_by_one(protocol, value, few, seed + 1), masses) > 1e-5
    logs = np.log(masses)
    # The probabilities of a client whose loss is stretched by a tenth: not those that were drawn.
    off = np.exp(logs + 0.1 * (logs - logs.min()))
    assert fit(protocol, payload, off / off.sum()) < 1e-5


def rounds(protocol: Protocol[Any], values: Any, times: int, seed: int, *, scale: float = 1.0) -> tuple[Floats, Floats]:
    """Estimates of many collections from the same people, and the standard errors that were told."""
    source = Seeded(seed)
    estimates = [
        protocol.aggregate().absorb(protocol.privatize(values, source=source)).estimate() for _ in range(times)
    ]
    raw = np.array([estimate.raw for estimate in estimates]) * scale
    return raw, np.array([estimate.standard_errors for estimate in estimates])


def check_moments(
    protocol: Protocol[Any], values: NDArray[np.int64], size: int, *, times: int = 400, seed: int = 3, off: float = 1.1
) -> None:
    """Means within 5 standard errors of the truth, variances within 4.5: 400 rounds tell a scale that is 10 % off.

    The mean square of r rounds of k free candidates has a relative standard deviation of sqrt(2 / (r k)), 0.021 for k
    of 11, and a scale that is 10 % off makes it 21 % larger: eight standard deviations of that larger one.
    """
    truth = np.bincount(values, minlength=size).astype(np.float64)
    raw, told = rounds(protocol, values, times, seed)
    theory = np.array([protocol.variance(len(values), count) for count in truth])  # type: ignore[attr-defined]
    assert np.abs((raw.mean(axis=0) - truth) / np.sqrt(theory / times)).max() < 5
    assert variance_score(raw, truth, theory) < 4.5
    assert variance_score(raw * off, truth * off, theory) > 4.5
    assert np.abs(told.mean(axis=0) ** 2 / theory - 1).max() < 0.15


def variance_score(raw: Floats, truth: Floats, theory: Floats) -> float:
    """How many standard deviations the mean squared error is away from theory."""
    ratios = (raw - truth) ** 2 / theory  # candidates of one round depend on each other a little: rounds do not
    each = ratios.mean(axis=1)
    return float(abs(each.mean() - 1) / (each.std(ddof=1) / np.sqrt(len(each))))
