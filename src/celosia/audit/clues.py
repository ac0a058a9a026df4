"""Conditions on an output that may reveal which of two neighbours it came from.

A clue is an event in the sense of probability: a lower bound on epsilon is as good as the clue it was measured on. The
families here are thresholds on coordinates and on projections, equality with frequent outputs, the length of a
sequence that stops early, and the low-order bits of floats (Mironov 2012; Haney et al. 2022). Conjunctions of them are
searched afterwards. Clues are made from one part of the draws only, so that the other part can test them.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from celosia.audit.draws import Draws

Flags = NDArray[np.bool_]
Numbers = NDArray[np.float64]

_LEVELS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.997, 0.999, 1.0)
_FIRST_COORDINATES = 3
_MAX_CHANGED_COORDINATES = 6
_MAX_FREQUENT_CODES = 16
_RATIOS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_BITS = (10, 20, 30, 40, 53)
_MANTISSA = 53
_SPREAD = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Clue:
    """A condition on outputs, in words and as a function."""

    words: str
    holds: Callable[[Draws], Flags]

    def both(self, other: "Clue") -> "Clue":
        """Return the condition that this one and the other both hold."""
        return Clue(
            words=f"{self.words} and {other.words}",
            holds=lambda draws: self.holds(draws) & other.holds(draws),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Feature:
    words: str
    measure: Callable[[Draws], Numbers]


def ordinary_clues(first: Draws, second: Draws, a: object, b: object) -> list[Clue]:
    """Return thresholds, equalities and lengths that the draws of two neighbours suggest."""
    clues = list(_equalities(first, second))
    for feature in _features(first, second, a, b):
        clues.extend(_thresholds(feature, first, second))
    clues.extend(_quadrants(first, second, _coordinates(first, second, _difference(a, b, first, second))))
    return clues


def low_order_clues(first: Draws, second: Draws, a: object, b: object) -> list[Clue]:
    """Return conditions on the last bits of floating-point outputs; none if the outputs are integers."""
    if not (first.fractional and second.fractional):
        return []
    clues: list[Clue] = []
    difference = _difference(a, b, first, second)
    for index in _coordinates(first, second, difference)[: _FIRST_COORDINATES - 1]:
        clues.extend(_low_bits(index, _name(index, first, second)))
        inputs = [] if difference is None else sorted({_entry(a, index), _entry(b, index)})
        for feature in _grains(index, _name(index, first, second), inputs):
            clues.extend(_thresholds(feature, first, second))
    return clues


def _features(first: Draws, second: Draws, a: object, b: object) -> Iterator[_Feature]:
    difference = _difference(a, b, first, second)
    for index in _coordinates(first, second, difference):
        yield _Feature(words=_name(index, first, second), measure=_coordinate(index))
        if not first.fractional:
            yield _Feature(words=f"{_name(index, first, second)} mod 2", measure=_parity(index))
    if _width(first, second) > 1:
        yield _Feature(words="sum of the output", measure=lambda draws: np.nansum(_finite(draws.numbers), axis=1))
        yield _Feature(words="last entry", measure=_last)
    if difference is not None and difference.size > 1:
        yield _Feature(words="output along the neighbours' difference", measure=_along(difference))
    if np.ptp(np.concatenate([first.lengths, second.lengths])):
        yield _Feature(words="length", measure=lambda draws: draws.lengths.astype(np.float64))


def _coordinates(first: Draws, second: Draws, difference: Numbers | None) -> list[int]:
    """Return the coordinates to look at: the first few, and those in which the neighbours' inputs differ."""
    width = _width(first, second)
    changed = [] if difference is None else np.flatnonzero(difference)[:_MAX_CHANGED_COORDINATES].tolist()
    return sorted({*range(min(_FIRST_COORDINATES, width)), *changed})


def _width(first: Draws, second: Draws) -> int:
    return int(max(first.numbers.shape[1], second.numbers.shape[1]))


def _name(index: int, first: Draws, second: Draws) -> str:
    return f"output[{index}]" if _width(first, second) > 1 else "output"


