"""The number of different values that enough people share, in the local model.

It cannot count all different values: with private reports that are sent once, every protocol errs by a constant
fraction of the number of people (Chen, Ghazi, Kumar and Manurangsi 2021), because a report hides exactly the value that
one person alone holds. So this counts the values that stand out. A public function hashes a value to one of many
buckets, and the client reports the bucket by local hashing, with its guarantee. The server counts the buckets that
stand out of the noise, and corrects for values that share one
(linear counting: Whang, Vander-Zanden and Taylor 1990).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_epsilon, exact_level
from celosia.core.messages.message import Message
from celosia.local.base.checks import exact_at_most
from celosia.local.base.hashed_rows import build_hash_family, exact_seed
from celosia.local.base.packing import Bytes
from celosia.local.base.protocol import Protocol, State
from celosia.local.discovery.base import threshold_multiple
from celosia.local.frequency.local_hashing import LocalHashing
from celosia.sketches.hashing.digest import digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.events import Event
    from celosia.core.mechanism import Source
    from celosia.local.base.aggregate import Aggregate
    from celosia.local.base.estimate import Estimate

_MAX_BUCKETS = 1 << 20
_MAX_HASHES = 1 << 20
_FAILURE = 0.05
_MIN_MASS = 1e-30
_MAX_TIMES = 16  # values per bucket, beyond which no number is excluded


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DistinctEstimate:
    """The estimated number of values that stand out: all that ``least`` people or more hold, and some rarer ones.

    With probability at least 1 - ``failure``, both bounds hold: at least ``low`` different values occur, and at most
    ``high`` are held by ``least`` people or more. They are not an interval of one number. ``estimate`` is unbiased for
    the latter number if all other values are too rare to stand out.

    >>> from celosia.noise import Seeded
    >>> protocol = DistinctCount(epsilon=4)
    >>> values = [value for value in range(100, 120) for _ in range(1000)]
    >>> protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(7))).estimate()
    DistinctEstimate(20.0 values stand out, low=20, high=21 of 388 or more people, reports=20000)
    """

    estimate: float
    low: int
    high: float
    least: int
    occupied: int
    buckets: int
    reports: int
    failure: float

    @property
    def interval(self) -> tuple[int, float]:
        """The bounds, ``low`` and ``high``; the latter is infinite if nearly all buckets stand out.

        >>> protocol = DistinctCount(epsilon=4)
        >>> protocol.aggregate().estimate().interval
        (0, inf)
        """
        return self.low, self.high

    @property
    def statement(self) -> Message:
        """The estimate and its bounds in words.

        >>> DistinctCount(epsilon=4).aggregate().estimate().statement
        'There are no reports yet.'
        """
        if not self.reports:
            return Message("local.no_reports_yet")
        if self.least > self.reports:
            return Message("local.nothing_seen", reports=self.reports)
        return Message(
            "local.distinct_values",
            estimate=self.estimate,
            least=self.least,
            reports=self.reports,
            sure=100 * (1 - self.failure),
            high=self.high,
            low=self.low,
        )

    def __repr__(self) -> str:
        return (
            f"DistinctEstimate({self.estimate:.1f} values stand out, low={self.low}, high={self.high} of {self.least} "
            f"or more people, reports={self.reports})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class DistinctCount(Protocol[DistinctEstimate]):
    """Count the different values that many people hold; see ``celosia.local`` for ``epsilon``.

    Parameters
    ----------
    buckets
        The number of buckets: several times the expected number of values.
    hashes
        The size of the public set of functions of local hashing.
    seed
        Public seed of all hash functions.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> protocol = DistinctCount(epsilon=2, buckets=1024)
    >>> values = ["sun"] * 9000 + ["rain"] * 6000 + [f"typing error {i}" for i in range(5000)]
    >>> protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(7))).estimate().occupied
    2
    """

    buckets: int = 4096
    hashes: int = 4096
    seed: int = 0

    def __init__(self, *, epsilon: Exact, buckets: int = 4096, hashes: int = 4096, seed: int = 0) -> None:
        self._set(
            epsilon=exact_epsilon(epsilon),
            buckets=exact_at_most(buckets, _MAX_BUCKETS, name="buckets", least=2),
            hashes=exact_at_most(hashes, _MAX_HASHES, name="hashes"),
            seed=exact_seed(seed),
        )

    @property
    def oracle(self) -> LocalHashing:
        """The protocol by which buckets are reported.

        >>> DistinctCount(epsilon=2).oracle.size
        4096
        """
        return LocalHashing(domain=self.buckets, epsilon=self.epsilon, hashes=self.hashes, seed=self.seed)

    @property
    def event(self) -> "Event":
        """The event of one report: local hashing of the bucket.

        >>> DistinctCount(epsilon=2).event == DistinctCount(epsilon=2).oracle.event
        True
        """
        return self.oracle.event

    @property
    def bits(self) -> int:
        """A report is one of local hashing.

        >>> DistinctCount(epsilon=2).bits
        15
        """
        return self.oracle.bits

    def outputs(self) -> Bytes | None:
        """Those of local hashing.

        >>> len(DistinctCount(epsilon=1, buckets=4, hashes=2).outputs())
        8
        """
        return self.oracle.outputs()

    def log_masses(self, value: Any, payload: Bytes) -> "NDArray[np.float64]":
        """Return those of local hashing, given the value's bucket.

        >>> protocol = DistinctCount(epsilon=1, buckets=4, hashes=2)
        >>> round(float(np.exp(protocol.log_masses("sun", protocol.outputs())).sum()), 12)
        1.0
        """
        return self.oracle.log_masses(int(self._buckets([value])[0]), payload)

    # ---------------------------------------------------------------- client and server, through local hashing

    def _buckets(self, values: Any) -> "NDArray[np.int64]":
        # The oracle's functions use the seed; this one must be another polynomial.
        return build_hash_family(1, self.buckets, (self.seed + 1) % 2**64).columns(digest(values), 0)

    def encode(self, values: Any) -> "NDArray[Any]":
        return self.oracle.encode(self._buckets(values))

    def sample(self, items: "NDArray[Any]", source: "Source") -> Bytes:
        return self.oracle.sample(items, source)

    def sample_one(self, item: Any, source: "Source") -> int:
        return self.oracle.sample_one(item, source)

    @property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return self.oracle.state_shapes

    def is_reachable(self, state: State, reports: int) -> bool:
        return self.oracle.is_reachable(state, reports)

    def is_valid(self, payload: Bytes) -> "NDArray[np.bool_]":
        return self.oracle.is_valid(payload)

    def accumulate(self, state: State, payload: Bytes) -> None:
        self.oracle.accumulate(state, payload)

    def estimate(self, aggregate: "Aggregate[Any]", candidates: Any, postprocess: str | None) -> DistinctEstimate:
        if candidates is not None or postprocess is not None:
            raise ParameterError("local.distinct_count_takes_no_options")
        return self.count(aggregate)

    def count(self, aggregate: "Aggregate[Any]", *, failure: Exact = _FAILURE) -> DistinctEstimate:
        """Return the number of values that stand out; the three ways in which the bounds can fail share ``failure``.

        >>> protocol = DistinctCount(epsilon=2)
        >>> protocol.count(protocol.aggregate(), failure=0.01).occupied
        0
        """
        if aggregate.protocol != self:
            raise ParameterError("local.aggregate_of_other_protocol")
        share = exact_level(failure) / 3
        found = self._counts(aggregate)
        error, threshold = float(found.null_errors.max()), float(found.critical(float(share) / self.buckets).max())
        needed = threshold_multiple(share, self.buckets)
        occupied = int((found.raw > threshold).sum()) if aggregate.reports else 0
        return DistinctEstimate(
            estimate=_without_collisions(occupied, self.buckets),
            low=occupied,
            high=_most(occupied, self.buckets, float(share)) if aggregate.reports else math.inf,
            least=self._least(threshold, needed, error, aggregate.reports),
            occupied=occupied,
            buckets=self.buckets,
            reports=aggregate.reports,
            failure=float(failure),
        )

    def _counts(self, aggregate: "Aggregate[Any]") -> "Estimate":
        """Return the estimated number of people in each bucket."""
        part = self.oracle.aggregate()
        part.state, part.reports = aggregate.state, aggregate.reports
        return part.estimate()

    def _least(self, threshold: float, needed: float, error: float, reports: int) -> int:
        """Return the least number of people in a bucket that is missed with probability at most ``share``."""
        if math.isinf(threshold):
            return reports + 1
        slope, count = max(self.oracle.variance(1, 1.0) - self.oracle.variance(1), 0.0), threshold
        for _ in range(60):  # a contraction: the square root grows slowly
            count = threshold + needed * math.sqrt(error**2 + slope * count)
        return min(math.ceil(count), reports + 1)


def _without_collisions(occupied: int, buckets: int) -> float:
    """Return the number of values that would occupy this many buckets on average."""
    if occupied == buckets:
        return math.inf
    return math.log1p(-occupied / buckets) / math.log1p(-1 / buckets) + 0.0  # no negative zero


def _most(occupied: int, buckets: int, failure: float) -> float:
    """Return the largest number of values that occupies so few buckets with more than probability ``failure``, or inf.

    Each value takes a free or an occupied bucket: the law of the number of occupied buckets, up to the given number,
    follows step by step. It only moves up, so the first number of values that is too large excludes all larger ones.
    """
    if occupied == buckets:
        return math.inf
    masses = np.zeros(occupied + 1)
    masses[0] = 1.0
    values = _too_many(masses, buckets, failure, _MAX_TIMES * buckets)
    return values - 1 if values < _MAX_TIMES * buckets else math.inf


@njit(cache=True, nogil=True)
def _too_many(masses: "NDArray[np.float64]", buckets: int, failure: float, most: int) -> int:
    """Add values until the total mass is at most ``failure``; return their number, or ``most``.

    Masses below 1e-30 at either end are dropped, but counted as if they stayed: the result is not smaller.
    """
    low, high, left = 0, 0, 0.0
    for values in range(most):
        total = left
        for number in range(low, high + 1):
            total += masses[number]
        if total <= failure:
            return values
        for number in range(high, low - 1, -1):  # downwards: the mass that moves up is that before this value
            if number + 1 < masses.size:
                masses[number + 1] += masses[number] * (1 - number / buckets)
            masses[number] *= number / buckets
        high = min(high + 1, masses.size - 1)
        while low < high and masses[low] < _MIN_MASS:
            left += masses[low]
            low += 1
        while low < high and masses[high] < _MIN_MASS:
            left += masses[high]
            masses[high] = 0.0
            high -= 1
    return most
