"""Privacy losses moved onto a grid, upwards.

A loss between two points of the grid is split between them so that the probabilities under P and under Q are both kept
("connect the dots": Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022): the new pair dominates the old one. Where
others take second differences of a computed profile, whose rounding is divided by the interval, every term here is
positive: atoms are split one by one, densities by Gauss and Legendre's rule cell by cell. Losses are raised by more
than their rounding error, tails only ever move up, so the result is an upper bound (``proofs/loss-distributions.md``).
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from celosia.accounting.checks import Array
from celosia.accounting.pld.loss_atoms import Atoms
from celosia.accounting.pld.normal import Normal, SampledNormal
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

Pair: TypeAlias = Atoms | Normal | SampledNormal
"""A pair of distributions that dominates an event."""

_UNIT = 2.0**-53
_MAX_DEVIATIONS = 11.0  # standard deviations; beyond them lies less than 2e-28
_NEGLIGIBLE = 1e-30  # mass that may move up at the lower end
_MAX_MU = 1_000.0  # typical losses are then half a million
_MAX_CELLS = 2**24
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Cells:
    """A privacy-loss distribution on a grid: ``masses[i]`` at loss ``(first + i) * interval``, the rest at infinity."""

    interval: float
    first: int
    masses: Array
    infinity: float


def discretise(pair: Pair, interval: float) -> Cells:
    """Return a distribution on the multiples of ``interval`` that dominates the pair (but for 2^-46 of each mass)."""
    losses, masses, infinity = _points(pair, interval)
    return _split(losses, masses, infinity, interval)


def coarsen(cells: Cells, interval: float) -> Cells:
    """Return a distribution on another grid that dominates one that is on a grid already."""
    index = np.flatnonzero(cells.masses)
    losses: Array = (cells.first + index).astype(np.float64) * cells.interval
    return _split(_raise_losses(losses), cells.masses[index], cells.infinity, interval)


def outline(pair: Pair, *, count: int = 4096) -> tuple[Array, Array]:
    """Return some losses and their masses, about ``count``, that resemble the pair; good for choosing a grid only."""
    losses, masses, _ = _points(pair, None)
    losses, masses = losses[masses > 0], masses[masses > 0]
    if len(losses) <= count:
        return losses, masses
    starts = np.arange(0, len(losses), -(-len(losses) // count))
    total = np.add.reduceat(masses, starts)
    return np.add.reduceat(masses * losses, starts) / total, total


def _points(pair: Pair, interval: float | None) -> tuple[Array, Array, float]:
    """Return losses (raised above their rounding error) with masses, and the mass at infinity."""
    if isinstance(pair, Atoms):
        return _atoms_points(pair)
    if isinstance(pair, Normal):
        return _Line(pair.mu, 1.0).points("remove", interval)
    return _Line(pair.mu, pair.probability).points(pair.kind, interval)


def _atoms_points(pair: Atoms) -> tuple[Array, Array, float]:
    """Return the atoms; negligible mass at the lower end moves up, which keeps the grid short."""
    # A mass was the exponential of a logarithm: its error grows with the size of that.
    masses = pair.masses * (1 + 4 * _UNIT * np.abs(pair.log_masses))
    start = min(int(np.searchsorted(np.cumsum(masses), _NEGLIGIBLE)), max(len(masses) - 1, 0))
    kept = masses[start:].copy()
    if start > 0:
        kept[0] += _NEGLIGIBLE
    return _raise_losses(pair.losses[start:]), kept, pair.infinity


def _raise_losses(losses: Array) -> Array:
    # Atoms may be off by 4e-15, the distance to the grid by an eighth of that.
    return losses + 48 * _UNIT * np.abs(losses)


def _split(losses: Array, masses: Array, infinity: float, interval: float) -> Cells:
    """Split each mass between the two grid points around its loss, keeping ``sum m`` and ``sum m exp(-loss)``."""
    if len(losses) == 0:
        return Cells(interval=interval, first=0, masses=np.zeros(1), infinity=infinity)
    _check_size((float(losses.max()) - float(losses.min())) / interval, interval)
    below = np.floor(losses / interval)
    over = np.clip(losses - below * interval, 0.0, interval)
    whole = -math.expm1(-interval)
    upper = masses * (-np.expm1(-over) / whole)
    lower = masses * (np.exp(-over) * (-np.expm1(over - interval)) / whole)
    first = int(below.min())
    index = (below - first).astype(np.intp)
    size = int(index.max()) + 2
    cells: Array = np.bincount(index, lower, size).astype(np.float64)
    cells[1:] += np.bincount(index, upper, size)[:-1]
    return Cells(interval=interval, first=first, masses=cells, infinity=infinity)


def _check_size(cells: float, interval: float) -> None:
    if not cells <= _MAX_CELLS:
        raise ParameterError("accounting.interval_too_narrow", most=_MAX_CELLS, interval=safe_repr(interval))


class _Line:
    """The line on which Q is N(0, 1), P is N(mu, 1) and R = (1 - q) Q + q P; the loss ln(R/Q) increases along it."""

    def __init__(self, mu: float, probability: float) -> None:
        if not 0 < mu <= _MAX_MU:
            raise ParameterError("accounting.mu_beyond_privacy", most=_MAX_MU, mu=safe_repr(mu))
        self.mu, self.q = mu, probability

    def points(self, kind: str, interval: float | None) -> tuple[Array, Array, float]:
        """Return losses and masses such that each cell of the grid has the P- and Q-mass of the density in it."""
        if kind == "fixed":
            return self._fixed(interval)
        if kind == "remove":
            return self._removal_losses(interval)
        return self._addition_losses(interval)

    def _removal_losses(self, interval: float | None) -> tuple[Array, Array, float]:
        """R against Q: mass left of the nodes or between them moves up to the next one; the right tail to infinity."""
        tail = _upper_tail(_MAX_DEVIATIONS)
        x, dx = self._nodes(interval, -_MAX_DEVIATIONS, self.mu + _MAX_DEVIATIONS)
        loss, margin = self._loss(np.append(x, [-_MAX_DEVIATIONS, max(self.mu - _MAX_DEVIATIONS, self.mu / 2)]))
        return loss + margin, np.append(self._mixture_density(x) * dx, [tail, tail]), tail

    def _addition_losses(self, interval: float | None) -> tuple[Array, Array, float]:
        """Q against R: the loss falls, from -ln(1 - q) on the left; the right tail moves up to the last node."""
        tail = _upper_tail(_MAX_DEVIATIONS)
        x, dx = self._nodes(interval, -_MAX_DEVIATIONS, _MAX_DEVIATIONS)
        loss, margin = self._loss(np.append(x, _MAX_DEVIATIONS))
        losses, masses = -loss + margin, np.append(_normal(x) * dx, tail)
        if self.q == 1:
            return losses, masses, tail
        largest = _raise_losses(np.array([-math.log1p(-self.q)]))
        return np.append(losses, largest), np.append(masses, tail), 0.0

    def _fixed(self, interval: float | None) -> tuple[Array, Array, float]:
        """Losses above 0 with R's masses, their mirror images with Q's, and the rest at loss 0."""
        x, dx = self._nodes(interval, self.mu / 2, self.mu + _MAX_DEVIATIONS)
        loss, margin = self._loss(x)
        above, below = self._mixture_density(x) * dx, _normal(x) * dx
        tail = _upper_tail(_MAX_DEVIATIONS)
        # The left part of Q's mass beyond mu/2 and the gap are within two tails; both are counted at the middle.
        rest = max(0.0, 1.0 - float(above.sum()) - float(below.sum())) + 8 * _UNIT
        gap, gap_margin = self._loss(np.array([max(self.mu - _MAX_DEVIATIONS, self.mu / 2)]))
        losses = np.concatenate([loss + margin, -loss + margin, [0.0], gap + gap_margin])
        return losses, np.concatenate([above, below, [rest, tail]]), tail

    def _nodes(self, interval: float | None, start: float, stop: float) -> tuple[Array, Array]:
        """Return nodes and weights of a rule that is right to 2^-49 in every panel; no panel crosses a grid point."""
        step = 0.5 / (10 + self.mu)
        spans = [(start, stop)]
        if start < _MAX_DEVIATIONS < self.mu - _MAX_DEVIATIONS < stop:  # nothing between two normals that are far apart
            spans = [(start, _MAX_DEVIATIONS), (self.mu - _MAX_DEVIATIONS, stop)]
        elif start >= _MAX_DEVIATIONS:
            spans = [(max(start, self.mu - _MAX_DEVIATIONS), stop)]
        left, right = [], []
        for low, high in spans:
            edges = np.linspace(low, high, math.ceil((high - low) / step) + 1)
            if interval is not None:
                images = self._images(low, high, interval)
                edges = np.sort(np.concatenate([edges, images]))
            left.append(edges[:-1])
            right.append(edges[1:])
        a, b = np.concatenate(left), np.concatenate(right)
        half = ((b - a) / 2)[:, None]
        nodes = ((a + b) / 2)[:, None] + half * _NODES
        return nodes.ravel(), (half * _WEIGHTS).ravel()

    def _images(self, low: float, high: float, interval: float) -> Array:
        """Return the points between ``low`` and ``high`` at which the loss is a multiple of the interval."""
        ends, _ = self._loss(np.array([low, high]))
        _check_size((ends[1] - ends[0]) / interval, interval)
        loss = np.arange(math.floor(ends[0] / interval) + 1, math.ceil(ends[1] / interval)) * interval
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.q == 1:
                t = loss
            else:
                near = np.log1p(np.expm1(np.minimum(loss, 1.0)) / self.q)
                far = loss + np.log1p(-(1 - self.q) * np.exp(-np.maximum(loss, 1.0))) - math.log(self.q)
                deep = np.log((np.exp(np.minimum(loss, 0.0)) - (1 - self.q)) / self.q)
                t = np.where(loss > 1, far, np.where(loss < -0.5, deep, near))
        x = t / self.mu + self.mu / 2
        inside: Array = x[(x > low) & (x < high)]
        return inside

    def _loss(self, x: Array) -> tuple[Array, Array]:
        """Return ln(R/Q) = ln(1 - q + q e^t), t = mu x - mu^2/2, and a bound on the rounding and the rule."""
        t = self.mu * x - self.mu**2 / 2
        size = np.abs(t) + self.mu * (1 + np.abs(x) + self.mu)
        if self.q == 1:
            return t, 64 * _UNIT * size
        low = np.minimum(t, 1.0)
        change = self.q * np.expm1(low)
        near = np.where(change < -0.5, np.log((1 - self.q) + self.q * np.exp(low)), np.log1p(np.maximum(change, -0.5)))
        loss = np.where(t > 1, np.logaddexp(math.log1p(-self.q), math.log(self.q) + t), near)
        slope = np.exp(np.minimum(math.log(self.q) + t - loss, 0.0))
        rough = np.where(t > 1, abs(math.log(self.q)), 0.0)
        return loss, 64 * _UNIT * (np.abs(loss) + slope * (size + rough))

    def _mixture_density(self, x: Array) -> Array:
        return (1 - self.q) * _normal(x) + self.q * _normal(x - self.mu)


def _normal(x: Array) -> Array:
    density: Array = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return density


def _upper_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2 * (1 + 1e-9)
