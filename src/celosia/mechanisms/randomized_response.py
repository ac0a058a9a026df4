"""Randomized response: each person randomizes their own answer, and no curator is trusted.

An answer is the truth with a known probability, else another answer; proportions are estimated without bias. There are
two or more possible answers; also the two-coin form of the textbooks (heads: the truth; tails: a second coin answers).
Warner 1965; Greenberg et al. 1969; k answers: Kairouz, Bonawitz and Ramage 2016.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from celosia.core.adjacency import ReplaceOne
from celosia.core.enclosure import log_at_least
from celosia.core.errors import InputError, ParameterError
from celosia.core.events import RandomizedResponseEvent
from celosia.core.exact import (
    Exact,
    ReprMixin,
    exact_epsilon,
    exact_integer,
    exact_level,
    exact_probability,
    exact_text,
)
from celosia.core.guarantees import PureDP
from celosia.core.release import Release
from celosia.mechanisms.added import one_of
from celosia.mechanisms.grid import as_number_or_array, is_integral
from celosia.mechanisms.proportions import Proportions
from celosia.noise.bernoulli import bernoulli, bernoulli_logistic, flip, flip_logistic
from celosia.noise.source import source_or_system
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source

_SHORT = 2**48


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class RandomizedResponse(ReprMixin):
    """Randomize answers before they leave their owner.

    Parameters
    ----------
    epsilon, truth
        The target, or the probability of the truth. The other answers share the rest equally.
    categories
        The number of possible answers: 2 takes booleans or 0 and 1, k takes 0 to k - 1.
    coins
        Instead of a target, for two answers: the probabilities of yes if it is true, and if it is not.
    unit
        Whose answer it is.

    Examples
    --------
    >>> RandomizedResponse(truth="3/4").guarantee <= PureDP(epsilon="1.0987", adjacency=ReplaceOne)
    True
    >>> answers = RandomizedResponse(epsilon=1).release([True, False, True]).value
    >>> answers.shape, answers.dtype
    ((3,), dtype('bool'))
    """

    epsilon: Fraction
    truth: Fraction | None = None
    categories: int = 2
    coins: tuple[Fraction, Fraction] | None = None
    unit: str = "row"

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        truth: Exact | None = None,
        categories: int = 2,
        coins: tuple[Exact, Exact] | None = None,
        unit: str = "row",
    ) -> None:
        self._set(categories=exact_integer(categories, name="categories", least=2), unit=exact_text(unit, name="unit"))
        self._set(truth=None if truth is None else exact_probability(truth, name="truth"), coins=None)
        if self.truth is not None:
            self._set(epsilon=_loss(self.truth, (1 - self.truth) / (self.categories - 1), name="truth"))
        elif coins is not None:
            self._set_coins(*coins)
        elif epsilon is not None:
            self._set(epsilon=exact_epsilon(epsilon))
        # The epsilon that truth or coins give may stand beside them, as it does in a copy.
        given = None if (truth is not None or coins is not None) and epsilon == self.epsilon else epsilon
        one_of(epsilon=given, truth=truth, coins=coins)

    def _set_coins(self, yes_if_yes: Exact, yes_if_no: Exact) -> None:
        yes, no = exact_probability(yes_if_yes, name="coins"), exact_probability(yes_if_no, name="coins")
        if self.categories != 2:
            raise ParameterError("mechanisms.coins_for_many_answers")
        self._set(coins=(yes, no), epsilon=max(_loss(yes, no, name="coins"), _loss(1 - yes, 1 - no, name="coins")))

    def _derived_fields(self) -> tuple[str, ...]:
        return () if self.truth is None and self.coins is None else ("epsilon",)

    @classmethod
    def two_coins(cls, heads: Exact = "1/2", yes: Exact = "1/2", *, unit: str = "row") -> Self:
        """Return the two-coin form: heads, tell the truth; tails, say yes if a second coin shows ``yes``.

        >>> RandomizedResponse.two_coins()
        RandomizedResponse(coins=(0.75, 0.25))
        """
        first, second = exact_probability(heads, name="heads"), exact_probability(yes, name="yes")
        return cls(coins=(first + (1 - first) * second, (1 - first) * second), unit=unit)

    @property
    def event(self) -> RandomizedResponseEvent:
        """The event of an answer.

        >>> RandomizedResponse(truth="3/4").event.coins
        (Fraction(3, 4), Fraction(1, 4))
        """
        coins = self.coins
        if self.truth is not None and self.categories == 2:
            coins = (self.truth, 1 - self.truth)
        return _event(self.epsilon, self.categories, coins, self.unit)

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of an answer to its owner: replace-one, in the local model.

        >>> RandomizedResponse(epsilon=1).guarantee
        PureDP(epsilon=1, adjacency=ReplaceOne)
        """
        return _make_guarantee(self.epsilon, self.unit)

    def release(self, answers: Any, /, *, source: "Source | None" = None) -> Release[Any]:
        """Return randomized answers: a bool for a bool, an int for an int, an array of the same shape and kind.

        >>> RandomizedResponse(epsilon=1, categories=5).release(3).value in range(5)
        True
        """
        source = source_or_system(source)
        if isinstance(answers, int) and 0 <= answers < self.categories:
            said_one = self._randomize_one(int(answers), source)
            value_one = bool(said_one) if isinstance(answers, bool) else said_one
            return Release(value=value_one, event=self.event, guarantee=self.guarantee, seeded=source.seeded)
        true = np.asarray(as_number_or_array(answers))
        is_bool = isinstance(answers, bool | np.bool_) or true.dtype == np.bool_
        if not is_integral(true) or int(true.min()) < 0 or int(true.max()) >= self.categories:
            raise InputError("mechanisms.invalid_answers", most=self.categories - 1)
        given = self._randomize(true.reshape(-1).astype(np.int64), source).reshape(true.shape)
        value = given.astype(np.bool_) if is_bool else given
        return Release(
            value=value.item() if value.ndim == 0 and not isinstance(answers, np.ndarray) else value,
            event=self.event,
            guarantee=self.guarantee,
            seeded=source.seeded,
        )

    def _randomize_one(self, true: int, source: "Source") -> int:
        if self.coins is not None:
            return int(flip(self.coins[0 if true else 1], source))
        if self.truth is not None:
            kept = flip(self.truth, source)
        else:
            kept = flip_logistic(self.epsilon, self.categories, source)
        other = integer_below(self.categories - 1, source)  # drawn in any case: the time must not depend on the outcome
        return true if kept else other + (other >= true)

    def _randomize(self, true: "NDArray[np.int64]", source: "Source") -> "NDArray[np.int64]":
        if self.coins is not None:
            yes, no = (bernoulli(coin, true.size, source) for coin in self.coins)
            return np.where(true == 1, yes, no).astype(np.int64)
        if self.truth is not None:
            kept = bernoulli(self.truth, true.size, source)
        else:
            kept = bernoulli_logistic(self.epsilon, true.size, categories=self.categories, source=source)
        others = uniform_below(self.categories - 1, true.size, source)
        return np.where(kept, true, others + (others >= true))

    def _probabilities(self) -> tuple[float, float]:
        """Return the probabilities of an answer when it is true and when it is not."""
        if self.coins is not None:
            return float(self.coins[0]), float(self.coins[1])
        others = self.categories - 1
        if self.truth is not None:
            return float(self.truth), float((1 - self.truth) / others)
        ratio = math.exp(-float(self.epsilon))
        return 1 / (1 + others * ratio), ratio / (1 + others * ratio)

    def estimate(self, responses: "ArrayLike | Release[Any]") -> Proportions:
        """Estimate, without bias, the share of each true answer from the randomized ones, or from their release.

        >>> RandomizedResponse.two_coins().estimate([True, True, True, False]).proportion
        1.0
        >>> mechanism = RandomizedResponse(epsilon=50)
        >>> mechanism.estimate(mechanism.release([True, True, False, False])).proportion
        0.5
        """
        if isinstance(responses, Release):
            if responses.event != self.event:
                raise InputError("mechanisms.release_of_another_mechanism", mechanism=repr(self))
            responses = responses.value
        given = np.asarray(as_number_or_array(responses))
        if not is_integral(given) or int(given.min()) < 0 or int(given.max()) >= self.categories:
            raise InputError("mechanisms.invalid_responses", most=self.categories - 1)
        counts = np.bincount(given.reshape(-1).astype(np.int64), minlength=self.categories)
        if_true, if_not = self._probabilities()
        return Proportions(counts=counts, if_true=if_true, if_not=if_not)

    def error(self, level: Exact = 0.95, *, answers: int) -> float:
        """Return a bound on the error of a share from ``answers`` answers, with probability ``level`` or more.

        Hoeffding's inequality (1963), whatever the truth; an interval from the answers themselves is narrower.

        >>> round(RandomizedResponse(epsilon=1).error(0.95, answers=10_000), 3)
        0.029
        """
        if_true, if_not = self._probabilities()
        spread = math.sqrt(math.log(2 / (1 - exact_level(level))) / (2 * exact_integer(answers, name="answers")))
        return spread / abs(if_true - if_not)

    def outputs(self, answer: Any, /) -> Sequence[Any] | None:
        """Return all answers; None for an array of them.

        >>> list(RandomizedResponse(epsilon=1, categories=3).outputs(2))
        [0, 1, 2]
        """
        return range(self.categories) if np.ndim(answer) == 0 else None

    def log_masses(self, answer: Any, outputs: Sequence[Any], /) -> "NDArray[np.float64]":
        """Return the natural logarithm of the probability of each randomized answer.

        >>> np.exp(RandomizedResponse(truth="3/4").log_masses(True, [False, True])).round(2).tolist()
        [0.25, 0.75]
        """
        given = np.asarray(outputs, dtype=np.int64)
        if self.coins is not None:
            yes = self.coins[0] if answer else self.coins[1]
            return np.where(given == 1, math.log(yes), math.log(1 - yes))
        if_true, if_not = self._probabilities()
        # At a large epsilon a lie is less likely than any double.
        log_not = math.log(if_true) - float(self.epsilon) if self.truth is None else math.log(if_not)
        return np.where(given == int(answer), math.log(if_true), log_not)


@lru_cache(maxsize=256)
def _event(
    epsilon: Fraction, categories: int, coins: tuple[Fraction, Fraction] | None, unit: str
) -> RandomizedResponseEvent:
    return RandomizedResponseEvent(epsilon=epsilon, categories=categories, coins=coins, unit=unit)


@lru_cache(maxsize=256)
def _make_guarantee(epsilon: Fraction, unit: str) -> PureDP:
    return PureDP(epsilon=epsilon, adjacency=ReplaceOne, unit=unit)


def _loss(a: Fraction, b: Fraction, *, name: str) -> Fraction:
    """Return the absolute logarithm of a ratio of probabilities, rounded up."""
    if a == b or 0 in (a, b):
        raise ParameterError("mechanisms.response_tells_all_or_nothing", name=name)
    # A short fraction, so that it reads well in guarantees and ledgers.
    return Fraction(math.ceil(log_at_least(max(a / b, b / a)) * _SHORT), _SHORT)
