"""Mechanisms given as small tables of output probabilities, with the events that describe them.

A witness is an event and the output probabilities of one mechanism that it describes, on two neighbouring data sets. An
accountant's price of the event must cover the table, also when witnesses are composed: then the probabilities of all
combinations of outputs are multiplied out. Infinitely many outputs are merged into a few: those with the same privacy
loss (Laplace noise) or with a loss beyond a bound (Gaussian noise). Merging is post-processing; no output is dropped.
Kairouz, Oh and Viswanath 2015 for the table of (epsilon, delta).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.core import (
    ZCDP,
    ApproxDP,
    BoundedLaplaceEvent,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    ParallelEvent,
    ParameterError,
    PermuteAndFlipEvent,
    PoissonSampledEvent,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
    ReplacedEvent,
    ReplaceOne,
    ShuffledEvent,
)
from celosia.core.events import KeySelectionEvent, KNormEvent, SummedGaussianEvent

Table: TypeAlias = NDArray[np.float64]

_MAX_OUTPUTS = 1_000_000  # outputs of a composition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Witness:
    """An event, and a mechanism that it describes: output probabilities on a data set and on a neighbour.

    >>> coin = Witness(event=RandomizedResponseEvent(epsilon="1.1"), here=[0.75, 0.25], there=[0.25, 0.75])
    >>> (coin @ coin).here.tolist()
    [0.5625, 0.1875, 0.1875, 0.0625]
    """

    event: Event
    here: Table
    there: Table

    def __post_init__(self) -> None:
        for name in ("here", "there"):
            table = np.array(getattr(self, name), dtype=np.float64)
            if table.ndim != 1 or not (table >= 0).all() or abs(table.sum() - 1) > 1e-12:
                raise ParameterError("testing.not_output_probabilities", name=name)
            object.__setattr__(self, name, table)
        if self.here.shape != self.there.shape:
            raise ParameterError("testing.witness_outputs_differ")

    def __matmul__(self, other: "Witness") -> "Witness":
        """Return the independent composition of both mechanisms; the event stays the first one's."""
        if self.here.size * other.here.size > _MAX_OUTPUTS:
            raise ParameterError("testing.too_many_outputs")
        here, there = (np.outer(a, b).ravel() for a, b in ((self.here, other.here), (self.there, other.there)))
        return Witness(event=self.event, here=here, there=there)


def divergence(parts: Sequence[Witness], epsilon: float) -> float:
    """Return the true delta of a composition at ``epsilon``, the larger of both directions.

    >>> coin = Witness(event=RandomizedResponseEvent(epsilon="1.1"), here=[0.75, 0.25], there=[0.25, 0.75])
    >>> divergence([coin], 0.0), round(divergence([coin, coin], 1.0), 6)
    (0.5, 0.392607)
    """
    whole = reduce(Witness.__matmul__, parts)
    growth = math.exp(epsilon)
    one = np.maximum(whole.here - growth * whole.there, 0.0).sum()
    other = np.maximum(whole.there - growth * whole.here, 0.0).sum()
    return float(max(one, other))


def witnesses() -> tuple[Witness, ...]:
    """Return witnesses of noise, choices, answers, guarantees and structures, add-remove and replace-one.

    >>> {type(witness.event).__name__ for witness in witnesses()} >= {"LaplaceEvent", "ShuffledEvent", "GroupEvent"}
    True
    """
    return (*_noise(), *_keys(), *_guarantees(), *_samples(), *_parts(), *_answers(), *_replacements())


def _laplace(scale: float, shift: int, cells: int) -> Table:
    """Return the probabilities that shifted noise is at most 0, is 1, 2, ..., is at least ``cells``."""
    ratio = math.exp(-1 / scale)
    inner = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(1, cells) - shift)
    return np.array([ratio**shift / (1 + ratio), *inner, ratio ** (cells - shift) / (1 + ratio)])


def _bounded(scale: float, reach: int, place: int) -> Table:
    """Return the probabilities of 0, 1, ..., ``reach`` under noise that stays there."""
    masses = np.exp(-np.abs(np.arange(reach + 1) - place) / scale)
    return np.asarray(masses / masses.sum())


def _gaussian(variance: float, shift: int) -> Table:
    """Return the probabilities that shifted noise is at most -4, is -3, ..., is at least 5."""
    outputs = np.arange(-400, 401)
    masses = np.exp(-((outputs - shift) ** 2) / (2 * variance))
    return np.asarray(np.bincount(np.clip(outputs, -4, 5) + 4, masses / masses.sum()), dtype=np.float64)


def _summed_gaussian(variance: float, shift: int) -> Table:
    """Return the probabilities that the shifted sum of two noises is at most -4, is -3, ..., is at least 5."""
    masses = np.exp(-(np.arange(-200, 201) ** 2) / (2 * variance))
    total = np.convolve(masses, masses)
    cells = np.clip(np.arange(-400, 401) + shift, -4, 5) + 4
    return np.asarray(np.bincount(cells, total / total.sum()), dtype=np.float64)


