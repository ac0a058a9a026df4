"""Every accountant against exact output distributions: mechanisms as tables, on all neighbours of tiny data sets.

A structure is drawn at random (seeded) together with the mechanism that it describes. The mechanism's distribution is
written down for every data set of up to three records, samples and shuffles by enumeration, and no bound may be
below the worst pair of neighbours. Mutants, structures that describe a little less than what is
run, must be caught by the same check.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from scipy import special

from celosia.accounting import (
    AdvancedAccountant,
    BasicAccountant,
    Filter,
    GDPAccountant,
    Odometer,
    PLDAccountant,
    PureAccountant,
    RenyiAccountant,
    ZCDPAccountant,
    dominating,
    game,
    renyi,
    simplify,
)
from celosia.accounting.prices import simplify as simplify_module
from celosia.core import (
    ZCDP,
    AddRemove,
    Adjacency,
    ApproxDP,
    ComposedEvent,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    Guarantee,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PermuteAndFlipEvent,
    PNSGDEvent,
    PoissonSampledEvent,
    PostProcessedEvent,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
    ShuffledEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from celosia.accounting import Accountant, AdaptiveAccountant

    Array: TypeAlias = NDArray[np.float64]

Unit: TypeAlias = tuple[int, int, int]  # whose, in which cell, of which kind
Data: TypeAlias = tuple[Unit, ...]

KINDS = [(cell, value) for cell in range(2) for value in range(2)]
MOST = 3  # records
EPSILONS = np.concatenate([np.linspace(0, 2, 9), [3.0, 5.0]])
ORDERS = np.array([1.01, 1.3, 2.0, 3.0, 5.0, 10.0, 50.0])
DELTAS = (1e-6, 1e-3, 0.05, 0.3)
ACCOUNTANTS: list[type[Accountant]] = [
    PureAccountant,
    BasicAccountant,
    AdvancedAccountant,
    ZCDPAccountant,
    RenyiAccountant,
    GDPAccountant,
    PLDAccountant,
]


class TooLargeError(Exception):
    """More outcomes than are worth writing down."""


@dataclass
class Mechanism:
    """An event and the distribution of answers, for each data set, of the mechanism that it describes."""

    event: Event
    answers: Callable[[Data], Array]
    seen: dict[Data, Array] = field(default_factory=dict)

    def __call__(self, data: Data) -> Array:
        if data not in self.seen:
            self.seen[data] = self.answers(data)
        return self.seen[data]


def together(parts: Iterable[Array]) -> Array:
    """Return the distribution of independent answers, all of them told."""
    rows = list(parts)
    if math.prod(row.size for row in rows) > 3000:
        raise TooLargeError
    out = np.ones(1)
    for row in rows:
        out = np.outer(out, row).ravel()
    return out


def laplace_row(scale: float, centre: int, low: int, high: int) -> Array:
    """Return discrete Laplace noise clamped to low, ..., high, between which all centres lie: nothing is lost."""
    ratio = math.exp(-1 / scale)
    row = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(low, high + 1) - centre).astype(np.float64)
    row[0], row[-1] = ratio ** (centre - low) / (1 + ratio), ratio ** (high - centre) / (1 + ratio)
    return row


def gaussian_row(variance: float, centre: int, reach: int) -> Array:
    x = np.arange(-200, 201)
    weights = np.exp(-(x**2) / (2 * variance))
    row = np.zeros(2 * reach + 1)
    np.add.at(row, np.clip(x + centre, -reach, reach) + reach, weights / weights.sum())
    return row


def laplace(rng: np.random.Generator, adjacency: Adjacency) -> Mechanism:
    size, scale = int(rng.integers(1, 4)), round(float(rng.uniform(0.4, 4)), 2)
    least = -size if adjacency is AddRemove else 0
    worth = dict(zip(KINDS, [size, 0, *rng.integers(least, size + 1, size=2).tolist()], strict=True))
    # What is fractional of a sensitivity in whole steps says nothing.
    event = LaplaceEvent(scale=scale, sensitivity=size + Fraction(1, int(rng.integers(2, 4))), adjacency=adjacency)
    return Mechanism(
        event, lambda data: laplace_row(scale, sum(worth[unit[1:]] for unit in data), least * MOST, size * MOST)
    )


def gaussian(rng: np.random.Generator, adjacency: Adjacency) -> Mechanism:
    dimension, variance = int(rng.integers(1, 3)), round(float(rng.uniform(0.5, 4)), 2)
    worth = dict(zip(KINDS, [(1,) * dimension, (0,) * dimension, (1, 0)[:dimension], (0, 1)[:dimension]], strict=True))
    reach = MOST + int(3 * math.sqrt(variance))
    event = GaussianEvent(variance=variance, sensitivity_squared=dimension, dimension=dimension, adjacency=adjacency)
    return Mechanism(
        event,
        lambda data: together(
            gaussian_row(variance, sum(worth[unit[1:]][i] for unit in data), reach) for i in range(dimension)
        ),
    )


def normal(rng: np.random.Generator, adjacency: Adjacency) -> Mechanism:
    """Return continuous Gaussian noise, told in bins, by each of the guarantees that it has."""
    mu = Fraction(int(rng.integers(2, 12)), 8)
    orders = [Fraction(11, 10), *(Fraction(2**i) for i in range(1, 7))]
    known: list[Guarantee] = [
        GaussianDP(mu=mu, adjacency=adjacency),
        ZCDP(rho=mu**2 / 2, adjacency=adjacency),
        RenyiDP(orders=orders, epsilons=[order * mu**2 / 2 for order in orders], adjacency=adjacency),
    ]
    worth = dict(zip(KINDS, [1.0, 0.0, 0.5, 1.0], strict=True))
    edges = np.linspace(-4.0, 8.0, 40)

    def answers(data: Data) -> Array:
        x = edges - float(mu) * sum(worth[unit[1:]] for unit in data)
        below, above = (
            np.diff(special.ndtr(x), prepend=0.0, append=1.0),
            -np.diff(special.ndtr(-x), prepend=1.0, append=0.0),
        )
        return np.where(np.concatenate([[x[0]], x]) < 0, below, above)  # from the side that keeps the digits

    return Mechanism(GuaranteedEvent(guarantee=known[int(rng.integers(3))]), answers)


def choice(rng: np.random.Generator, adjacency: Adjacency) -> Mechanism:
    """Return a choice among three by exponential weights, or by permute-and-flip."""
    epsilon, flips = round(float(rng.uniform(0.2, 3)), 2), rng.random() < 0.5
    spread = rng.integers(0 if adjacency is ReplaceOne else -2, 3, size=(4, 3)) / 2
    spread[0] = [1, 0, 0] if adjacency is ReplaceOne else [1, -1, -1]
    worth = dict(zip(KINDS, spread, strict=True))

    def answers(data: Data) -> Array:
        utility = sum((worth[unit[1:]] for unit in data), np.zeros(3))
        odds = np.exp(epsilon / 2 * (utility - utility.max()))
        if not flips:
            return np.asarray(odds / odds.sum())
        row = np.zeros(3)
        for order in itertools.permutations(range(3)):
            left = 1 / 6
            for one in order:
                row[one] += left * odds[one]
                left *= 1 - odds[one]
        return row

    kind = PermuteAndFlipEvent if flips else ExponentialEvent
    return Mechanism(kind(epsilon=epsilon, adjacency=adjacency), answers)


def worst(rng: np.random.Generator, adjacency: Adjacency) -> Mechanism:
    """Return the mechanism to which (epsilon, delta) says everything, on the parity of the data."""
    epsilon, delta = round(float(rng.uniform(0.1, 2)), 2), float(rng.choice([0, 0.01, 0.1]))
    truth = special.expit(epsilon) * (1 - delta)
    row = np.array([delta, truth, 1 - delta - truth, 0])
    event = GuaranteedEvent(guarantee=ApproxDP(epsilon=epsilon, delta=delta, adjacency=adjacency))
    return Mechanism(event, lambda data: row if sum(unit[2] for unit in data) % 2 else row[::-1])


def response(rng: np.random.Generator) -> tuple[RandomizedResponseEvent, Array]:
    if rng.random() < 0.4:
        yes, no = (Fraction(int(coin), 20) for coin in rng.integers(1, 20, size=2))
        most = max(abs(math.log(yes / no)), abs(math.log((1 - yes) / (1 - no))))
        event = RandomizedResponseEvent(epsilon=Fraction(most * (1 + 1e-9) + 1e-9), coins=(yes, no))
        return event, np.array([[yes, 1 - yes], [no, 1 - no]], dtype=np.float64)
    epsilon, categories = round(float(rng.uniform(0.1, 3)), 2), int(rng.integers(2, 4))
    rows = np.ones((categories, categories)) + np.eye(categories) * math.expm1(epsilon)
    return RandomizedResponseEvent(epsilon=epsilon, categories=categories), rows / rows[0].sum()


def local(rng: np.random.Generator, people: int) -> Mechanism:
    """Return randomized answers of all people, in order or as a histogram."""
    event, rows = response(rng)
    if rng.random() < 0.5:
        return Mechanism(event, lambda data: together(rows[unit[2]] for unit in data))

    def histogram(data: Data) -> Array:
        counts: Counter[tuple[int, ...]] = Counter()
        for reports in itertools.product(range(len(rows)), repeat=len(data)):
            chance = math.prod(rows[unit[2]][report] for unit, report in zip(data, reports, strict=True))
            counts[tuple(sorted(reports))] += chance
        return np.array([counts[key] for key in sorted(counts)], dtype=np.float64)

    return Mechanism(ShuffledEvent(event=event, reports=people), histogram)


def single(rng: np.random.Generator, adjacency: Adjacency, people: int | None) -> Mechanism:
    if people and rng.random() < 0.4:
        return local(rng, people)
    return (laplace, gaussian, normal, choice, worst)[int(rng.integers(5))](rng, adjacency)


def structure(  # noqa: PLR0911 - one for each kind
    rng: np.random.Generator, adjacency: Adjacency, people: int | None, depth: int
) -> Mechanism:
    """Draw a structure. ``people`` is the number of units where it is fixed and everybody's answer is there."""
    if depth == 0:
        return single(rng, adjacency, people)
    kinds = ["composed", "repeated", "post-processed", "parallel"]
    kinds += ["poisson"] * 2 if adjacency is AddRemove else ["replaced"]
    kinds += ["sampled", "sampled", "cells"] if people else []
    kind = kinds[int(rng.integers(len(kinds)))]
    if kind == "parallel":
        return parallel([structure(rng, adjacency, None, depth - 1) for _ in range(2)])
    if kind == "cells":
        return cells([structure(rng, adjacency, None, depth - 1) for _ in range(2)])
    if kind == "composed":
        parts = [structure(rng, adjacency, people, depth - 1) for _ in range(2)]
        return Mechanism(
            ComposedEvent(events=[part.event for part in parts]), lambda data: together(part(data) for part in parts)
        )
    if kind == "sampled":
        size = int(rng.integers(1, (people or 0) + 1))
        return sampled(structure(rng, adjacency, size, depth - 1), size, people or 0)
    if kind == "replaced":
        return replaced(structure(rng, AddRemove, None, depth - 1))
    part = structure(rng, adjacency, people, depth - 1)
    if kind == "poisson":
        return poisson(part, Fraction(int(rng.integers(1, 20)), 20))
    if kind == "repeated":
        return Mechanism(RepeatedEvent(event=part.event, times=2), lambda data: together([part(data)] * 2))
    return Mechanism(PostProcessedEvent(event=part.event, by="nothing"), part)


