"""The sparse vector technique: report which queries are above a threshold, pay only for the positive answers.

Noise is drawn once for the threshold and again for every query, scaled with the allowed number of positive answers; the
mechanism stops after them and never releases a number. Published variants fail in these points (Lyu, Su and Li,
*Understanding the sparse vector technique*, 2017; this is their algorithm 1, with integer noise).
"""

import os
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ExhaustedError, InputError
from celosia.core.events import AboveThresholdEvent
from celosia.core.exact import Exact, exact, exact_integer, exact_level
from celosia.core.guarantees import PureDP
from celosia.core.release import Release
from celosia.mechanisms.grid import FINENESS, Value, as_number_or_array, fine_step, is_integral, to_steps
from celosia.mechanisms.selection.base import UtilityMechanism
from celosia.noise.laplace import DiscreteLaplace
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class AboveThreshold(UtilityMechanism):
    """Report which values are above a threshold, up to ``answers`` times.

    See ``celosia.mechanisms`` for ``adjacency`` and ``unit``.

    Parameters
    ----------
    epsilon
        For all queries together, whatever their number.
    sensitivity
        How far one unit can move any of the values.
    threshold
        A public number.
    answers
        The number of positive answers after which the mechanism stops.
    monotone
        Whether adding a unit moves all values in the same direction: half the noise, add-remove only.

    Examples
    --------
    >>> AboveThreshold(epsilon=5, sensitivity=1, threshold=100).release([3, 7, 500, 9]).value.tolist()
    [False, False, True]
    """

    threshold: Fraction
    answers: int = 1

    _last_in_repr: ClassVar[tuple[str, ...]] = ("monotone", "adjacency", "unit")

    def __init__(
        self,
        *,
        epsilon: Exact,
        sensitivity: Exact,
        threshold: Exact,
        answers: int = 1,
        monotone: bool = False,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        self._set_target(epsilon, sensitivity, monotone=monotone, adjacency=adjacency, unit=unit)
        self._set(threshold=exact(threshold, name="threshold"), answers=exact_integer(answers, name="answers"))

    @property
    def event(self) -> AboveThresholdEvent:
        """The event of a release or of a whole session.

        >>> AboveThreshold(epsilon=1, sensitivity=1, threshold=10).event
        AboveThresholdEvent(epsilon=1)
        """
        return AboveThresholdEvent(epsilon=self.epsilon, answers=self.answers, adjacency=self.adjacency, unit=self.unit)

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of a release or of a whole session.

        >>> AboveThreshold(epsilon=1, sensitivity=1, threshold=10, answers=5).guarantee
        PureDP(epsilon=1)
        """
        return PureDP(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    def release(self, values: "ArrayLike", /, *, source: "Source | None" = None) -> "Release[NDArray[np.bool_]]":
        """Return for each value whether it is above; the array ends with the last positive answer that was allowed.

        >>> AboveThreshold(epsilon=5, sensitivity=1, threshold=100, answers=2).release([500, 3, 600, 9]).value.tolist()
        [True, False, True]
        """
        session = self.start(source=source, integral=is_integral(as_number_or_array(values)))
        answers = session.ask_all(values)
        return Release(value=answers, event=self.event, guarantee=self.guarantee, seeded=session.seeded)

    def start(self, *, source: "Source | None" = None, integral: bool | None = None) -> "ThresholdSession":
        """Open a session for values that come one after the other, each perhaps chosen by the answers before it.

        The session as a whole is one event; ``integral`` states whether the values are integers (by default: whether
        sensitivity and threshold are).

        >>> session = AboveThreshold(epsilon=5, sensitivity=1, threshold=100).start()
        >>> session.ask(3), session.ask(500), session.remaining
        (False, True, 0)
        """
        whole_numbers = self.sensitivity.denominator == 1 and self.threshold.denominator == 1
        return ThresholdSession(self, source_or_system(source), integral=whole_numbers and integral is not False)

    def error(self, level: Exact = 0.95, *, queries: int) -> float:
        """Return the distance from the threshold beyond which all of ``queries`` answers are right, with ``level``.

        >>> AboveThreshold(epsilon=1, sensitivity=1, threshold=100).error(0.95, queries=100)
        36.6015625
        """
        level = exact_level(level)
        step, at_threshold, at_value = self._noises(integral=False)  # integers do a little better
        failure = (1 - level) / 2
        steps = at_threshold.reach(failure) + at_value.reach(failure / exact_integer(queries, name="queries"))
        return float((steps + 2) * step)  # and the rounding of threshold and value

    def _noises(self, *, integral: bool) -> tuple[Fraction, DiscreteLaplace, DiscreteLaplace]:
        """Return the step, and in steps the noise of the threshold and that of a value."""
        step = Fraction(1) if integral else fine_step(self.sensitivity / FINENESS)
        steps = self.sensitivity // step + (0 if integral else 1)  # rounding can move a real value one step further
        moved = self.answers if self.monotone else 2 * self.answers
        # The split that makes the comparison most accurate gives the values moved^(2/3) times the threshold's share.
        weight = Fraction(round(64 * moved ** (2 / 3)), 64)
        for_threshold = self.epsilon / (1 + weight)
        for_values = self.epsilon - for_threshold
        return step, DiscreteLaplace(steps / for_threshold), DiscreteLaplace(moved * steps / for_values)


class ThresholdSession:
    """An open session: it holds the noisy threshold and counts the remaining positive answers.

    >>> session = AboveThreshold(epsilon=5, sensitivity=1, threshold=100).start()
    >>> session.ask(500)
    True
    >>> session.ask(3)
    Traceback (most recent call last):
    ...
    celosia.core.errors.ExhaustedError: The session has given its 1 positive answers: open a new one and pay for it.
    """

    __slots__ = (
        "_integral",
        "_lock",
        "_mechanism",
        "_noise",
        "_process",
        "_remaining",
        "_source",
        "_step",
        "_threshold",
    )

    def __init__(self, mechanism: AboveThreshold, source: "Source", *, integral: bool) -> None:
        self._step, at_threshold, self._noise = mechanism._noises(integral=integral)  # noqa: SLF001 - one mechanism
        # Integers reach a threshold between them exactly when they reach the next one above.
        self._threshold = -(-mechanism.threshold // self._step) + at_threshold.draw(source)
        self._mechanism = mechanism
        self._integral = integral
        self._source = source
        self._remaining = mechanism.answers
        self._lock = Lock()  # two threads must not both get the last answer
        self._process = os.getpid()

    @property
    def remaining(self) -> int:
        """The number of remaining positive answers.

        >>> AboveThreshold(epsilon=5, sensitivity=1, threshold=100, answers=3).start().remaining
        3
        """
        return self._remaining

    @property
    def event(self) -> AboveThresholdEvent:
        """The event of the session, whatever the number of queries.

        >>> AboveThreshold(epsilon=5, sensitivity=1, threshold=100).start().event
        AboveThresholdEvent(epsilon=5)
        """
        return self._mechanism.event

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of the session, whatever the number of queries.

        >>> AboveThreshold(epsilon=5, sensitivity=1, threshold=100).start().guarantee
        PureDP(epsilon=5)
        """
        return self._mechanism.guarantee

    @property
    def seeded(self) -> bool:
        """Whether the noise can be repeated.

        >>> AboveThreshold(epsilon=5, sensitivity=1, threshold=100).start().seeded
        False
        """
        return self._source.seeded

    def ask(self, value: Any, /) -> bool:
        """Return whether one value is above the threshold, with noise.

        >>> AboveThreshold(epsilon=5, sensitivity=1, threshold=100).start().ask(-1000)
        False
        """
        number = as_number_or_array(value)
        if isinstance(number, np.ndarray):
            raise InputError("mechanisms.not_a_single_number")
        with self._lock:
            self._check(number)
            steps = to_steps(number, self._step)
            above = bool(steps + self._noise.draw(self._source) >= self._threshold)
            self._remaining -= above
        return above

    def ask_all(self, values: "ArrayLike") -> "NDArray[np.bool_]":
        """Return the answers for many values; the array ends with the last positive answer.

        >>> session = AboveThreshold(epsilon=5, sensitivity=1, threshold=100).start()
        >>> session.ask_all(np.array([1, 500, 500])).tolist()
        [False, True]
        """
        array = as_number_or_array(values)
        if not isinstance(array, np.ndarray) or array.ndim != 1:
            raise InputError("mechanisms.values_not_a_list")
        with self._lock:
            return self._ask_all(array)

    def _ask_all(self, array: "NDArray[Any]") -> "NDArray[np.bool_]":
        self._check(array)
        steps = np.asarray(to_steps(array, self._step))
        noise = self._noise.sample(steps.size, self._source)
        if abs(self._threshold) < 2**61 and int(np.abs(steps).max()) < 2**61:
            above = noise >= self._threshold - steps
        else:  # the difference might not fit: compare as Python's integers
            above = (noise.astype(object) >= self._threshold - steps.astype(object)).astype(np.bool_)
        positive = np.flatnonzero(above)[: self._remaining]
        exhausted = positive.size == self._remaining
        self._remaining -= positive.size
        return above[: positive[-1] + 1] if exhausted else above

    def _check(self, value: Value) -> None:
        if self._integral and not is_integral(value):  # the noise does not pay for rounding
            raise InputError("mechanisms.real_value_in_integer_session")
        if self._process != os.getpid():
            raise ExhaustedError("mechanisms.session_in_another_process")
        if not self._remaining:
            raise ExhaustedError("mechanisms.session_exhausted", answers=self._mechanism.answers)

    def __reduce__(self) -> NoReturn:
        # All copies come through here: each would hold the same noisy threshold and its own count.
        raise ExhaustedError("mechanisms.session_copied")

    def __repr__(self) -> str:
        return f"ThresholdSession({self._mechanism!r}, remaining={self.remaining})"