def _response(epsilon: float, categories: int = 2, truth: int = 0) -> Table:
    table = np.ones(categories)
    table[truth] = math.exp(epsilon)
    return np.asarray(table / table.sum())


def _mix(share: float, sampled: Table, rest: Table) -> Table:
    return share * sampled + (1 - share) * rest


def _cube(scale: float, shift: int) -> Table:
    """Return the probabilities of noise on two numbers, of which both are shifted, clipped to those near 0."""
    outputs = np.arange(-100, 101)
    first, second = np.meshgrid(outputs, outputs)
    masses = np.exp(-np.maximum(np.abs(first - shift), np.abs(second - shift)) / scale)
    cells = (np.clip(first, -3, 4) + 3) * 8 + np.clip(second, -3, 4) + 3
    return np.asarray(np.bincount(cells.ravel(), (masses / masses.sum()).ravel()), dtype=np.float64)


def _noise() -> list[Witness]:
    vector = np.outer(_gaussian(4, 1), _gaussian(4, 1)).ravel(), np.outer(_gaussian(4, 0), _gaussian(4, 0)).ravel()
    even, apart = np.exp(np.array([0.0, 0.0, 0.0])), np.exp(np.array([0.5, -0.5, -0.5]))
    return [
        Witness(event=LaplaceEvent(scale=2, sensitivity=1), here=_laplace(2, 1, 1), there=_laplace(2, 0, 1)),
        Witness(event=LaplaceEvent(scale=2, sensitivity=3), here=_laplace(2, 3, 3), there=_laplace(2, 0, 3)),
        Witness(event=GaussianEvent(variance=2, sensitivity_squared=1), here=_gaussian(2, 1), there=_gaussian(2, 0)),
        Witness(event=GaussianEvent(variance=4, sensitivity_squared=2, dimension=2), here=vector[0], there=vector[1]),
        Witness(
            event=SummedGaussianEvent(parts=2, variance=2, sensitivity_squared=1),
            here=_summed_gaussian(1, 1),
            there=_summed_gaussian(1, 0),
        ),
        Witness(
            event=BoundedLaplaceEvent(epsilon="1.21", scale=1, sensitivity=1, reach=10),
            here=_bounded(1, 10, 1),
            there=_bounded(1, 10, 0),
        ),
        Witness(event=KNormEvent(scale=2, sensitivity=1, width=2), here=_cube(2, 1), there=_cube(2, 0)),
        Witness(event=ExponentialEvent(epsilon=1), here=even / even.sum(), there=apart / apart.sum()),
        Witness(
            event=PermuteAndFlipEvent(epsilon=1),
            here=np.array([0.5, 0.5]),
            there=np.array([1 - math.exp(-1) / 2, math.exp(-1) / 2]),
        ),
    ]


def _keys() -> list[Witness]:
    """Return keys with a single unit, and keys with as many other units as the threshold."""
    ratio, threshold = math.exp(-1 / 2), 6
    chance = ratio ** (threshold - 1) / (1 + ratio)
    alone, absent = np.array([1 - chance, chance]), np.array([1.0, 0.0])
    shared, left = _laplace(2, 1, 1), _laplace(2, 0, 1)  # below the threshold, and at each number above it
    return [
        Witness(event=KeySelectionEvent(scale=2, threshold=threshold), here=alone, there=absent),
        Witness(
            event=KeySelectionEvent(scale=2, threshold=threshold, groups=2),
            here=np.outer(alone, shared).ravel(),
            there=np.outer(absent, left).ravel(),
        ),
        # A unit leaves a key of its own, and enters a shared one.
        Witness(
            event=KeySelectionEvent(scale=2, threshold=threshold, adjacency=ReplaceOne),
            here=np.outer(alone, left).ravel(),
            there=np.outer(absent, shared).ravel(),
        ),
    ]


def _guarantees() -> list[Witness]:
    """Return coins that just meet a guarantee, for each kind of guarantee."""
    coins, half = (_response(1), _response(1, truth=1)), (_response(0.5), _response(0.5, truth=1))
    approx = _approximate(0.5, 0.05)
    curve = RenyiDP(orders=(2, 8), epsilons=("0.7354", "0.9553"))  # of the coins, rounded up
    return [
        Witness(event=GuaranteedEvent(guarantee=PureDP(epsilon=1)), here=coins[0], there=coins[1]),
        Witness(event=GuaranteedEvent(guarantee=ZCDP(rho="0.1225")), here=half[0], there=half[1]),
        Witness(event=GuaranteedEvent(guarantee=GaussianDP(mu="1.2321")), here=coins[0], there=coins[1]),
        Witness(event=GuaranteedEvent(guarantee=curve), here=coins[0], there=coins[1]),
        Witness(
            event=GuaranteedEvent(guarantee=ApproxDP(epsilon="0.5", delta="0.05")), here=approx[0], there=approx[1]
        ),
    ]