def parallel(parts: list[Mechanism]) -> Mechanism:
    return Mechanism(
        ParallelEvent(events=[part.event for part in parts]),
        lambda data: together(part(tuple(u for u in data if u[1] == cell)) for cell, part in enumerate(parts)),
    )


def cells(parts: list[Mechanism]) -> Mechanism:
    """Return parts by public identifiers: replacing a unit leaves it where it is."""
    return Mechanism(
        ParallelEvent(events=[part.event for part in parts], fixed=True),
        lambda data: together(part(tuple(u for u in data if u[0] % 2 == cell)) for cell, part in enumerate(parts)),
    )


def poisson(part: Mechanism, share: Fraction) -> Mechanism:
    def answers(data: Data) -> Array:
        out = np.zeros(1)
        for kept in itertools.product((False, True), repeat=len(data)):
            chance = float(share ** sum(kept) * (1 - share) ** (len(data) - sum(kept)))
            out = out + chance * part(tuple(itertools.compress(data, kept)))
        return out

    return Mechanism(PoissonSampledEvent(event=part.event, probability=share), answers)


def sampled(part: Mechanism, size: int, people: int) -> Mechanism:
    def answers(data: Data) -> Array:  # in random order: an order that told who is in the sample would undo it
        return np.asarray(np.mean([part(sample) for sample in itertools.permutations(data, size)], axis=0))

    return Mechanism(FixedSampledEvent(event=part.event, size=size, population=people), answers)


