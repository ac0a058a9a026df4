"""Checks of the bias and the stated variance of the estimates of a local protocol.

If all reports can be listed and an estimate is a sum over reports, mean and variance of one report's contribution are
sums over the law, without sampling. A protocol that hashes is unbiased over its hash functions, so these are drawn many
times. Otherwise whole aggregates are simulated, and the check states the error that it would detect. A stated variance
may be an upper bound, but not a loose one.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import special

from celosia.core import CelosiaError, ConformanceError, Source
from celosia.local.base.protocol import Protocol
from celosia.local.base.reports import Reports
from celosia.testing.protocols.law import Law, read_law

Floats = NDArray[np.float64]

_MAX_LISTED = 1_536
_SEEDS = 300
_FEWEST_SEEDS = 8
_FIRST_SEED = 1_000_003
_ESTIMATE = 8  # an estimate takes at least as long as this many reports
_REPLICATE = 40
_REPLICATES = 100, 800
_PEOPLE = 60
_TOLERANCE = 1e-6
_LOOSE = 1.25
_TIGHT = 0.98
_KINDS: "WeakKeyDictionary[type[Protocol[Any]], str]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Mean and variance of an estimate, their expected values, and their standard errors.

    All arrays have one entry for each pair of a held value and a candidate. ``mean_error`` and ``variance_error`` are
    the standard errors of the first two, 0 without sampling, from ``draws`` draws.
    """

    mean: Floats
    mean_error: Floats
    truth: Floats
    variance: Floats
    variance_error: Floats
    stated: Floats
    draws: int
    how: str


def check_bias(moments: Moments, failure: float) -> str:
    """Check that estimates are unbiased."""
    reach = _reach(failure, moments.mean.size, moments.draws)
    scale = max(1.0, float(np.abs(moments.truth).max()))
    off = np.abs(moments.mean - moments.truth)
    allowed = _TOLERANCE * scale + reach * moments.mean_error
    worst = int(np.argmax(off - allowed))
    if not (off <= allowed).all():
        mean, truth = moments.mean.flat[worst], moments.truth.flat[worst]
        _fail("bias", f"an estimate is {mean:.6g} on average and should be {truth:.6g} ({moments.how}).")
    most = float(off.max())
    return f"off by {0.0 if most <= _TOLERANCE * scale else most:.3g} at most; {moments.how}"


def check_variance(moments: Moments, failure: float) -> str:
    """Check that the stated variance is not too small on average, and at most a quarter too large."""
    if np.isnan(moments.stated).any():
        return "not checked: none is stated"
    reach = _reach(failure, moments.variance.size, moments.draws)
    ratio, error = moments.variance / moments.stated, moments.variance_error / moments.stated
    noise = reach * float(error.max())
    # Holders and non-holders of a candidate are two terms of a stated variance.
    for held in (moments.truth > 0, moments.truth <= 0):
        mean = float(ratio[held].mean()) if ratio.shape == held.shape and held.any() else float(ratio.max())
        if not mean - noise <= 1 / _TIGHT:
            _fail("variance", f"estimates vary {mean:.4g} times as much as is stated ({moments.how}).")
    most = float(ratio.max())
    if not most + noise >= 1 / _LOOSE:
        _fail("variance", f"estimates vary only {most:.4g} times as much as is stated ({moments.how}).")
    seen = "" if noise < _TOLERANCE else f", seen to ±{100 * noise:.2g} %"
    return f"true over stated {ratio.min():.4g} to {most:.4g}{seen}; {moments.how}"