def _approximate(epsilon: float, delta: float) -> tuple[Table, Table]:
    kept = (1 - delta) * _response(epsilon)
    return np.array([delta, *kept, 0.0]), np.array([0.0, *kept[::-1], delta])


def _samples() -> list[Witness]:
    count, noise = LaplaceEvent(scale=2, sensitivity=1), GaussianEvent(variance=2, sensitivity_squared=1)
    approx, chance = _approximate(0.5, 0.05), "1/4"
    one = _mix(0.25, _laplace(2, 1, 2), _laplace(2, 0, 2))
    two = _mix(0.25, _mix(0.25, _laplace(2, 2, 2), _laplace(2, 1, 2)), one)
    return [
        Witness(
            event=PoissonSampledEvent(event=count, probability=chance),
            here=_mix(0.25, _laplace(2, 1, 1), _laplace(2, 0, 1)),
            there=_laplace(2, 0, 1),
        ),
        Witness(
            event=PoissonSampledEvent(event=noise, probability=chance),
            here=_mix(0.25, _gaussian(2, 1), _gaussian(2, 0)),
            there=_gaussian(2, 0),
        ),
        Witness(
            event=PoissonSampledEvent(
                event=GuaranteedEvent(guarantee=ApproxDP(epsilon="0.5", delta="0.05")), probability=chance
            ),
            here=_mix(0.25, *approx),
            there=approx[1],
        ),
        Witness(
            event=GroupEvent(event=PoissonSampledEvent(event=count, probability=chance), size=2),
            here=two,
            there=_laplace(2, 0, 2),
        ),
    ]


def _parts() -> list[Witness]:
    """Return a group, and one unit more in either part of a partition."""
    narrow, wide = LaplaceEvent(scale=1, sensitivity=1), LaplaceEvent(scale=2, sensitivity=1)
    return [
        Witness(event=GroupEvent(event=wide, size=3), here=_laplace(2, 3, 3), there=_laplace(2, 0, 3)),
        Witness(event=ParallelEvent(events=(narrow, wide)), here=_laplace(1, 1, 1), there=_laplace(1, 0, 1)),
        Witness(event=ParallelEvent(events=(narrow, wide)), here=_laplace(2, 1, 1), there=_laplace(2, 0, 1)),
    ]


def _answers() -> list[Witness]:
    answer, other = RandomizedResponseEvent(epsilon=1), RandomizedResponseEvent(epsilon="0.5")
    yes, no, maybe, hardly = _response(1), _response(1, truth=1), _response(0.5), _response(0.5, truth=1)
    noes = reduce(np.convolve, [no] * 3)
    return [
        Witness(event=answer, here=yes, there=no),
        Witness(
            event=RandomizedResponseEvent(epsilon=1, categories=4), here=_response(1, 4), there=_response(1, 4, truth=1)
        ),
        Witness(
            event=RandomizedResponseEvent(epsilon="2.1", coins=("0.75", "0.1")),
            here=np.array([0.75, 0.25]),
            there=np.array([0.1, 0.9]),
        ),
        Witness(
            event=GroupEvent(event=answer, size=2), here=np.outer(yes, yes).ravel(), there=np.outer(no, no).ravel()
        ),
        Witness(event=FixedSampledEvent(event=answer, size=1, population=4), here=_mix(0.25, yes, no), there=no),
        Witness(event=ShuffledEvent(event=answer, reports=4), here=np.convolve(noes, yes), there=np.convolve(noes, no)),
        # A unit leaves the first part and enters the second one.
        Witness(
            event=ParallelEvent(events=(answer, other)),
            here=np.outer(yes, hardly).ravel(),
            there=np.outer(no, maybe).ravel(),
        ),
        Witness(event=ParallelEvent(events=(answer, other), fixed=True), here=yes, there=no),
    ]


def _replacements() -> list[Witness]:
    """Return witnesses in which a unit that counts 1 is replaced by one that counts -1."""
    count = LaplaceEvent(scale=2, sensitivity=1)
    middle = _laplace(2, 1, 2)
    return [
        Witness(event=ReplacedEvent(event=count), here=_laplace(2, 2, 2), there=_laplace(2, 0, 2)),
        Witness(
            event=ReplacedEvent(event=PoissonSampledEvent(event=count, probability="1/4")),
            here=_mix(0.25, _laplace(2, 2, 2), middle),
            there=_mix(0.25, _laplace(2, 0, 2), middle),
        ),
        Witness(
            event=ParallelEvent(events=(LaplaceEvent(scale=2, sensitivity=1, adjacency=ReplaceOne),) * 2),
            here=np.outer(_laplace(2, 1, 1), _laplace(2, 0, 1)).ravel(),
            there=np.outer(_laplace(2, 0, 1), _laplace(2, 1, 1)).ravel(),
        ),
    ]