def replaced(part: Mechanism) -> Mechanism:
    return Mechanism(ReplacedEvent(event=part.event), lambda data: part(tuple((0, *unit[1:]) for unit in data)))


def neighbours(adjacency: Adjacency, people: int, group: int = 1) -> list[tuple[Data, Data]]:
    """Return all ordered pairs of data sets that differ in one to ``group`` units."""
    if adjacency is ReplaceOne:
        sets = [tuple((i, *kind) for i, kind in enumerate(d)) for d in itertools.product(KINDS, repeat=people)]
        return [
            (a, b)
            for a, b in itertools.permutations(sets, 2)
            if sum(one != other for one, other in zip(a, b, strict=True)) <= group
        ]
    every = (d for n in range(MOST + 1) for d in itertools.combinations_with_replacement(KINDS, n))
    sets = [tuple((0, *kind) for kind in d) for d in every]
    apart = {(a, b): (Counter(a) - Counter(b)) + (Counter(b) - Counter(a)) for a, b in itertools.permutations(sets, 2)}
    return [pair for pair, difference in apart.items() if difference.total() <= group]


def rows(mechanism: Mechanism, pairs: list[tuple[Data, Data]]) -> list[tuple[Array, Array, bool]]:
    """Return the different pairs of distributions, and whether the first data set is the larger one."""
    found = {}
    for a, b in pairs:
        p, q = mechanism(a), mechanism(b)
        assert abs(p.sum() - 1) < 1e-9
        found[(p.round(12).tobytes(), q.round(12).tobytes())] = (p, q, len(a) > len(b))
    return list(found.values())


