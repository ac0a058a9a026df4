"""Ways to combine the messages of a round that a few bad parties cannot steer.

A sum lets one party move the model wherever it likes. These rules compare what the parties propose, and cut or leave
out what is far off. They see noised messages and public weights only, so they are post-processing and cost no privacy
(proofs/robust-rules.md). Blanchard and others, *Machine learning with adversaries* (Krum), 2017; Yin and others,
*Byzantine-robust distributed learning* (median, trimmed mean), 2018.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, exact_positive
from celosia.federated.contributions import RoundSum, sort_contributions
from celosia.federated.updates.plan import Integers, State, UpdatePlan, Weights
from celosia.federated.updates.wrapped import WrappedPlan

if TYPE_CHECKING:
    from celosia.core import Source

_SAFE: Final = 1 - 2.0**-40
_MEDIAN_SPREAD: Final = Fraction(11, 7)  # pi/2, rounded up: the variance of a median of Gaussians over that of the mean
_MOST_COMPARED: Final = 2048  # parties whose distances fit into memory


class RobustRule(ABC):
    """A rule that combines the separate messages of a round; use one of its kinds as ``Federation(combine=...)``.

    >>> issubclass(CoordinateMedian, RobustRule), CoordinateMedian().least_parties
    (True, 1)
    """

    __slots__ = ()

    @property
    def least_parties(self) -> int:
        """How many messages a round must have for what the rule promises."""
        return 1

    @property
    def most_parties(self) -> int | None:
        """How many parties the rule can compare; None if any number."""
        return None

    @abstractmethod
    def combine(self, messages: Integers, weights: Weights, center: State | None) -> NDArray[Any]:
        """Return a total, as Python's integers, for messages in rows.

        Parameters
        ----------
        messages
            What each party sent: its weight times what it proposes, with noise.
        weights
            The public weight of each party, at least 1.
        center
            What a party of weight 1 would send that wants no change; None where no such thing is public.
        """

    @abstractmethod
    def find_spread(self, parties: int) -> Fraction:
        """Return about how many times one message's noise the total has, in variance, for parties of equal weights."""


@dataclass(frozen=True, slots=True)
class ClippedSum(RobustRule):
    """The sum of messages that are cut to one length: a party moves the mean by no more than that length over n.

    A message is measured as its distance from no change, for each unit of its weight: from 0 for ``SGD``, from the
    weights so far for ``Proximal``. Sums of ``OneShot`` are measured from their coordinate median, which a party can
    move too, among honest values. An honest message that is longer is cut as well, with its noise: it points where it
    pointed, and counts for less. That biases the model, and does not weaken its guarantee.

    Parameters
    ----------
    length
        In integer steps. Left out, the median length of the messages of the round: the longer half are cut, and fewer
        than half of the parties cannot move it beyond the lengths of honest ones.

    Examples
    --------
    >>> messages, weights = np.array([[3, 4], [4, 3], [-30, -40]]), np.ones(3, dtype=np.int64)
    >>> ClippedSum().combine(messages, weights, np.zeros(2)).tolist()
    [5, 4]
    """

    length: Exact | None = None

    def __post_init__(self) -> None:
        if self.length is not None:
            exact_positive(self.length, name="length")

    def combine(self, messages: Integers, weights: Weights, center: State | None) -> NDArray[Any]:
        """Return the sum of the cut messages."""
        middle = np.median(messages / weights[:, None], axis=0) if center is None else center
        start = np.rint(middle * weights[:, None])
        away = messages - start
        lengths = np.linalg.norm(away, axis=1) / weights
        most = float(np.median(lengths)) if self.length is None else float(exact_positive(self.length, name="length"))
        long = lengths > most
        kept = messages.astype(object)
        cut = np.trunc(away[long] * (most / lengths[long] * _SAFE)[:, None])
        kept[long] = (start[long] + cut).astype(np.int64).astype(object)
        return np.asarray(kept.sum(axis=0))

    def find_spread(self, parties: int) -> Fraction:
        """Return that of a sum: cutting lessens noise."""
        return Fraction(parties)


@dataclass(frozen=True, slots=True)
class TrimmedMean(RobustRule):
    """In each coordinate, the mean of what is left without the ``trim`` lowest and the ``trim`` highest proposals.

    If no more than ``trim`` parties are bad, each coordinate of the mean lies between honest proposals. The noise of an
    honest message is part of its proposal. The mean is weighted, the ranks are not.

    >>> TrimmedMean(1).combine(np.array([[1], [2], [4], [900]]), np.ones(4, dtype=np.int64), np.zeros(1)).tolist()
    [12]
    """

    trim: int

    def __post_init__(self) -> None:
        exact_integer(self.trim, name="trim")

    @property
    def least_parties(self) -> int:
        """One more than are cut off."""
        return 2 * self.trim + 1

    def combine(self, messages: Integers, weights: Weights, center: State | None) -> NDArray[Any]:  # noqa: ARG002 - ranks need none
        """Return the mean of the middle, times all weights."""
        return _add_middle(messages, weights, self.trim)

    def find_spread(self, parties: int) -> Fraction:
        """Return that of a median of Gaussian noise, which is more."""
        return _MEDIAN_SPREAD * parties


