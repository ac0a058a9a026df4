"""Dominating pairs with finitely many privacy losses.

A pair of distributions (P, Q) dominates a mechanism if every two neighbours are at most as easy to tell apart: the
hockey-stick divergence of P from Q is at least theirs, for every e^epsilon (Zhu, Dong and Wang 2022). All that matters
of a pair are the privacy losses ln P/Q and their probabilities. Everything is rounded towards less privacy: a loss
counts a few units of the last place more than it is written, and results are raised by a part in 10^12, far above the
error of the sums (all of positive terms). The proofs are in ``proofs/pairs.md``.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from celosia.accounting.checks import Array, check_epsilons, check_orders, check_probability, vector
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr

_SUM_TOLERANCE = 1e-9  # probabilities that do not sum to 1 within this are a mistake, not rounding
_LOSS_ERROR = 4e-15  # relative: how far a computed loss may be from the true one
_SAFE = 1e-12  # far above the error of the sums
_SAFE_RENYI = 5e-12  # logarithms of masses down to e^-10000 are right to 2e-12
_ROUNDING = 5e-16  # of each step of a running sum
_UNDERFLOW = 1e-300


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Atoms:
    """A pair (P, Q) by its privacy losses.

    Parameters
    ----------
    losses
        Privacy losses ln P/Q: finite, strictly increasing.
    masses
        Their probabilities under P; under Q they are ``masses * exp(-losses)``.
    infinity
        The mass of P where Q has none.
    missing
        The mass of Q where P has none.
    log_masses
        The logarithms of ``masses``, for masses that underflow as doubles; computed when left out.
    """

    losses: Array
    masses: Array
    infinity: float = 0.0
    missing: float = 0.0
    log_masses: Array = field(default_factory=lambda: np.empty(0), repr=False)

    def __post_init__(self) -> None:
        losses = vector(self.losses, "losses")
        masses = vector(self.masses, "masses")
        if masses.size and not np.size(self.log_masses):
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(masses)
        else:
            logs = np.asarray(self.log_masses, dtype=np.float64)
        _check_pair(losses, masses, logs, self.infinity, self.missing)
        kept = logs > -math.inf
        for name, array in (("losses", losses), ("masses", masses), ("log_masses", logs)):
            value = array[kept]
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    def profile(self, epsilons: ArrayLike) -> Array:
        """Return the hockey-stick divergence of P from Q at each e^epsilon, rounded up; epsilon may be negative."""
        from celosia.accounting.pld.kernels import atoms_profile

        values = check_epsilons(epsilons)
        order = np.argsort(values)
        raised = self.losses + _LOSS_ERROR * np.abs(self.losses)
        out = np.empty(values.size)
        out[order] = atoms_profile(raised, self.log_masses, self.infinity, values[order])
        safe = 1 + _SAFE + _ROUNDING * (self.losses.size + values.size)
        return np.where(out > 0, np.minimum(out * safe + _UNDERFLOW, 1.0), 0.0)

    def renyi(self, orders: ArrayLike) -> Array:
        """Return the Rényi divergence of P from Q at each order, rounded up; infinite where Q lacks mass of P."""
        from celosia.accounting.pld.kernels import atoms_renyi

        values = check_orders(orders)
        if self.infinity > 0:
            return np.full(values.size, math.inf)
        return atoms_renyi(self.losses, self.log_masses, self.missing, values) * (1 + _SAFE_RENYI)

    def swap(self) -> "Atoms":
        """Return the pair (Q, P)."""
        logs = (self.log_masses - self.losses)[::-1]
        return from_logs(-self.losses[::-1], logs, infinity=self.missing, missing=self.infinity)

    def poisson(self, probability: float) -> tuple["Atoms", "Atoms"]:
        """Return (R, Q) and (Q, R) for R = (1 - probability) Q + probability P: Poisson sampling under add-remove."""
        share = check_probability(probability)
        if share == 1:
            return self, self.swap()
        losses = _sampled_losses(self.losses, share)
        logs = self.log_masses - self.losses + losses
        infinity = share * self.infinity
        if self.missing > 0:  # P has nothing there, but R has: the smallest loss of all
            least = math.log1p(-share)
            losses = np.append(least, np.maximum(losses, least))
            logs = np.append(math.log(self.missing) + least, logs)
        sampled = from_logs(losses, logs, infinity=infinity, missing=0.0)
        return sampled, sampled.swap()

    def fixed(self, probability: float) -> "Atoms":
        """Return the pair for samples of fixed size under replace-one; ``probability`` is size over population.

        A pair that is not symmetric is first made so: neighbours under replace-one come in both orders.
        """
        base = self if self._symmetric() else self.worse(self.swap())
        sampled, _ = base.poisson(probability)
        above = sampled.losses > 0
        losses, logs = sampled.losses[above], sampled.log_masses[above]
        both = np.concatenate([logs, logs - losses])
        rest = max(0.0, 1.0 - sampled.infinity - math.fsum(np.exp(both)))
        with np.errstate(divide="ignore"):
            logs = np.concatenate([(logs - losses)[::-1], [np.log(rest)], logs])
        losses = np.concatenate([-losses[::-1], [0.0], losses])
        return from_logs(losses, logs, infinity=sampled.infinity, missing=sampled.infinity)

    def coarsen(self, count: int) -> "Atoms":
        """Return a pair of at most ``count`` losses that closely dominates this one.

        Each loss is replaced by its two neighbours on an even grid, such that its probabilities under P and under Q are
        both kept: the profile becomes its chord between grid points (Doroshenko and others 2022).
        """
        most = exact_integer(count, name="count", least=2)
        if self.losses.size <= most:
            return self
        grid = np.linspace(self.losses[0], self.losses[-1], most)
        cell = np.clip(np.searchsorted(grid, self.losses, side="right") - 1, 0, most - 2)
        low, high = grid[cell], grid[cell + 1]
        with np.errstate(divide="ignore"):
            to_low = self.log_masses + np.log(_expm1_ratio(high - self.losses, high - low))
            to_high = self.log_masses + np.log(_expm1_ratio(low - self.losses, low - high))
        losses = np.concatenate([low, high])
        logs = np.concatenate([to_low, to_high])
        order = np.argsort(losses, kind="stable")
        return from_logs(losses[order], logs[order], infinity=self.infinity, missing=self.missing)

    def worse(self, other: "Atoms") -> "Atoms":
        """Return the pair whose profile is the larger of both at every epsilon."""
        from celosia.accounting.pld.envelope import envelope

        losses, logs = envelope(self, other)
        infinity, missing = max(self.infinity, other.infinity), max(self.missing, other.missing)
        return from_logs(losses, logs, infinity=infinity, missing=missing)

    def _symmetric(self) -> bool:
        other = self.swap()
        return (
            self.infinity == self.missing
            and self.losses.size == other.losses.size
            and bool(np.allclose(self.losses, other.losses, rtol=1e-9, atol=1e-300))
            and bool(np.allclose(self.log_masses, other.log_masses, rtol=1e-9, atol=1e-9))
        )


def from_logs(losses: Array, logs: Array, *, infinity: float, missing: float) -> Atoms:
    """Build a pair from losses that do not decrease and the logarithms of their masses; equal losses become one."""
    starts = np.flatnonzero(np.append(True, losses[1:] > losses[:-1]))
    if starts.size < losses.size:
        losses, logs = losses[starts], np.logaddexp.reduceat(logs, starts)
    kept = logs > -math.inf
    losses, logs = losses[kept], logs[kept]
    return Atoms(losses=losses, masses=np.exp(logs), infinity=infinity, missing=missing, log_masses=logs)


def _sampled_losses(losses: Array, share: float) -> Array:
    """Return ln(1 - share + share e^loss): small losses to all digits, large ones without overflow."""
    out = np.log1p(share * np.expm1(np.minimum(losses, 700.0)))
    far = losses > 700.0
    out[far] = losses[far] + np.log(share + (1 - share) * np.exp(-losses[far]))
    if share > 0.5:  # 1 - share is exact, where log1p would have lost its digits
        deep = losses < -1
        out[deep] = np.log((1 - share) + share * np.exp(losses[deep]))
    return np.maximum.accumulate(out) if out.size else out


def _expm1_ratio(part: Array, whole_gap: Array) -> Array:
    """Return (e^part - 1) / (e^gap - 1) for parts of gaps of one sign, without overflow."""
    positive = whole_gap > 0
    with np.errstate(over="ignore", invalid="ignore"):
        # (e^x - 1) / (e^y - 1) = e^(x - y) (1 - e^-x) / (1 - e^-y): the form for positive gaps.
        upward = np.exp(part - whole_gap) * np.expm1(-np.abs(part)) / np.expm1(-np.abs(whole_gap))
        downward = np.expm1(-np.abs(part)) / np.expm1(-np.abs(whole_gap))
    return np.where(positive, upward, downward)


def _check_pair(losses: Array, masses: Array, logs: Array, infinity: float, missing: float) -> None:
    if losses.shape != masses.shape or losses.shape != logs.shape:
        raise ParameterError("accounting.losses_and_masses_differ", losses=losses.size, masses=masses.size)
    if not (np.all(np.isfinite(losses)) and np.all(losses[1:] > losses[:-1])):
        raise ParameterError("accounting.losses_not_increasing")
    if not np.all((masses >= 0) & (logs < math.inf)):  # also where NaN
        raise ParameterError("accounting.masses_not_probabilities")
    for name, value in (("infinity", infinity), ("missing", missing)):
        if isinstance(value, bool) or not 0 <= value <= 1:
            raise ParameterError("core.outside_unit_interval", name=name, value=safe_repr(value))
    for sums, extra, whose in ((logs, infinity, "P"), (logs - losses, missing, "Q")):
        total = extra + float(np.sum(np.exp(np.minimum(sums, 1.0))))
        if not abs(total - 1) <= _SUM_TOLERANCE:
            raise ParameterError("accounting.masses_do_not_sum_to_one", distribution=whose, total=repr(total))