def hockey_stick(p: Array, q: Array, epsilons: Array) -> Array:
    return np.asarray(np.maximum(p - np.exp(epsilons)[:, None] * q, 0).sum(axis=1))


def divergence(p: Array, q: Array) -> Array:
    if (p[q == 0] > 0).any():
        return np.full(ORDERS.size, math.inf)
    kept = p > 0
    log_p, log_q = np.log(p[kept]), np.log(q[kept])
    return np.array([special.logsumexp(a * log_p + (1 - a) * log_q) / (a - 1) for a in ORDERS])


def found_out(exact: list[tuple[Array, Array, bool]], event: Event) -> list[str]:
    """Return the names of all accountants whose bound for an event is below the exact distributions."""
    guilty = []
    profile = np.max([hockey_stick(p, q, EPSILONS) for p, q, _ in exact], axis=0)
    for kind in ACCOUNTANTS:
        try:
            spent = kind().spend(event)
        except NotPricedError:
            continue
        claims = np.array([spent.delta(float(epsilon)) for epsilon in EPSILONS])
        if (profile > claims * (1 + 1e-9) + 1e-12).any() or any(_broken(spent, delta, exact) for delta in DELTAS):
            guilty.append(spent.name)
    try:
        claimed = renyi(simplify(event), ORDERS)
        true = np.max([divergence(p, q) for p, q, _ in exact], axis=0)
        if (np.minimum(true, 1e300) > claimed * (1 + 1e-9) + 1e-10).any():
            guilty.append("divergences")
    except NotPricedError:
        pass
    return guilty + (["pair"] if _beaten(exact, event) else [])


def _broken(spent: Accountant, delta: float, exact: list[tuple[Array, Array, bool]]) -> bool:
    try:
        epsilon = np.array([min(spent.epsilon(delta), 700.0)])
    except NotPricedError:
        return False
    return max(float(hockey_stick(p, q, epsilon)[0]) for p, q, _ in exact) > delta * (1 + 1e-9) + 1e-12


