"""Compiled passes over records for clustering: counts, displacements, a histogram of distances, votes for directions.

A record's part is a function of that record and of public centres alone, computed in one fixed order whatever stands
next to it (a matrix product would round by place), and it is integers that keep their bounds exactly: a share of
at most ``whole`` in all, and for each centre a displacement of size at most ``reach``, rounded towards zero. The bound
is checked on the integers themselves. So sums are exact, and one record's part is what ``proofs/clustering.md`` says.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MAX_LENGTH = 2.0**200
_BELOW = 1.0 - 2.0**-40  # rounding to doubles must not lift a scaled displacement above the reach


class Frame(NamedTuple):
    """The public numbers of a pass.

    ``box`` holds the lower and upper bounds, ``centres`` are features by clusters, ``slopes`` steps per unit, ``edges``
    those of the histogram of distances, ``patterns`` directions, features by number.
    """

    box: Floats
    centres: Floats
    slopes: Floats
    reach: int
    euclidean: bool
    edges: Floats
    patterns: Floats
    vote: int


class Totals(NamedTuple):
    """The sums that rows are added to; ``votes`` without columns are not counted."""

    counts: Integers
    sums: Integers
    bins: Integers
    votes: Integers


_MATRIX, _VECTOR, _INTEGERS = nb.float64[:, ::1], nb.float64[::1], nb.int64[::1]
_FRAME = nb.types.NamedTuple(  # type: ignore[no-untyped-call] # Numba ships no types
    (_MATRIX, _MATRIX, _VECTOR, nb.int64, nb.boolean, _VECTOR, _MATRIX, nb.int64), Frame
)
_TOTALS = nb.types.NamedTuple(  # type: ignore[no-untyped-call] # likewise
    (_INTEGERS, nb.int64[:, ::1], _INTEGERS, nb.int64[:, ::1]), Totals
)


@nb.njit("void(f8[:, ::1], f8[:, ::1], i8, f8[:, ::1], f8[::1], f8[::1])", cache=True, inline="always")
def _squared_distances(values: Floats, box: Floats, row: int, centres: Floats, inside: Floats, out: Floats) -> None:
    """Clip a row into the box, and write its squared distances; centres are features by clusters."""
    out[:] = 0.0
    for i in range(values.shape[1]):
        inside[i] = min(max(values[row, i], box[0, i]), box[1, i])
        for j in range(centres.shape[1]):
            apart = inside[i] - centres[i, j]
            out[j] += apart * apart


@nb.njit("f8(f8[::1], f8[:, ::1], i8, f8[::1], i8, b1, i8[::1])", cache=True, inline="always")
def _displacement(
    inside: Floats,
    centres: Floats,
    cluster: int,
    slopes: Floats,
    reach: int,
    euclidean: bool,  # noqa: FBT001 - numba takes no keywords
    out: Integers,
) -> float:
    """Write the way from a centre to a row in whole steps, no longer than the reach; return its length before."""
    length = 0.0
    for i in range(len(inside)):
        step = abs((inside[i] - centres[i, cluster]) * slopes[i])
        length += step * step if euclidean else step
    if euclidean:
        length = np.sqrt(length)
    if not length < _MAX_LENGTH:  # bounds exclude it; nor may anything rest on what becomes of infinities
        out[:] = 0
        return _MAX_LENGTH
    factor = 1.0 if length <= reach * _BELOW else reach / length * _BELOW
    size = 0
    for i in range(len(inside)):
        out[i] = np.int64((inside[i] - centres[i, cluster]) * slopes[i] * factor)  # towards zero
        size += out[i] * out[i] if euclidean else abs(out[i])
    if size > (reach * reach if euclidean else reach):
        out[:] = 0
    return length


@nb.njit("i8(f8, i8, i8)", cache=True, inline="always")
def _weight(length: float, reach: int, vote: int) -> int:
    """Return what a vote weighs: the more the further away the row is, at the reach and beyond all of ``vote``."""
    return vote if length >= reach else int(vote * (length / reach))


@nb.njit("i8(f8[::1], f8[:, ::1], i8, f8[:, ::1], f8[::1])", cache=True, inline="always")
def _vote(inside: Floats, centres: Floats, cluster: int, patterns: Floats, along: Floats) -> int:
    """Return the direction in which a row lies furthest from a centre: one of the patterns, or after them an axis."""
    along[:] = 0.0
    best, furthest = 0, -1.0
    for i in range(len(inside)):
        apart = inside[i] - centres[i, cluster]
        for p in range(len(along)):
            along[p] += patterns[i, p] * apart
        if abs(apart) > furthest:
            best, furthest = len(along) + i, abs(apart)
    for p in range(len(along)):
        if abs(along[p]) > furthest:
            best, furthest = p, abs(along[p])
    return best


@nb.njit(nb.void(_MATRIX, _FRAME, _TOTALS), cache=True, nogil=True)
def add_nearest(values: Floats, frame: Frame, totals: Totals) -> None:
    """Add every row to its nearest centre, the first of those that are equally near."""
    box, centres, slopes, reach, euclidean, edges, patterns, vote = frame
    counts, sums, bins, votes = totals
    inside, distances = np.empty(values.shape[1]), np.empty(centres.shape[1])
    steps, along = np.empty(values.shape[1], np.int64), np.empty(patterns.shape[1])
    for row in range(values.shape[0]):
        _squared_distances(values, box, row, centres, inside, distances)
        nearest = 0
        for j in range(1, len(distances)):
            if distances[j] < distances[nearest]:
                nearest = j
        length = _displacement(inside, centres, nearest, slopes, reach, euclidean, steps)
        counts[nearest] += 1
        bins[np.searchsorted(edges, length)] += 1
        for i in range(len(steps)):
            sums[nearest, i] += steps[i]
        if votes.shape[1]:
            votes[nearest, _vote(inside, centres, nearest, patterns, along)] += _weight(length, reach, vote)


@nb.njit("void(f8[::1], f8, i8, i8[::1])", cache=True, inline="always")
def _shares(distances: Floats, m: float, whole: int, out: Integers) -> None:
    """Write u^m in parts of ``whole``, rounded towards zero; u from squared distances, to the power 1/(m - 1)."""
    nearest = distances.min()
    total = 0.0
    for j in range(len(distances)):
        if distances[j] == nearest:  # also where a row lies on a centre
            distances[j] = 1.0
        else:
            ratio = nearest / distances[j]
            distances[j] = ratio if m == 2.0 else ratio ** (1.0 / (m - 1.0))  # powers take most of the time
        total += distances[j]
    given, largest = 0, 0
    for j in range(len(distances)):
        share = distances[j] / total
        out[j] = np.int64((share * share if m == 2.0 else share**m) * whole)
        given += out[j]
        if out[j] > out[largest]:
            largest = j
    if given > whole:
        out[:] = 0
        out[largest] = whole


@nb.njit(nb.void(_MATRIX, _FRAME, _TOTALS, nb.float64, nb.int64), cache=True, nogil=True)
def add_fuzzy(values: Floats, frame: Frame, totals: Totals, m: float, whole: int) -> None:
    """Add every row to every centre by its membership to the power ``m``, in parts of ``whole``."""
    box, centres, slopes, reach, euclidean, edges, patterns, vote = frame
    counts, sums, bins, votes = totals
    inside, distances = np.empty(values.shape[1]), np.empty(centres.shape[1])
    steps, shares = np.empty(values.shape[1], np.int64), np.empty(centres.shape[1], np.int64)
    along = np.empty(patterns.shape[1])
    for row in range(values.shape[0]):
        _squared_distances(values, box, row, centres, inside, distances)
        _shares(distances, m, whole, shares)
        for j in range(len(shares)):
            if shares[j] == 0:
                continue
            length = _displacement(inside, centres, j, slopes, reach, euclidean, steps)
            counts[j] += shares[j]
            bins[np.searchsorted(edges, length)] += shares[j]
            for i in range(len(steps)):
                sums[j, i] += shares[j] * steps[i]
            if votes.shape[1]:
                votes[j, _vote(inside, centres, j, patterns, along)] += shares[j] * _weight(length, reach, vote)
