"""Where private clustering starts: one centre in the middle of the box, doubled until there are enough.

Centres that are drawn in the box, or packed into it (Su, Cao, Li, Bertino and Jin 2016), start far from most data, and
centres without records are led by noise. So the first pass moves one centre to the records, and every further one may
split the centres with the most records in two, along the direction for which most of their records vote. One vote of
one record costs little, however many directions there are; the rest follows from public bounds and noisy numbers.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PATTERNS: Final = 8
"""Directions across the box that records can vote for, besides the axes."""

_PRIOR_DEVIATIONS = 3.0  # standard deviations by which another direction must win
_MIN_GAIN_RATIO = 2.0
_MIN_VOTE_DEVIATIONS = 5.0  # standard deviations of votes above which a direction is not due to noise
_TILT_RATIO = 0.3
_SIGN_PERIOD = 8  # features after which the signs repeat


def plan_sizes(clusters: int, refining: int) -> tuple[int, ...]:
    """Return how many centres there are in each pass: doubled until there are enough, then ``refining`` passes."""
    growing = [2**level for level in range(max(clusters - 1, 0).bit_length())]
    return (*growing, *[clusters] * refining)


def box_middle(low: "NDArray[np.float64]", high: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the middle of the box, as one centre."""
    return (low + (high - low) / 2)[None, :]


def build_patterns(half: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return directions across the box, features by number, of length 1: with the signs of a Hadamard matrix.

    In the first all signs are plus: large records lie on one side, small ones on the other.
    """
    common = np.bitwise_count(np.arange(len(half))[:, None] % _SIGN_PERIOD & np.arange(PATTERNS)[None, :])
    return np.asarray((1.0 - 2.0 * (common % 2)) * (half / np.sqrt((half**2).sum()))[:, None])


def choose_directions(votes: "NDArray[np.float64]", noise: float, half: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the direction with the most noisy votes for each cluster: a pattern, or after them an axis.

    Where votes are few against their noise, the pattern of all plus is preferred, and an axis the less the shorter it
    is, as expected of unseen data. Where they are many, directions are tilted a little: on even
    data, equal splits across each other would leave the centres in a saddle, which passes leave slowly.
    """
    directions = np.hstack([build_patterns(half), np.eye(len(half))])
    expected = np.concatenate(
        [[0.0], np.full(PATTERNS - 1, -_PRIOR_DEVIATIONS), 4 * np.log(half / half.max()) - _PRIOR_DEVIATIONS]
    )
    found = directions.T[np.argmax(votes / noise + expected, axis=1)]
    return np.where((votes.max(axis=1) > _MIN_VOTE_DEVIATIONS * noise)[:, None], _tilt(found, half), found)


def _tilt(directions: "NDArray[np.float64]", half: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Turn directions of length 1 by the same angle in the planes of features 1 and 2, 3 and 4, and so on."""
    pairs = directions.shape[1] // 2 * 2
    across = np.zeros_like(directions)
    across[:, 0:pairs:2], across[:, 1:pairs:2] = -directions[:, 1:pairs:2], directions[:, 0:pairs:2]
    scaled = np.ones(len(half))
    scaled[0:pairs:2], scaled[1:pairs:2] = half[0:pairs:2] / half[1:pairs:2], half[1:pairs:2] / half[0:pairs:2]
    turned = directions + _TILT_RATIO * across * scaled
    return np.asarray(turned / np.linalg.norm(turned, axis=1, keepdims=True))


def split_largest(
    centres: "NDArray[np.float64]", counts: "NDArray[np.float64]", wanted: int, offsets: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Split the centres with the largest noisy counts in two, one offset to each side, until there are ``wanted``."""
    split = np.argsort(-counts, kind="stable")[: wanted - len(centres)]
    moved = centres.copy()
    moved[split] -= offsets[split]
    return np.vstack([moved, centres[split] + offsets[split]])


def swap_centres(
    centres: "NDArray[np.float64]",
    counts: "NDArray[np.float64]",
    gains: "NDArray[np.float64]",
    offsets: "NDArray[np.float64]",
) -> "NDArray[np.float64]":
    """Merge the two centres that are missed least, and split the one with the most to gain, if that is clearly more."""
    rows = np.maximum(counts, 1.0)
    apart = ((centres[:, None, :] - centres[None, :, :]) ** 2).sum(axis=-1)
    cost = apart * rows[:, None] * rows[None, :] / (rows[:, None] + rows[None, :])
    cost[np.tril_indices(len(centres))] = np.inf
    split = int(np.argmax(gains))
    cost[split, :] = cost[:, split] = np.inf
    one, other = np.unravel_index(np.argmin(cost), cost.shape)
    if not _MIN_GAIN_RATIO * cost[one, other] < gains[split]:
        return centres
    moved = centres.copy()
    moved[one] = (rows[one] * centres[one] + rows[other] * centres[other]) / (rows[one] + rows[other])
    moved[other], moved[split] = centres[split] + offsets[split], centres[split] - offsets[split]
    return moved