@dataclass(frozen=True, slots=True)
class CoordinateMedian(RobustRule):
    """In each coordinate the median of what the parties propose, or the mean of the middle two.

    Fewer than half of the parties cannot move it beyond honest proposals. For honest parties its noise is up to 1.25
    times that of the sum.

    >>> CoordinateMedian().combine(np.array([[1], [2], [900]]), np.ones(3, dtype=np.int64), np.zeros(1)).tolist()
    [6]
    """

    def combine(self, messages: Integers, weights: Weights, center: State | None) -> NDArray[Any]:  # noqa: ARG002 - ranks need none
        """Return the median, times all weights."""
        return _add_middle(messages, weights, (len(messages) - 1) // 2)

    def find_spread(self, parties: int) -> Fraction:
        """Return that of a median of Gaussian noise."""
        return _MEDIAN_SPREAD * parties


@dataclass(frozen=True, slots=True)
class Krum(RobustRule):
    """The mean of the proposals that are nearest to their neighbours (Krum; with ``keep`` above 1, multi-Krum).

    A proposal's score is the sum of its squared distances to its n - bad - 2 nearest; the ``keep`` lowest are kept.
    Left out, ``keep`` is n - bad - 2. What is kept counts in full, also what bad parties send near honest ones.

    >>> Krum(1).combine(np.array([[1], [2], [3], [2], [900]]), np.ones(5, dtype=np.int64), np.zeros(1)).tolist()
    [10]
    """

    bad: int
    keep: int | None = None

    def __post_init__(self) -> None:
        exact_integer(self.bad, name="bad")
        if self.keep is not None:
            exact_integer(self.keep, name="keep")

    @property
    def least_parties(self) -> int:
        """Twice the bad ones and three more, and two more than are bad or kept."""
        return max(2 * self.bad + 3, (self.keep or 1) + self.bad + 2)

    @property
    def most_parties(self) -> int:
        """How many are compared with each other."""
        return _MOST_COMPARED

    def combine(self, messages: Integers, weights: Weights, center: State | None) -> NDArray[Any]:  # noqa: ARG002 - distances need none
        """Return the mean of the kept messages, times all weights."""
        near = max(len(messages) - self.bad - 2, 1)
        apart = squareform(pdist(messages / weights[:, None], "sqeuclidean"))
        scores = np.sort(apart, axis=1)[:, 1 : near + 1].sum(axis=1)
        kept = np.argsort(scores, kind="stable")[: self.keep or near]
        return _scale(messages[kept].sum(axis=0), weights.sum(), weights[kept].sum())

    def find_spread(self, parties: int) -> Fraction:
        """Return that of the mean of those kept."""
        return Fraction(parties**2, self.keep or max(parties - self.bad - 2, 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeparateMessages(RoundSum):
    """A round whose messages are not combined yet: ``messages`` has a row for each accepted party."""

    messages: Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class RobustPlan(WrappedPlan):
    """A plan whose messages are combined by a rule instead of added up."""

    rule: RobustRule

    def find_spread(self, parties: int) -> Fraction:
        """Return about the variance of the noise in a total, in times that of one party's noise."""
        return self.rule.find_spread(parties)

    def add_up(
        self,
        contributions: Mapping[str, object],
        *,
        parties: int,
        number: int,  # noqa: ARG002 - the same in every round
        source: "Source",  # noqa: ARG002 - nothing is drawn
    ) -> SeparateMessages:
        """Return the usable messages of a round."""
        usable, rejected = sort_contributions(contributions, width=self.width, parties=parties)
        messages = np.array(list(usable.values()), dtype=np.int64).reshape(len(usable), self.width)
        return SeparateMessages(
            total=messages.astype(object).sum(axis=0), accepted=tuple(usable), rejected=rejected, messages=messages
        )

    def advance(self, state: State, found: RoundSum) -> State:
        """Combine the messages, and return the public state after the round."""
        assert isinstance(found, SeparateMessages)  # noqa: S101 - for the type checker: what add_up returned
        if not found.accepted:
            return self.inner.advance(state, found)
        weights, center = self.inner.find_weights(found.accepted), self.inner.find_center(state)
        total = self.rule.combine(found.messages, weights, center)
        spread = self.rule.find_spread(len(found.accepted))
        return self.inner.advance(
            state, RoundSum(total=total, accepted=found.accepted, rejected=found.rejected, spread=spread)
        )


def plan_robust(inner: UpdatePlan, rule: RobustRule, parties: int) -> RobustPlan:
    """Return the plan of the same training with a rule; refuse more or fewer parties than it is for."""
    least, most = rule.least_parties, rule.most_parties
    if parties < least:
        raise ParameterError("federated.too_few_parties_for_rule", rule=repr(rule), least=least, found=parties)
    if most is not None and parties > most:
        raise ParameterError("federated.too_many_parties_for_rule", rule=repr(rule), most=most, found=parties)
    return RobustPlan(inner=inner, rule=rule)


def _add_middle(messages: Integers, weights: Weights, cut: int) -> NDArray[Any]:
    """Return in each coordinate the weighted mean without the ``cut`` lowest and highest, times all weights."""
    order = np.argsort(messages / weights[:, None], axis=0, kind="stable")
    cut = min(cut, (len(messages) - 1) // 2)
    kept = order[cut : len(messages) - cut]
    return _scale(np.take_along_axis(messages, kept, axis=0).sum(axis=0), weights.sum(), weights[kept].sum(axis=0))


def _scale(sums: Any, times: Any, over: Any) -> NDArray[Any]:
    """Return integers times a fraction, to the nearest integer, without overflow."""
    whole, part = np.asarray(over).astype(object), sums.astype(object) * int(times)
    return np.asarray((2 * part + whole) // (2 * whole))
