"""A black-box lower bound on epsilon: how well outputs distinguish two neighbours.

Outputs are drawn on both inputs; the first part serves to find the most distinguishing event, the rest to count it, and
Clopper–Pearson bounds on its two probabilities give ``epsilon >= ln((p_low - delta) / q_high)`` but for the stated
failure probability. A bound above the claim convicts the mechanism; a bound below it is evidence and never a proof.
Ding, Wang, Wang, Zhang and Kifer, *Detecting Violations of Differential Privacy*, 2018; Jagielski, Ullman and Oprea
2020.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from celosia.audit.clues import Clue, low_order_clues, ordinary_clues
from celosia.audit.draws import Draws, Runner, gather, repeat
from celosia.core import Mechanism, ParameterError, Source
from celosia.core.exact import exact_integer
from celosia.noise import Seeded

Families = Literal["all", "low-order bits"]
Events = Mapping[str, Callable[[Any], ArrayLike]]
Flags = NDArray[np.uint64]

_SEARCHED = 1 << 16
_BEAM_WIDTH = 6
_DEPTH = 3
_TESTED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinction:
    """The result of an audit: ``epsilon`` is a lower bound that is wrong with probability ``failure`` at most.

    The event happened in ``hits`` of ``trials`` fresh outputs on one input, and in ``hits_neighbour`` of
    ``trials_neighbour`` on the other; ``swapped`` states that the one was the second input.

    >>> from celosia.noise import Seeded
    >>> found = distinguish(lambda value, count, source: [value] * count, 0, 1, samples=2_000)
    >>> found.epsilon > 3, found.event
    (True, 'output = 0')
    """

    epsilon: float
    delta: float
    event: str
    hits: int
    trials: int
    hits_neighbour: int
    trials_neighbour: int
    swapped: bool
    samples: int
    failure: float

    def __str__(self) -> str:
        return (
            f"epsilon >= {self.epsilon:.4g} at delta = {self.delta:.3g}: {self.event}, "
            f"{self.hits} of {self.trials} against {self.hits_neighbour} of {self.trials_neighbour}"
        )


def lower_bound(
    hits: int, trials: int, hits_neighbour: int, trials_neighbour: int, *, delta: float = 0.0, failure: float = 1e-6
) -> float:
    """Return a lower bound on epsilon from counts of one event, by Clopper and Pearson's exact intervals.

    The two one-sided bounds share the failure probability. The result is never infinite: an event that was not seen
    may still be possible.

    >>> round(lower_bound(900, 1_000, 100, 1_000), 3)
    1.708
    >>> lower_bound(500, 1_000, 500, 1_000)
    0.0
    """
    _check_probability(delta, "delta")
    _check_probability(failure, "failure")
    for count, total in ((hits, trials), (hits_neighbour, trials_neighbour)):
        exact_integer(total, name="trials")
        if exact_integer(count, name="hits", least=0) > total:
            raise ParameterError("audit.more_hits_than_trials", hits=count, trials=total)
    return float(_bounds(np.array([hits]), trials, np.array([hits_neighbour]), trials_neighbour, delta, failure)[0])


def distinguish(  # noqa: PLR0913 - what to run, on what, and how hard to look
    run: Mechanism | Runner,
    a: Any,
    b: Any,
    *,
    samples: int = 100_000,
    delta: float = 0.0,
    failure: float = 1e-6,
    events: Events | None = None,
    source: Source | None = None,
) -> Distinction:
    """Return the best lower bound on epsilon that ``samples`` outputs on each of two neighbours support.

    ``run`` is a mechanism, called once per output, or a function ``run(value, count, source)`` that returns ``count``
    independent outputs at once, as an array whose first axis counts them or as a list. ``events`` replaces the
    built-in search by named conditions, functions of all outputs at once that return booleans. The default source is
    seeded, so that the same call gives the same answer. A small bound is evidence for a mechanism, never a proof.

    >>> from celosia.noise import DiscreteLaplace, Seeded
    >>> noise = DiscreteLaplace(1)
    >>> found = distinguish(lambda value, n, source: value + noise.sample(n, source), 0, 1, samples=20_000)
    >>> 0.8 < found.epsilon <= 1
    True
    """
    exact_integer(samples, name="samples", least=4)
    source = Seeded(0) if source is None else source
    runner = repeat(run) if isinstance(run, Mechanism) else run
    first, second = gather(runner(a, samples, source)), gather(runner(b, samples, source))
    return compare(first, second, a, b, delta=delta, failure=failure, events=events)


def compare(  # noqa: PLR0913 - the draws, the inputs they came from, and how hard to look
    first: Draws,
    second: Draws,
    a: object,
    b: object,
    *,
    delta: float = 0.0,
    failure: float = 1e-6,
    events: Events | None = None,
    families: Families = "all",
) -> Distinction:
    """Return the best lower bound on epsilon that outputs already drawn support; see ``distinguish``.

    >>> from celosia.audit.draws import gather
    >>> compare(gather([0] * 1_000), gather([1] * 1_000), 0, 1).epsilon > 3
    True
    """
    _check_probability(delta, "delta")
    _check_probability(failure, "failure")
    samples = min(len(first), len(second))
    searched = min(samples // 2, _SEARCHED)
    seen = first.part(0, searched), second.part(0, searched)
    fresh = first.part(searched, samples), second.part(searched, samples)
    clues = _named(events) if events is not None else _families(*seen, a, b, families)
    flags = tuple(_flags(clues, part) for part in seen)
    # Two directions, and the few best events of each, share the failure probability.
    share = failure / (2 * _TESTED)
    best = Distinction(
        epsilon=0.0,
        delta=delta,
        event="nothing",
        hits=0,
        trials=samples - searched,
        hits_neighbour=0,
        trials_neighbour=samples - searched,
        swapped=False,
        samples=samples,
        failure=failure,
    )
    for swapped in (False, True):
        for clue in _search(clues, flags[::-1] if swapped else flags, searched, samples - searched, delta, share):
            tested = _test(clue, fresh[swapped], fresh[not swapped], best, delta, share, swapped=swapped)
            best = max(best, tested, key=lambda found: found.epsilon)
    return best


def _families(first: Draws, second: Draws, a: object, b: object, families: Families) -> list[Clue]:
    low = low_order_clues(first, second, a, b)
    return low if families == "low-order bits" else ordinary_clues(first, second, a, b) + low


def _named(events: Events) -> list[Clue]:
    def clue(words: str, function: Callable[[Any], ArrayLike]) -> Clue:
        return Clue(words=words, holds=lambda draws: np.asarray(function(draws.raw), dtype=np.bool_))

    return [clue(words, function) for words, function in events.items()]


def _test(
    clue: Clue, here: Draws, there: Draws, template: Distinction, delta: float, failure: float, *, swapped: bool
) -> Distinction:
    hits, hits_neighbour = int(clue.holds(here).sum()), int(clue.holds(there).sum())
    return Distinction(
        epsilon=lower_bound(hits, len(here), hits_neighbour, len(there), delta=delta, failure=failure),
        delta=delta,
        event=clue.words,
        hits=hits,
        trials=len(here),
        hits_neighbour=hits_neighbour,
        trials_neighbour=len(there),
        swapped=swapped,
        samples=template.samples,
        failure=template.failure,
    )


def _flags(clues: list[Clue], draws: Draws) -> Flags:
    """Return a row for each clue that says on which draws it holds, 64 draws to a word."""
    rows = np.zeros((len(clues), -(-len(draws) // 64)), dtype=np.uint64)
    for row, clue in zip(rows.view(np.uint8), clues, strict=True):
        packed = np.packbits(clue.holds(draws))
        row[: packed.size] = packed
    return rows


def _search(
    clues: list[Clue], flags: tuple[Flags, ...], searched: int, trials: int, delta: float, failure: float
) -> list[Clue]:
    """Return the most distinguishing clues and conjunctions, by the bound that fresh draws are expected to give."""
    if not clues:
        return []
    growth = trials / searched

    def score(hits: NDArray[np.float64], hits_neighbour: NDArray[np.float64]) -> NDArray[np.float64]:
        return _bounds(hits * growth, trials, hits_neighbour * growth, trials, delta, failure)

    scores = score(_count(flags[0]), _count(flags[1]))
    found: list[tuple[tuple[int, ...], float]] = [
        ((index,), float(scores[index])) for index in np.argsort(-scores)[:_BEAM_WIDTH].tolist()
    ]
    beam = [members for members, _ in found]
    for _ in range(_DEPTH):
        scores = score(_joint(beam, flags[0]), _joint(beam, flags[1]))
        order = np.argsort(-scores, axis=None)[: 4 * _BEAM_WIDTH].tolist()
        grown = {tuple(sorted({*beam[i // len(clues)], i % len(clues)})): float(scores.flat[i]) for i in order}
        fresh = [(members, value) for members, value in grown.items() if members not in dict(found)]
        found += fresh
        beam = [members for members, _ in fresh[:_BEAM_WIDTH]]
        if not beam:
            break
    # A longer conjunction must earn its place: ties go to the shorter one.
    found.sort(key=lambda item: (-item[1], len(item[0])))
    return [_conjunction(clues, members) for members, _ in found[:_TESTED]]


def _conjunction(clues: list[Clue], members: tuple[int, ...]) -> Clue:
    clue = clues[members[0]]
    for index in members[1:]:
        clue = clue.both(clues[index])
    return clue


def _joint(beam: list[tuple[int, ...]], flags: Flags) -> NDArray[np.float64]:
    """Count how often each conjunction of the beam and each single clue hold together."""
    counts = np.zeros((len(beam), len(flags)))
    for row, members in enumerate(beam):
        counts[row] = _count(flags & np.bitwise_and.reduce(flags[list(members)], axis=0))
    return counts


def _count(flags: Flags) -> NDArray[np.float64]:
    return np.asarray(np.bitwise_count(flags).sum(axis=1, dtype=np.int64), dtype=np.float64)


def _bounds(
    hits: NDArray[Any], trials: int, hits_neighbour: NDArray[Any], trials_neighbour: int, delta: float, failure: float
) -> NDArray[np.float64]:
    # Where a shape parameter is zero the bound is trivial, and the function is not called.
    low = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1e-9), trials - hits + 1, failure / 2), 0.0)
    room = trials_neighbour - hits_neighbour
    high = np.where(room > 0, special.betainccinv(hits_neighbour + 1, np.maximum(room, 1e-9), failure / 2), 1.0)
    gap = np.maximum(low - delta, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(gap) - np.log(high), 0.0), dtype=np.float64)


def _check_probability(value: float, name: str) -> None:
    if not 0 <= value < 1 or (name == "failure" and value == 0):
        raise ParameterError("audit.not_a_probability", name=name, value=repr(value))