def _beaten(exact: list[tuple[Array, Array, bool]], event: Event) -> bool:
    """Tell whether the dominating pair fails in one of its directions, also at negative epsilons."""
    try:
        pair = dominating(simplify(event))
    except NotPricedError:
        return False
    epsilons = np.concatenate([-EPSILONS[:0:-1], EPSILONS])
    forth, back = pair.profile(epsilons), pair.swap().profile(epsilons)
    if event.adjacency is ReplaceOne:
        back = forth
    return any(
        bool((hockey_stick(p, q, epsilons) > (forth if larger else back) * (1 + 1e-9) + 1e-12).any())
        for p, q, larger in exact
    )


# Every adjacency and depth (a period of 6) occurs several times among the quick seeds.
@pytest.mark.parametrize(
    "seed", [*range(28), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(28, 56))]
)
@pytest.mark.sampled(4)
def test_no_bound_is_below_the_worst_neighbours(seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    adjacency = (AddRemove, ReplaceOne)[seed % 2]
    people, group = int(rng.integers(1, MOST + 1)), int(rng.choice([1, 1, 1, 2]))
    while True:
        mechanism = structure(rng, adjacency, people if adjacency is ReplaceOne else None, 1 + seed // 2 % 3)
        try:
            exact = rows(mechanism, neighbours(adjacency, people, group))
        except TooLargeError:
            continue
        break
    event = mechanism.event if group == 1 else GroupEvent(event=mechanism.event, size=group)
    assert found_out(exact, event) == []


def count(scale: float, adjacency: Adjacency) -> Mechanism:
    """Return a noisy count of the units of kind 1."""
    event = LaplaceEvent(scale=scale, sensitivity=1, adjacency=adjacency)
    return Mechanism(event, lambda data: laplace_row(scale, sum(unit[2] for unit in data), 0, MOST))


NESTED: dict[str, tuple[Callable[[], Mechanism], Adjacency, Callable[[Event], Event]]] = {
    "a group priced as one unit": (
        lambda: poisson(count(0.5, AddRemove), Fraction(1, 2)),
        AddRemove,
        lambda event: event,
    ),
    "a replaced unit in one part only": (
        lambda: parallel([count(0.5, ReplaceOne)] * 2),
        ReplaceOne,
        lambda _: ParallelEvent(events=[count(0.5, ReplaceOne).event] * 2, fixed=True),
    ),
    "a smaller sample": (
        lambda: poisson(count(0.5, AddRemove), Fraction(1, 2)),
        AddRemove,
        lambda _: PoissonSampledEvent(event=count(0.5, AddRemove).event, probability="0.48"),
    ),
    "a larger population": (
        lambda: sampled(count(0.5, ReplaceOne), 2, 3),
        ReplaceOne,
        lambda _: FixedSampledEvent(event=count(0.5, ReplaceOne).event, size=2, population=4),
    ),
    "add-remove taken for replace-one": (
        lambda: replaced(poisson(parallel([count(0.5, AddRemove)] * 2), Fraction(3, 4))),
        ReplaceOne,
        lambda event: event.event if isinstance(event, ReplacedEvent) else event,
    ),
    "noise a tenth too small": (
        lambda: sampled(count(0.5, ReplaceOne), 2, 3),
        ReplaceOne,
        lambda _: FixedSampledEvent(event=count(0.55, ReplaceOne).event, size=2, population=3),
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_structure_that_describes_less_than_what_is_run_is_found_out(name: str) -> None:
    make, adjacency, mutant = NESTED[name]
    mechanism, size = make(), 2 if "group" in name else 1
    exact = rows(mechanism, neighbours(adjacency, MOST, size))
    right = mechanism.event if size == 1 else GroupEvent(event=mechanism.event, size=size)
    assert found_out(exact, right) == []
    guilty = found_out(exact, mutant(mechanism.event))
    assert {"pure", "basic", "renyi", "pld", "divergences"} <= set(guilty)


def test_the_pair_of_a_sample_has_a_direction() -> None:
    mechanism = poisson(count(0.5, AddRemove), Fraction(1, 4))
    exact = rows(mechanism, neighbours(AddRemove, MOST))
    assert not _beaten(exact, mechanism.event)
    assert _beaten([(p, q, not larger) for p, q, larger in exact], mechanism.event)


def test_cells_inside_a_sample_are_not_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit that stands in for another one in the sample may be in another cell: both are touched."""
    mechanism = sampled(cells([count(0.5, ReplaceOne)] * 2), 1, 2)
    exact = rows(mechanism, neighbours(ReplaceOne, 2))
    assert found_out(exact, mechanism.event) == []
    monkeypatch.setattr(simplify_module, "_of_one_unit", lambda event: event)
    assert {"pure", "basic", "pld"} <= set(found_out(exact, mechanism.event))


def test_a_group_inside_a_sample_is_refused() -> None:
    """Of a group more than one may be in the sample: with little noise, three are noticed three times as often."""
    one = LaplaceEvent(scale="0.1", sensitivity=1)
    mechanism = poisson(count(0.1, AddRemove), Fraction(1, 10))
    exact = rows(mechanism, neighbours(AddRemove, MOST, 3))
    assert max(hockey_stick(p, q, np.zeros(1))[0] for p, q, _ in exact) > 0.27
    inside = PoissonSampledEvent(event=GroupEvent(event=one, size=3), probability="0.1")
    response_of_two = GroupEvent(event=RandomizedResponseEvent(epsilon=1), size=2)
    refused = (
        inside,
        FixedSampledEvent(event=response_of_two, size=1, population=9),
        ShuffledEvent(event=ComposedEvent(events=[response_of_two]), reports=9),
    )
    for kind, event in itertools.product(ACCOUNTANTS, refused):
        with pytest.raises(NotPricedError):
            kind().spend(event)
    outside = GroupEvent(event=mechanism.event, size=3)
    assert found_out(exact, outside) == []


def test_a_curve_is_not_known_beyond_its_orders_by_rounding_them() -> None:
    hardly = Fraction(1, 2**80)
    below = GuaranteedEvent(guarantee=RenyiDP(orders=[2 - hardly, 3], epsilons=["0.1", 5]))
    assert renyi(below, np.array([2.0]))[0] >= 5
    above = RenyiDP(orders=[2 + hardly], epsilons=[1])
    watch = Filter(RenyiAccountant(above.orders), above)
    assert not watch.admits(GuaranteedEvent(guarantee=RenyiDP(orders=[2, 3], epsilons=["0.1", 5])))
    assert watch.admits(GuaranteedEvent(guarantee=RenyiDP(orders=[2, 3], epsilons=["0.1", "0.9"])))


def menu(rng: np.random.Generator) -> list[tuple[Event, Array, Array]]:
    """Return mechanisms by their answers for two neighbours."""
    scale, epsilon, variance = (round(float(rng.uniform(low, high)), 2) for low, high in ((0.5, 4), (0.2, 2), (0.8, 6)))
    counted, truth = laplace_row(scale, 0, 0, 1), np.array([special.expit(epsilon), special.expit(-epsilon)])
    noisy = LaplaceEvent(scale=scale, sensitivity=1)
    exact = GuaranteedEvent(guarantee=ApproxDP(epsilon=epsilon, delta="0.02"))
    row = np.array([0.02, *(0.98 * truth), 0])
    return [
        (noisy, counted, counted[::-1]),
        (PoissonSampledEvent(event=noisy, probability="0.25"), (counted + 3 * counted[::-1]) / 4, counted[::-1]),
        (PoissonSampledEvent(event=noisy, probability="0.25"), counted[::-1], (counted + 3 * counted[::-1]) / 4),
        (
            GaussianEvent(variance=variance, sensitivity_squared=1),
            gaussian_row(variance, 1, 4),
            gaussian_row(variance, 0, 4),
        ),
        (GuaranteedEvent(guarantee=PureDP(epsilon=epsilon)), truth, truth[::-1]),
        (exact, row, row[::-1]),
    ]


def outcomes(
    choices: list[tuple[Event, Array, Array]],
    admits: Callable[[list[int]], bool],
    wanted: Callable[[list[tuple[int, int]]], list[int]],
) -> list[tuple[float, float, list[int]]]:
    """Return all outcomes of a session chosen by the answers as it goes: their probabilities, and what ran."""
    ended: list[tuple[float, float, list[int]]] = []

    def go(p: float, q: float, history: list[tuple[int, int]]) -> None:
        ran = [index for index, _ in history]
        following = next((index for index in wanted(history) if admits([*ran, index])), None)
        if following is None or len(ran) == 3:
            ended.append((p, q, ran))
            return
        for answer, (under_p, under_q) in enumerate(zip(*choices[following][1:], strict=True)):
            if under_p > 0 or under_q > 0:
                go(p * under_p, q * under_q, [*history, (following, answer)])

    go(1.0, 1.0, [])
    return ended


def adversary(
    rng: np.random.Generator, choices: list[tuple[Event, Array, Array]]
) -> Callable[[list[tuple[int, int]]], list[int]]:
    """Return one who goes on, by mechanisms chosen by the last answers, for as long as the answers speak for P."""
    plans: dict[tuple[tuple[int, int], ...], list[int]] = {}
    keen = rng.random() < 0.5

    def wanted(history: list[tuple[int, int]]) -> list[int]:
        ratio = math.prod(choices[i][1][a] / max(choices[i][2][a], 1e-300) for i, a in history)
        if keen and ratio < 1:
            return []
        return plans.setdefault(tuple(history), rng.permutation(len(choices)).tolist())

    return wanted


FEW = (1.5, 2, 4, 8)
BUDGETS: list[tuple[Callable[[], AdaptiveAccountant], Guarantee]] = [
    (PureAccountant, PureDP(epsilon=2)),
    (BasicAccountant, ApproxDP(epsilon=2, delta="0.05")),
    (ZCDPAccountant, ZCDP(rho="0.5")),
    (ZCDPAccountant, ApproxDP(epsilon=2, delta="0.1")),
    (lambda: RenyiAccountant(FEW), RenyiDP(orders=FEW, epsilons=[order / 2 for order in FEW])),
    (lambda: RenyiAccountant(FEW), ApproxDP(epsilon=2, delta="0.2")),
    (GDPAccountant, GaussianDP(mu=1)),
    (GDPAccountant, ApproxDP(epsilon=2, delta="0.1")),
]


def excess(budget: Guarantee, p: Array, q: Array) -> float:
    """Return by how much a pair of distributions exceeds a budget."""
    match budget:
        case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon):
            allowed = float(budget.delta) if isinstance(budget, ApproxDP) else 0.0
            return float(hockey_stick(p, q, np.array([float(epsilon)]))[0]) - allowed
        case ZCDP(rho=rho):
            return float(np.max(divergence(p, q) - float(rho) * ORDERS))
        case RenyiDP():
            known = {
                float(order): float(epsilon) for order, epsilon in zip(budget.orders, budget.epsilons, strict=True)
            }
            return max(
                float(divergence(p, q)[ORDERS.tolist().index(order)]) - known[order]
                for order in known
                if order in ORDERS
            )
        case GaussianDP(mu=mu):
            z = EPSILONS / float(mu)
            exact = special.ndtr(float(mu) / 2 - z) - np.exp(EPSILONS) * special.ndtr(-float(mu) / 2 - z)
            return float(np.max(hockey_stick(p, q, EPSILONS) - exact))
    raise AssertionError(budget)


class Ledger:
    """Remembers what a filter said about each selection of mechanisms: the order does not matter to a sum."""

    def __init__(self, make: Callable[[], Filter], choices: list[tuple[Event, Array, Array]]) -> None:
        self.make, self.choices = make, choices
        self.verdicts: dict[tuple[int, ...], bool] = {}

    def admits(self, ran: list[int]) -> bool:
        key = tuple(sorted(ran))
        if key not in self.verdicts:
            self.verdicts[key] = self._all_fit(key)
        return self.verdicts[key]

    def _all_fit(self, ran: tuple[int, ...]) -> bool:
        watch = self.make()
        for event in (self.choices[i][0] for i in ran):
            try:
                if not watch.admits(event):
                    return False
            except NotPricedError:
                return False
            watch.spend(event)
        return True


@pytest.mark.parametrize(("make", "budget"), BUDGETS)
def test_a_session_keeps_its_budget_whatever_is_chosen(
    make: Callable[[], AdaptiveAccountant], budget: Guarantee, *, thorough: bool
) -> None:
    rng = np.random.default_rng(8)
    ledgers = []
    for _ in range(5 if thorough else 3):
        choices = menu(rng)
        ledgers.append(Ledger(lambda: Filter(make(), budget), choices))
        ended = outcomes(choices, ledgers[-1].admits, adversary(rng, choices))
        p, q = np.array([end[0] for end in ended]), np.array([end[1] for end in ended])
        assert max(excess(budget, p, q), excess(budget, q, p)) <= 1e-9
    assert not all(all(ledger.verdicts.values()) for ledger in ledgers)


@pytest.mark.parametrize("make", [ZCDPAccountant, GDPAccountant, lambda: RenyiAccountant(FEW)])
def test_outcomes_are_as_private_as_the_odometer_reads(
    make: Callable[[], AdaptiveAccountant], *, thorough: bool
) -> None:
    rng = np.random.default_rng(9)
    for _ in range(3 if thorough else 2):
        choices = menu(rng)[:5]
        ended = outcomes(choices, lambda _: True, adversary(rng, choices))
        readings: dict[tuple[int, ...], ApproxDP] = {}
        beyond = np.zeros(2)
        for p, q, ran in ended:
            key = tuple(sorted(ran))
            if key not in readings:
                meter = Odometer(make(), delta="0.2")
                for i in key:
                    meter.spend(choices[i][0])
                readings[key] = meter.reading()
            grown = math.exp(readings[key].epsilon)
            beyond += np.maximum([p - grown * q, q - grown * p], 0)
        assert beyond.max() <= 0.2


@pytest.mark.parametrize("kind", [PureAccountant, PLDAccountant])
def test_the_best_test_does_not_win_more_than_the_game_allows(kind: type[Accountant]) -> None:
    mechanism = poisson(parallel([count(0.8, AddRemove)] * 2), Fraction(1, 2))
    against = game(kind().spend(mechanism.event))
    alarms = np.linspace(0, 1, 9)
    misses, advantage = against.trade_off(alarms), against.advantage
    for p, q, _ in rows(mechanism, neighbours(AddRemove, MOST)):
        assert np.maximum(p - q, 0).sum() <= advantage + 1e-12
        order = np.argsort(-p / q)
        best = np.interp(alarms, np.append(0, np.cumsum(q[order])), 1 - np.append(0, np.cumsum(p[order])))
        assert (misses <= best + 1e-9).all()


@pytest.mark.parametrize("smoothness", [0, 1])
def test_the_last_weights_on_quadratic_losses_are_exactly_normal(smoothness: int) -> None:
    """With gradients smoothness * w - x and |x| <= 1 the weights of both runs are normal, of one variance."""
    orders = np.array([1.1, 2.0, 8.0])
    ratios = []
    for records, epochs, step in itertools.product((1, 3, 5), (1, 2, 4), (Fraction(1, 2), Fraction(3, 2))):
        event = PNSGDEvent(
            records=records, epochs=epochs, step_size=step, lipschitz=1, smoothness=smoothness, variance=4
        )
        for place in range(records):
            mean = variance = 0.0
            for t in range(records * epochs):
                mean = mean * (1 - step * smoothness) + (2 * step if t % records == place else 0)
                variance = variance * float(1 - step * smoothness) ** 2 + float(step) ** 2 * 4
            ratios.append(orders * float(mean) ** 2 / (2 * variance) / renyi(event, orders))
    assert np.max(ratios) <= 1 + 1e-9
    assert np.max(ratios) > 0.999  # and some are reached


def test_prices_survive_json_other_threads_and_each_other(*, thorough: bool) -> None:
    rng = np.random.default_rng(5)
    events = [structure(rng, AddRemove, None, 2).event for _ in range(12 if thorough else 6)]
    before = [event.to_json() for event in events]

    def prices(event: Event) -> list[float | None]:
        found: list[float | None] = []
        for kind in ACCOUNTANTS:
            try:
                found.append(kind().spend(event).delta("0.5"))
            except NotPricedError:
                found.append(None)
        return found

    first = [prices(event) for event in events]
    assert [prices(Event.from_json(text)) for text in before] == first
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(prices, events[::-1])) == first[::-1]
    assert [event.to_json() for event in events] == before