def _difference(a: object, b: object, first: Draws, second: Draws) -> Numbers | None:
    """Return ``b - a`` where the inputs are numbers in the shape of the outputs."""
    try:
        start, stop = np.ravel(np.asarray(a, dtype=np.float64)), np.ravel(np.asarray(b, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return None
    if start.shape != stop.shape or start.size < _width(first, second) or not np.isfinite(stop - start).all():
        return None
    return stop - start


def _entry(value: object, index: int) -> float:
    return float(np.ravel(np.asarray(value, dtype=np.float64))[index])


def _column(draws: Draws, index: int) -> Numbers:
    if index < draws.numbers.shape[1]:
        return draws.numbers[:, index]
    return np.full(len(draws), np.nan)


def _coordinate(index: int) -> Callable[[Draws], Numbers]:
    return lambda draws: _column(draws, index)


def _parity(index: int) -> Callable[[Draws], Numbers]:
    def measure(draws: Draws) -> Numbers:
        with np.errstate(invalid="ignore"):
            return np.mod(_column(draws, index), 2.0)

    return measure


def _finite(numbers: Numbers) -> Numbers:
    return np.where(np.isfinite(numbers), numbers, 0.0)


def _last(draws: Draws) -> Numbers:
    if draws.numbers.shape[1] == 0:
        return np.full(len(draws), np.nan)
    return draws.numbers[np.arange(len(draws)), np.maximum(draws.lengths - 1, 0)]


def _along(difference: Numbers) -> Callable[[Draws], Numbers]:
    # Missing entries of a sequence that stopped early count as zero.
    return lambda draws: _finite(draws.numbers) @ difference[: draws.numbers.shape[1]]


def _remember(measure: Callable[[Draws], Numbers]) -> Callable[[Draws], Numbers]:
    """Return the function with the result of its last call kept: all cuts of a feature measure the same draws."""
    kept: list[tuple[Draws, Numbers]] = []

    def remembered(draws: Draws) -> Numbers:
        if not kept or kept[0][0] is not draws:
            kept[:] = [(draws, measure(draws))]
        return kept[0][1]

    return remembered


def _thresholds(feature: _Feature, first: Draws, second: Draws) -> Iterator[Clue]:
    feature = _Feature(words=feature.words, measure=_remember(feature.measure))
    values = np.concatenate([feature.measure(first), feature.measure(second)])
    values = values[~np.isnan(values)]
    if values.size == 0:
        return
    cuts = np.unique(values)
    if cuts.size > len(_LEVELS):
        cuts = np.unique(np.quantile(values, _LEVELS, method="nearest"))
    if cuts.size == 1:
        return
    for cut in cuts.tolist():
        yield _above(feature, cut)
        yield Clue(words=f"{feature.words} <= {cut:.6g}", holds=_at_most(feature, cut))


def _quadrants(first: Draws, second: Draws, indices: list[int]) -> Iterator[Clue]:
    """Cut pairs of coordinates into quadrants, which show relations that no single threshold shows."""
    halves = []
    for index in indices:
        feature = _Feature(words=_name(index, first, second), measure=_coordinate(index))
        values = np.concatenate([feature.measure(first), feature.measure(second)])
        values = np.sort(values[~np.isnan(values)])
        if values.size and values[0] < values[-1]:
            # The cut nearest the middle that leaves something on both sides.
            middle = values[values.size // 2]
            cut = float(values[values > middle][0] if middle == values[0] else middle)
            halves.append([_above(feature, cut), _below(feature, cut)])
    for one, other in itertools.combinations(halves, 2):
        for here, there in itertools.product(one, other):
            yield here.both(there)


def _above(feature: _Feature, cut: float) -> Clue:
    return Clue(words=f"{feature.words} >= {cut:.6g}", holds=_at_least(feature, cut))


def _below(feature: _Feature, cut: float) -> Clue:
    return Clue(
        words=f"{feature.words} < {cut:.6g}",
        holds=lambda draws: np.asarray(feature.measure(draws) < cut, dtype=np.bool_),
    )


def _at_least(feature: _Feature, cut: float) -> Callable[[Draws], Flags]:
    return lambda draws: np.asarray(feature.measure(draws) >= cut, dtype=np.bool_)


def _at_most(feature: _Feature, cut: float) -> Callable[[Draws], Flags]:
    return lambda draws: np.asarray(feature.measure(draws) <= cut, dtype=np.bool_)


def _equalities(first: Draws, second: Draws) -> Iterator[Clue]:
    keys, where, codes = np.unique(np.concatenate([first.keys, second.keys]), return_index=True, return_inverse=True)
    here = np.bincount(codes[: len(first)], minlength=keys.size) / len(first)
    there = np.bincount(codes[len(first) :], minlength=keys.size) / len(second)
    lead = (here - there) / np.sqrt(here + there)  # in standard deviations, up to a factor
    chosen = np.unique(
        np.concatenate([np.argsort(lead)[:_MAX_FREQUENT_CODES], np.argsort(lead)[-_MAX_FREQUENT_CODES:]])
    )
    for code in chosen.tolist():
        index = int(where[code])
        text = first.show(index) if index < len(first) else second.show(index - len(first))
        yield Clue(words=f"output = {text}", holds=_among(keys[[code]]))
    if keys.size > _SPREAD:
        return
    # With few distinct outputs the best event of all is the set on which one side is clearly likelier.
    floor = 1 / (len(first) + len(second))
    ratio = np.log((here + floor) / (there + floor))
    for cut in _RATIOS:
        for sign, side in ((1, "first"), (-1, "second")):
            members = keys[sign * ratio >= cut]
            if members.size > 1:
                words = f"output among the {members.size} that were exp({cut}) times likelier for the {side} input"
                yield Clue(words=words, holds=_among(members))


def _among(keys: NDArray[np.uint64]) -> Callable[[Draws], Flags]:
    if keys.size == 1:
        return lambda draws: np.asarray(draws.keys == keys[0], dtype=np.bool_)
    return lambda draws: np.isin(draws.keys, keys)


def _low_bits(index: int, name: str) -> Iterator[Clue]:
    grain = _remember(lambda draws: _grain(_column(draws, index)))
    for bits in _BITS:
        yield Clue(words=f"{name} a multiple of 2^-{bits}", holds=_multiple(grain, bits, wanted=True))
        yield Clue(words=f"{name} not a multiple of 2^-{bits}", holds=_multiple(grain, bits, wanted=False))
    fine = _multiple(grain, _MANTISSA, wanted=False)
    yield Clue(
        words=f"|{name}| < 1/4 and not a multiple of 2^-{_MANTISSA}",
        holds=lambda draws: (np.abs(_column(draws, index)) < 0.25) & fine(draws),
    )


def _multiple(grain: Callable[[Draws], Numbers], bits: int, *, wanted: bool) -> Callable[[Draws], Flags]:
    if wanted:
        return lambda draws: np.asarray(grain(draws) >= -bits, dtype=np.bool_)
    return lambda draws: np.asarray(grain(draws) < -bits, dtype=np.bool_)


def _grains(index: int, name: str, inputs: list[float]) -> Iterator[_Feature]:
    yield _Feature(words=f"lowest set bit of {name}", measure=lambda draws: _grain(_column(draws, index)))
    yield _Feature(words=f"last two mantissa bits of {name}", measure=lambda draws: _ending(_column(draws, index)))
    for value in inputs:
        yield _Feature(words=f"lowest set bit of {name} - {value!r}", measure=_grain_from(index, value))
        yield _Feature(words=f"({name} - {value!r}) + {value!r} = {name}", measure=_returns(index, value))


def _grain_from(index: int, value: float) -> Callable[[Draws], Numbers]:
    return lambda draws: _grain(_column(draws, index) - value)


def _returns(index: int, value: float) -> Callable[[Draws], Numbers]:
    def measure(draws: Draws) -> Numbers:
        column = _column(draws, index)
        return np.asarray((column - value) + value == column, dtype=np.float64)

    return measure


def _grain(values: Numbers) -> Numbers:
    """Return the exponent of the lowest set bit: ``values`` are whole multiples of two to that power."""
    sound = np.where(np.isfinite(values), values, 0.0)
    mantissa, exponent = np.frexp(sound)
    whole = np.ldexp(mantissa, _MANTISSA).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    with np.errstate(divide="ignore"):
        grain = np.log2(lowest) + exponent - _MANTISSA
    grain[sound == 0] = np.inf  # zero is a multiple of everything
    grain[~np.isfinite(values)] = np.nan
    return np.asarray(grain, dtype=np.float64)


def _ending(values: Numbers) -> Numbers:
    return (np.ascontiguousarray(values).view(np.uint64) & np.uint64(3)).astype(np.float64)
