"""Passes of private clustering: each sums what records say about public centres, adds noise, and moves the centres.

As in SuLQ's k-means (Blum, Dwork, McSherry and Nissim 2005), a pass measures the size and the sum of every cluster.
Here a record adds its *displacement* from the centre, cut off at a radius, so that the noise is that of the radius and
not of the whole box; a histogram of the distances, in the same noise, gives the reach in the next pass. How many
passes there are, and what each may spend, is public. What one record changes: ``proofs/clustering.md``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import InputError
from celosia.learn.cluster.start import (
    PATTERNS,
    box_middle,
    build_patterns,
    choose_directions,
    plan_sizes,
    split_largest,
    swap_centres,
)
from celosia.noise.source import Seeded
from celosia.statistics.base.noise import Sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.core.events import Event
    from celosia.statistics.base.noise import Noise
    from celosia.statistics.base.target import Target

REACH: Final = 2**17
"""Steps of the longest displacement."""

COUNT: Final = REACH // 5
"""What a record adds to the size of a cluster, in the same steps: sizes are needed less exactly than sums."""

BIN: Final = 3 * REACH // 20
"""What it adds to the histogram of distances."""

VOTE: Final = REACH // 10
"""What its vote for a direction weighs, in passes after which centres are split."""

EDGES: Final = 2.0 ** (np.arange(-10, 1) / 2)
"""The bins of the histogram, as parts of the largest radius; beyond the last is one more."""

_BLOCK = 2**16  # rows that are copied at a time, where they cannot be read as they lie in memory
_MAX_ROWS = 2**28  # with shares of 2^17 parts all sums stay below 2^62
_FIRST_RADIUS = 0.4
_BIAS = 0.5  # what is cut off points to all sides: about half of it counts
_HEARD = 4.0  # standard deviations that votes must be above their noise
_SPLIT = 0.5  # of the median distance
_LITTLE = 1 / 30  # of half the diagonal of the box: how far noise may move a centre

Add = Callable[..., None]
"""A kernel of ``cluster.kernels``: rows, public numbers (``Frame``), and the sums that are added to (``Totals``)."""


def sensitivity_of(
    *, features: int, clusters: int, whole: int, euclidean: bool, votes: bool, adjacency: Adjacency
) -> Sensitivity:
    """Return how far the sums of neighbours are apart: of shares, displacements, distances and votes, all together."""
    longest = math.isqrt(features * REACH**2) if euclidean else REACH
    vote = VOTE if votes else 0
    beside_l1, beside_squared = BIN + vote, BIN**2 + vote**2
    if adjacency is AddRemove:
        l1, l2_squared = COUNT + longest + beside_l1, COUNT**2 + REACH**2 + beside_squared
    elif clusters == 1:  # the sizes of the only cluster are the same
        l1, l2_squared = 2 * (longest + beside_l1), 4 * REACH**2 + 2 * beside_squared
    else:
        l1 = 2 * (COUNT + longest + beside_l1)
        l2_squared = 2 * beside_squared + max(4 * REACH**2, 2 * COUNT**2 + 2 * REACH**2)
    return Sensitivity(l1=whole * l1, l2_squared=whole**2 * l2_squared)


@dataclass(frozen=True, slots=True, eq=False)
class Extent:
    """The public box of the records, and how displacements are weighed so that noise costs the least distance.

    A feature of half range h gets noise in proportion to h/w for its weight w; the sum of squares is least for weights
    h^(2/3) where displacements are measured in L1 (Laplace noise), and h^(1/2) in L2 (Gaussian).
    """

    low: "NDArray[np.float64]"
    high: "NDArray[np.float64]"
    euclidean: bool

    @property
    def half(self) -> "NDArray[np.float64]":
        """Half the range of each feature."""
        return (self.high - self.low) / 2

    @property
    def weights(self) -> "NDArray[np.float64]":
        """The weight of each feature, in half ranges."""
        return np.asarray(self.half ** (1 / 2 if self.euclidean else 2 / 3))

    @property
    def radius(self) -> float:
        """The longest weighed displacement from the middle of the box."""
        return float(self.length(self.weights))

    @property
    def spread(self) -> float:
        """How far noise of one in every weighed coordinate moves a centre, in the units of the records."""
        return float(np.sqrt(np.sum((self.half / self.weights) ** 2)))

    @property
    def per_length(self) -> float:
        """How long a weighed displacement of length one is in the units of the records, if it points to a corner."""
        return float(np.sqrt((self.half**2).sum())) / self.radius

    def length(self, weighed: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the length of weighed displacements, in L1 or L2."""
        return np.asarray(np.sqrt((weighed**2).sum(axis=-1)) if self.euclidean else np.abs(weighed).sum(axis=-1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passes:
    """All that is public about the passes of one fit, and how they are run.

    ``whole`` is what the shares of a record in all clusters sum to at the most: 1 where it belongs to one of them.
    """

    box: Extent
    whole: int
    sizes: tuple[int, ...]
    noises: "tuple[Noise, ...]"
    event: "Event"

    @classmethod
    def plan(
        cls,
        privacy: "Target",
        box: Extent,
        *,
        clusters: int,
        whole: int,
        refining: int,
        more: int = 0,
    ) -> "Passes":
        """Return the passes that spend a target: in equal parts, and two of them for the last.

        ``more`` refining passes share the parts of the others that refine; what finds the clusters keeps its parts.
        """
        numbers = plan_sizes(clusters, refining + more)
        part = Fraction(1, len(numbers) - more + 1)
        features, noises = len(box.low), []
        for place, size in enumerate(numbers):
            voting = _voting(numbers, place)
            sensitivity = sensitivity_of(
                features=features,
                clusters=size,
                whole=whole,
                euclidean=box.euclidean,
                votes=voting,
                adjacency=privacy.adjacency,
            )
            share = part
            if place >= len(numbers) - refining - more:
                share *= Fraction((refining + 1) * (1 + (place == len(numbers) - 1)), refining + more + 1)
            width = size * (1 + features + voting * (PATTERNS + features)) + len(EDGES) + 1
            noises.append(privacy.noise(sensitivity, width, share))
        event = privacy.event(*[noise.event for noise in noises])
        return cls(box=box, whole=whole, sizes=numbers, noises=tuple(noises), event=event)

    def deviation(self, place: int) -> float:
        """Return the standard deviation of a pass's noise, as a part of one record's longest displacement."""
        return float(self.noises[place].variance ** 0.5) / (self.whole * REACH)

    @property
    def count_noise(self) -> float:
        """The standard deviation of the noise in the size of a cluster, in the last pass, in records."""
        return self.deviation(-1) * REACH / COUNT

    @property
    def push(self) -> float:
        """How far noise would move the centre of a single record in the last pass, if the radius is a quarter."""
        return self.box.spread * self.box.radius / 4 * self.deviation(-1)

    def bears(self, refining: int, rows: float) -> int:
        """Return how many passes may refine instead of ``refining``, if a centre has ``rows`` records.

        Half of the room that noise leaves, in logarithms, goes to passes, the other half to less noise in the last: so
        more of epsilon, or of records, is never worse.
        """
        farthest = float(np.sqrt((self.box.half**2).sum()))
        room = _LITTLE * farthest * rows / self.push
        return int(min((refining + 1) * (room if self.box.euclidean else math.sqrt(room)), 2.0**20)) - 1

    def error(self, rows: float) -> float:
        """Return how far noise moves a centre of ``rows`` records in the last pass, at most across half the box."""
        return min(self.push / max(rows, 1.0), float(np.sqrt((self.box.half**2).sum())))

    def check(self) -> None:
        """Refuse passes whose noise cannot be drawn; that follows from its scale, so it is tried on nothing."""
        widest = replace(max(self.noises, key=lambda noise: noise.variance), width=1)
        widest.release(np.zeros((1, 1), dtype=np.int64), Seeded(0))

    def run(self, values: "NDArray[np.float64]", add: Add, source: "Source") -> "NDArray[np.float64]":
        """Return noisy centres of the records; ``add`` is the kernel, as a function of rows and arrays to add to."""
        check_rows(len(values))
        centres, radius = box_middle(self.box.low, self.box.high), _FIRST_RADIUS * self.box.radius
        for place, noise in enumerate(self.noises):
            summed = self._sum_records(values, add, centres, radius, voting=_voting(self.sizes, place))
            seen = self._seen(noise.release(summed[None, :], source)[0], place, radius)
            centres = self._move_centres(centres, seen)
            if place + 1 < len(self.noises):
                distance, radius = self._next(seen)
                centres = self._rearrange(centres, seen, distance)
        return centres

    def _rearrange(self, centres: "NDArray[np.float64]", seen: "_Seen", distance: float) -> "NDArray[np.float64]":
        """Return more centres where they are wanted, or one in a better place; the same without votes."""
        wanted = self.sizes[seen.place + 1]
        if not seen.votes.size:
            return centres
        noise = seen.count_noise * COUNT / VOTE
        offsets = choose_directions(seen.votes, noise, self.box.half) * (_SPLIT * distance * self.box.per_length)
        if wanted > len(centres):
            return self._inside(split_largest(centres, seen.counts, wanted, offsets))
        heard = np.maximum(seen.votes.max(axis=1) - _HEARD * noise, 0.0)
        gains = heard * (seen.radius * self.box.per_length) ** 2
        return self._inside(swap_centres(centres, seen.counts, gains, offsets))

    def _sum_records(
        self, values: "NDArray[np.float64]", add: Add, centres: "NDArray[np.float64]", radius: float, *, voting: bool
    ) -> "NDArray[np.int64]":
        """Return the exact sums over all records: sizes, displacements, and the histogram, in steps."""
        from celosia.learn.cluster.kernels import Frame, Totals  # loads Numba, which a fitted model does not need

        clusters, features = centres.shape
        per_radius = REACH / radius
        frame = Frame(
            box=np.ascontiguousarray([self.box.low, self.box.high]),
            centres=np.ascontiguousarray(centres.T),
            slopes=self.box.weights / self.box.half * per_radius,
            reach=REACH,
            euclidean=self.box.euclidean,
            edges=EDGES * (self.box.radius * per_radius),
            patterns=build_patterns(self.box.half),
            vote=VOTE,
        )
        totals = Totals(
            counts=np.zeros(clusters, dtype=np.int64),
            sums=np.zeros((clusters, features), dtype=np.int64),
            bins=np.zeros(len(EDGES) + 1, dtype=np.int64),
            votes=np.zeros((clusters, PATTERNS + features if voting else 0), dtype=np.int64),
        )
        for start in range(0, len(values), _BLOCK):
            rows = np.require(values[start : start + _BLOCK], requirements=["C", "W"])  # what kernels are compiled for
            add(rows, frame, totals)
        return np.concatenate([totals.counts * COUNT, totals.sums.ravel(), totals.bins * BIN, totals.votes.ravel()])

    def _seen(self, noisy: "NDArray[np.int64]", place: int, radius: float) -> "_Seen":
        """Return noisy sums in records and weighed displacements."""
        clusters, features = self.sizes[place], len(self.box.low)
        ends = np.cumsum([clusters, clusters * features, len(EDGES) + 1])
        counts, sums, bins, votes = np.split(noisy / self.whole, ends)
        return _Seen(
            place=place,
            radius=radius,
            counts=counts / COUNT,
            sums=sums.reshape(clusters, features) * (radius / REACH),
            bins=bins / BIN,
            votes=votes.reshape(clusters, -1) / VOTE,
            count_noise=self.deviation(place) * REACH / COUNT,
            sum_noise=self.deviation(place) * radius,
        )

    def _move_centres(self, centres: "NDArray[np.float64]", seen: "_Seen") -> "NDArray[np.float64]":
        """Return centres moved by their mean displacement, as far as it is more than noise (James and Stein 1961).

        Clusters that may be empty are taken for larger than they look, so that noise does not throw them about.
        """
        least = max(2 * seen.count_noise, max(float(seen.counts.sum()), 1.0) / (4 * self.sizes[-1]))
        rows = np.maximum(seen.counts, least)[:, None]
        mean = seen.sums / rows
        by_noise = (self.box.spread * seen.sum_noise / rows[:, 0]) ** 2
        found = ((mean * self.box.half / self.box.weights) ** 2).sum(axis=1)
        mean *= (1.0 - by_noise / np.maximum(found, by_noise))[:, None]
        mean *= (seen.radius / np.maximum(self.box.length(mean), seen.radius))[:, None]
        return self._inside(centres + mean / self.box.weights * self.box.half)

    def _next(self, seen: "_Seen") -> tuple[float, float]:
        """Return the median distance, and the radius at which noise and what is cut off are least together."""
        edges, share = EDGES * self.box.radius, np.maximum(seen.bins, 0.0)
        total = float(share.sum())
        if total <= 0:
            return seen.radius, seen.radius
        share /= total
        median = edges[min(int(np.searchsorted(np.cumsum(share), 0.5)), len(edges) - 1)]
        typical = np.append(edges, edges[-1] * 2**0.5) / 2**0.25
        cut = np.maximum(typical[None, :] - edges[:, None], 0.0) @ share
        rows = max(total, 2 * seen.count_noise) / self.sizes[seen.place + 1]
        noise = self.deviation(seen.place + 1) * edges * self.box.spread / rows
        return float(median), float(edges[np.argmin((_BIAS * self.box.per_length * cut) ** 2 + noise**2)])

    def _inside(self, centres: "NDArray[np.float64]") -> "NDArray[np.float64]":
        return np.clip(centres, self.box.low, self.box.high)


def _voting(sizes: tuple[int, ...], place: int) -> bool:
    """Whether records vote in a pass: where centres are split after it, or one can still be put elsewhere."""
    return sizes[place] < sizes[-1] or (sizes[-1] > 2 and place + 2 < len(sizes))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """The noisy results of a pass."""

    place: int
    radius: float
    counts: "NDArray[np.float64]"
    sums: "NDArray[np.float64]"
    bins: "NDArray[np.float64]"
    votes: "NDArray[np.float64]"
    count_noise: float
    sum_noise: float


def check_rows(rows: int) -> None:
    """Refuse more records than integers can be summed over; the error does not state the number."""
    if rows > _MAX_ROWS:
        raise InputError("learn.too_many_records_to_cluster")