def exact_moments(protocol: Protocol[Any], law: Law, samples: int) -> Moments | None:
    """Return the moments of one report's contribution, by summing over the law.

    Return None if the reports are too many, or an estimate is not a sum over reports.
    """
    if len(law.outputs) > _MAX_LISTED or _kind(protocol) == "other":
        return None
    values = law.values
    seeds = _seeds(protocol, max(_FEWEST_SEEDS, min(_SEEDS, samples // _ESTIMATE // len(law.outputs))))
    first, second = [], []
    for other in seeds:
        here = law if other is protocol else read_law(other, values)
        told = None if here is None else _contributions(other, here)
        if here is None or told is None:
            return None
        masses = np.exp(here.logs)
        first.append(masses @ told)
        second.append(masses @ told**2)
    means, squares = np.stack(first), np.stack(second)
    truth = _truth(protocol, values, means.shape[2])
    mean, square = means.mean(axis=0), squares.mean(axis=0)
    # Another check covers the mean, so it is taken as known: only the noise of the second moment counts here.
    spread = np.sqrt(len(seeds))
    how = (
        "from the law, exact" if len(seeds) == 1 else f"from the laws of {len(seeds)} choices of hash functions, exact"
    )
    return Moments(
        mean=mean,
        mean_error=means.std(axis=0) / spread,
        truth=truth,
        variance=_worst(square - truth**2, protocol),
        variance_error=_worst(squares.std(axis=0) / spread, protocol),
        stated=_worst(_stated_variances(protocol, truth, 1), protocol),
        draws=len(seeds),
        how=how,
    )


def simulated_moments(protocol: Protocol[Any], values: Sequence[Any], samples: int, source: Source) -> Moments | None:
    """Return the moments of whole estimates, by simulation.

    Return None if the protocol does not estimate given values.
    """
    if _kind(protocol) == "other":
        return None
    replicates = min(max(samples // _REPLICATE, _REPLICATES[0]), _REPLICATES[1])
    seeds = _seeds(protocol, replicates)
    people = _people(protocol, values, source)
    drawn = []
    for index in range(replicates):
        other = seeds[index % len(seeds)]
        told = _ask(other, other.aggregate().absorb(other.privatize(people, source=source)), values)
        if told is None:
            return None
        drawn.append(told)
    estimates = np.stack(drawn)
    counts = [float(people.count(value)) for value in values]
    truth = np.array([[float(np.mean(people))] if _is_mean(protocol) else counts])
    variance = estimates.var(axis=0, ddof=1)[None]
    return Moments(
        mean=estimates.mean(axis=0)[None],
        mean_error=np.sqrt(variance / replicates),
        truth=truth,
        variance=variance,
        variance_error=variance * math.sqrt(2 / replicates),
        stated=_stated_variances(protocol, truth, _PEOPLE),
        draws=replicates,
        how=f"{replicates} simulated aggregates of {_PEOPLE} reports",
    )


def _people(protocol: Protocol[Any], values: Sequence[Any], source: Source) -> list[Any]:
    """Return the values that people hold: all different if the protocol takes them, else the values in turn.

    A stated variance does not cover how other frequent values collide in a sketch.
    """
    others: list[Any] = []
    if all(isinstance(value, str) for value in values):
        others = [f"{values[0]}{index}" for index in range(_PEOPLE - len(values))]
    elif all(isinstance(value, int) for value in values):
        others = [max(values) + 1 + index for index in range(_PEOPLE - len(values))]
    try:
        protocol.privatize(others, source=source)
    except CelosiaError:
        others = []
    return [*values, *others] if others else [values[index % len(values)] for index in range(_PEOPLE)]


def _is_mean(protocol: Protocol[Any]) -> bool:
    return _kind(protocol) == "mean"


def _kind(protocol: Protocol[Any]) -> str:
    """Return the kind of estimate: "mean", "counts" or "other"."""
    made = type(protocol)
    if made not in _KINDS:
        try:
            estimate = protocol.aggregate().estimate()
        except CelosiaError:  # it needs candidates
            _KINDS[made] = "counts"
        else:
            _KINDS[made] = "mean" if hasattr(estimate, "mean") else "counts" if hasattr(estimate, "counts") else "other"
    return _KINDS[made]


def _truth(protocol: Protocol[Any], values: Sequence[Any], columns: int) -> Floats:
    if _is_mean(protocol):
        return np.array([[float(value)] for value in values])
    return np.eye(len(values), columns)


def _stated_variances(protocol: Protocol[Any], truth: Floats, reports: int) -> Floats:
    variance: Any = getattr(protocol, "variance", None)
    if variance is None:
        return np.full(truth.shape, np.nan)
    if _is_mean(protocol):
        return np.full(truth.shape, float(variance(reports)))
    return np.array([[float(variance(reports, float(count))) for count in row] for row in truth])


def _worst(array: Floats, protocol: Protocol[Any]) -> Floats:
    """Return the largest entry for a mean, whose stated variance is that of the worst case; all entries for counts."""
    return array.max(keepdims=True) if _is_mean(protocol) else array


def _seeds(protocol: Protocol[Any], count: int) -> list[Protocol[Any]]:
    names = {field.name for field in dataclasses.fields(protocol)}
    if "seed" not in names:
        return [protocol]
    given = {name: getattr(protocol, name) for name in names - set(protocol._derived_fields())}  # noqa: SLF001 - as copying does
    return [type(protocol)(**{**given, "seed": _FIRST_SEED + index}) for index in range(count)]


def _contributions(protocol: Protocol[Any], law: Law) -> Floats | None:
    """Return the estimate of each report alone, or None if estimates are not sums."""
    rows = []
    for row in law.outputs:
        told = _ask(protocol, _aggregate_payload(protocol, row[None]), law.values)
        if told is None:
            return None
        rows.append(told)
    alone = np.stack(rows)
    # Some reports several times: the plain sum over all of them may be right by symmetry.
    times = 1 + np.arange(len(law.outputs)) % 3
    together = _ask(protocol, _aggregate_payload(protocol, np.repeat(law.outputs, times, axis=0)), law.values)
    added = times @ alone / (times.sum() if _is_mean(protocol) else 1)
    scale = max(1.0, float(np.abs(alone).max()) * len(law.outputs))
    return alone if together is not None and np.allclose(added, together, rtol=0, atol=_TOLERANCE * scale) else None


def _aggregate_payload(protocol: Protocol[Any], payload: Any) -> Any:
    return protocol.aggregate().absorb(Reports(protocol=protocol, payload=payload))


def _ask(protocol: Protocol[Any], aggregate: Any, values: Sequence[Any]) -> Floats | None:
    if _is_mean(protocol):
        return np.array([float(aggregate.estimate().mean)])
    estimate = aggregate.estimate(list(values))
    return np.asarray(estimate.raw, dtype=np.float64) if list(estimate.candidates) == list(values) else None


def _reach(failure: float, tests: int, draws: int) -> float:
    # Student's law, because the standard error is estimated too; a quarter more, because the sums are not quite normal.
    return 1.25 * -float(special.stdtrit(max(draws - 1, 1), failure / (4 * tests)))


def _fail(check: str, what: str) -> None:
    raise ConformanceError("testing.conduct_check_failed", check=check, finding=what)
