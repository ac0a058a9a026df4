"""Events: what was run on the data, with its parameters. Ledgers store events and accountants price them.

An event holds the parameters of a mechanism, not an epsilon computed from them, so that history is repriced by a better
accountant. Noise is stated in *grid steps* (the added noise is an integer), and ``sensitivity`` includes the cost of
rounding to the grid. The meaning of a released event never changes: a change is a new kind or a new version.
"""

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal

from celosia.core.adjacency import AddRemove, Adjacency, ReplaceOne
from celosia.core.enclosure import log_at_most
from celosia.core.errors import ParameterError
from celosia.core.exact import (
    Exact,
    exact_adjacency,
    exact_integer,
    exact_non_negative,
    exact_positive,
    exact_probability,
    exact_text,
    safe_repr,
)
from celosia.core.record import Record

Arithmetic = Literal["integer", "real"]
"""How the noise is computed: in whole grid steps or, where a theorem needs it, in real numbers (refusable)."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Event(Record):
    """Base of all events: the adjacency and unit of their sensitivity, and the arithmetic of the noise.

    >>> Event.from_json(ExponentialEvent(epsilon=1).to_json())
    ExponentialEvent(epsilon=1)
    """

    adjacency: Adjacency = AddRemove
    unit: str = "row"
    arithmetic: Arithmetic = "integer"

    def _set_scope(self, adjacency: Adjacency, unit: str, arithmetic: object) -> None:
        if not isinstance(arithmetic, str) or arithmetic not in ("integer", "real"):
            raise ParameterError("core.unknown_arithmetic", arithmetic=safe_repr(arithmetic))
        self._set(
            adjacency=exact_adjacency(adjacency),
            unit=exact_text(unit, name="unit"),
            arithmetic=exact_text(arithmetic, name="arithmetic"),
        )


def check_event(value: object, name: str = "event") -> Event:
    """Return ``value`` if it is an event."""
    if not isinstance(value, Event):
        raise ParameterError("core.not_an_event", name=name, value=safe_repr(value))
    return value


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class LaplaceEvent(Event):
    """Discrete Laplace noise of ratio ``exp(-1/scale)`` on each of ``dimension`` coordinates.

    ``scale`` and the L1 ``sensitivity`` are in steps of ``grid``.

    >>> LaplaceEvent(scale=10, sensitivity=1)
    LaplaceEvent(scale=10, sensitivity=1)
    """

    scale: Fraction
    sensitivity: Fraction
    grid: Fraction = Fraction(1)
    dimension: int = 1

    def __init__(
        self,
        *,
        scale: Exact,
        sensitivity: Exact,
        grid: Exact = 1,
        dimension: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        self._set(
            scale=exact_positive(scale, name="scale"),
            sensitivity=exact_non_negative(sensitivity, name="sensitivity"),
            grid=exact_positive(grid, name="grid"),
            dimension=exact_integer(dimension, name="dimension"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class BoundedLaplaceEvent(Event):
    """Discrete Laplace noise given that each of ``dimension`` coordinates stays on ``reach`` steps: pure ``epsilon``.

    A coordinate has the outputs 0 to ``reach``, in steps of ``grid`` from the lower bound; ``scale`` and the L1
    ``sensitivity`` are in steps as well. Epsilon is more than ``sensitivity / scale``, and accountants check it.

    >>> BoundedLaplaceEvent(epsilon=1, scale=2, sensitivity=1, reach=10)
    BoundedLaplaceEvent(epsilon=1, scale=2, sensitivity=1, reach=10)
    """

    epsilon: Fraction
    scale: Fraction
    sensitivity: int
    reach: int
    grid: Fraction = Fraction(1)
    dimension: int = 1

    def __init__(  # noqa: PLR0913 - the parameters of the mechanism
        self,
        *,
        epsilon: Exact,
        scale: Exact,
        sensitivity: int,
        reach: int,
        grid: Exact = 1,
        dimension: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        self._set(
            epsilon=exact_positive(epsilon, name="epsilon"),
            scale=exact_positive(scale, name="scale"),
            sensitivity=exact_integer(sensitivity, name="sensitivity"),
            reach=exact_integer(reach, name="reach"),
            grid=exact_positive(grid, name="grid"),
            dimension=exact_integer(dimension, name="dimension"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class GaussianEvent(Event):
    """Discrete Gaussian noise of parameter sigma^2 = ``variance`` on each of ``dimension`` coordinates.

    ``variance`` and ``sensitivity_squared`` (the square of the L2 sensitivity) are in squared steps of ``grid``:
    squares, because they are rational where sigma and the L2 norm are not.

    >>> GaussianEvent(variance=16, sensitivity_squared=2, dimension=3)
    GaussianEvent(variance=16, sensitivity_squared=2, dimension=3)
    """

    variance: Fraction
    sensitivity_squared: Fraction
    grid: Fraction = Fraction(1)
    dimension: int = 1

    def __init__(
        self,
        *,
        variance: Exact,
        sensitivity_squared: Exact,
        grid: Exact = 1,
        dimension: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        self._set(
            variance=exact_positive(variance, name="variance"),
            sensitivity_squared=exact_non_negative(sensitivity_squared, name="sensitivity_squared"),
            grid=exact_positive(grid, name="grid"),
            dimension=exact_integer(dimension, name="dimension"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class SummedGaussianEvent(Event):
    """The sum of ``parts`` independent discrete Gaussian noises on each of ``dimension`` coordinates.

    Each part has the parameter sigma^2 = ``variance / parts``. The sum is nearly, but not exactly, a discrete Gaussian
    of parameter ``variance``, and accountants pay for the difference. More parts of the same size only add noise, so
    state the least number that are certainly in the sum. Units are those of ``GaussianEvent``.

    >>> SummedGaussianEvent(parts=5, variance=20, sensitivity_squared=1)
    SummedGaussianEvent(parts=5, variance=20, sensitivity_squared=1)
    """

    parts: int
    variance: Fraction
    sensitivity_squared: Fraction
    grid: Fraction = Fraction(1)
    dimension: int = 1

    def __init__(  # noqa: PLR0913 - the parameters of the noise, and what all events have
        self,
        *,
        parts: int,
        variance: Exact,
        sensitivity_squared: Exact,
        grid: Exact = 1,
        dimension: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        self._set(
            parts=exact_integer(parts, name="parts"),
            variance=exact_positive(variance, name="variance"),
            sensitivity_squared=exact_non_negative(sensitivity_squared, name="sensitivity_squared"),
            grid=exact_positive(grid, name="grid"),
            dimension=exact_integer(dimension, name="dimension"),
        )

    @classmethod
    def of(cls, noise: GaussianEvent, *, parts: int, variance: Exact) -> "SummedGaussianEvent":
        """Return the event of so many shares that replace one noise, for the same sensitivity.

        >>> SummedGaussianEvent.of(GaussianEvent(variance=9, sensitivity_squared=1), parts=3, variance=9)
        SummedGaussianEvent(parts=3, variance=9, sensitivity_squared=1)
        """
        kept = {one.name: getattr(noise, one.name) for one in fields(noise) if one.name != "variance"}
        return cls(parts=parts, variance=variance, **kept)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class KNormEvent(Event):
    """Noise vectors z of ``width`` coordinates with probability proportional to ``exp(-max|z_i|/scale)``.

    Each of ``blocks`` vectors gets its own noise. ``sensitivity`` is the largest change of a coordinate, summed over
    blocks; it and ``scale`` are in steps of ``grid``.

    >>> KNormEvent(scale=20, sensitivity=2, width=3)
    KNormEvent(scale=20, sensitivity=2, width=3)
    """

    scale: Fraction
    sensitivity: Fraction
    width: int
    blocks: int = 1
    grid: Fraction = Fraction(1)

    def __init__(  # noqa: PLR0913 - the parameters of the noise, and what all events have
        self,
        *,
        scale: Exact,
        sensitivity: Exact,
        width: int,
        blocks: int = 1,
        grid: Exact = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        self._set(
            scale=exact_positive(scale, name="scale"),
            sensitivity=exact_non_negative(sensitivity, name="sensitivity"),
            width=exact_integer(width, name="width"),
            blocks=exact_integer(blocks, name="blocks"),
            grid=exact_positive(grid, name="grid"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class RandomizedResponseEvent(Event):
    """One answer out of ``categories``, randomized on its owner's device: always replace-one.

    ``epsilon`` is exact if the answer is true with probability ``e^epsilon / (e^epsilon + categories - 1)``. If the
    coins were given as probabilities, ``coins`` holds them, (yes if yes, yes if no), and ``epsilon`` is rounded up. An
    index that the owner drew independently of the truth may go with the answer: even shuffled it reveals nothing more
    (proofs/hadamard-count-mean-sketch.md). An answer that only *resembles* this one is a ``GuaranteedEvent``.

    >>> RandomizedResponseEvent(epsilon=1, categories=4)
    RandomizedResponseEvent(epsilon=1, categories=4, adjacency=ReplaceOne)
    """

    epsilon: Fraction
    categories: int = 2
    coins: tuple[Fraction, Fraction] | None = None

    def __init__(
        self,
        *,
        epsilon: Exact,
        categories: int = 2,
        coins: tuple[Exact, Exact] | None = None,
        adjacency: Adjacency = ReplaceOne,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        if self.adjacency is not ReplaceOne:
            raise ParameterError("core.randomized_answer_needs_replace_one")
        self._set(
            epsilon=exact_non_negative(epsilon, name="epsilon"),
            categories=exact_integer(categories, name="categories", least=2),
            coins=None if coins is None else _exact_coins(coins),
        )
        if self.coins is None:
            return
        if self.categories != 2:
            raise ParameterError("core.coins_need_two_categories", categories=self.categories)
        if not _is_covered(self.epsilon, *self.coins):
            raise ParameterError("core.epsilon_below_coins", epsilon=safe_repr(epsilon), coins=safe_repr(coins))


def _exact_coins(coins: object) -> tuple[Fraction, Fraction]:
    if not isinstance(coins, tuple | list) or len(coins) != 2:
        raise ParameterError("core.coins_not_two_probabilities", coins=safe_repr(coins))
    yes, no = coins
    return exact_probability(yes, name="coins"), exact_probability(no, name="coins")


def _is_covered(epsilon: Fraction, yes: Fraction, no: Fraction) -> bool:
    """Return whether neither answer is more than ``exp(epsilon)`` times likelier for one truth than for the other."""
    pairs = (sorted((yes, no)), sorted((1 - yes, 1 - no)))
    return all(low == high or (low > 0 and log_at_most(high / low) <= epsilon) for low, high in pairs)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class _Selection(Event):
    """Base of the choices whose privacy has one parameter."""

    epsilon: Fraction

    def __init__(
        self,
        *,
        epsilon: Exact,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        self._set(epsilon=exact_positive(epsilon, name="epsilon"))


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ExponentialEvent(_Selection):
    """A choice by the exponential mechanism: pure ``epsilon``, and a privacy loss whose *range* is ``epsilon``.

    The bounded range makes it cheaper under composition than other pure mechanisms (epsilon^2/8 in zCDP).

    >>> ExponentialEvent(epsilon=1)
    ExponentialEvent(epsilon=1)
    """


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class PermuteAndFlipEvent(_Selection):
    """A choice by permute-and-flip: pure ``epsilon``.

    >>> PermuteAndFlipEvent(epsilon=1)
    PermuteAndFlipEvent(epsilon=1)
    """


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class NoisyMaxEvent(_Selection):
    """A choice by the largest noisy utility: pure ``epsilon``.

    >>> NoisyMaxEvent(epsilon=1)
    NoisyMaxEvent(epsilon=1)
    """


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class AboveThresholdEvent(_Selection):
    """A sparse vector that stops after ``answers`` positive answers: pure ``epsilon`` for all of it together.

    >>> AboveThresholdEvent(epsilon=1, answers=3)
    AboveThresholdEvent(epsilon=1, answers=3)
    """

    answers: int = 1

    def __init__(
        self,
        *,
        epsilon: Exact,
        answers: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        super(AboveThresholdEvent, self).__init__(  # slots make the class twice; a bare super() holds the first
            epsilon=epsilon, adjacency=adjacency, unit=unit, arithmetic=arithmetic
        )
        self._set(answers=exact_integer(answers, name="answers"))


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class KeySelectionEvent(Event):
    """The keys of a table, not known in advance, whose noisy number of units reaches ``threshold``.

    Every key that occurs gets discrete Laplace noise of ratio ``exp(-1/scale)`` on its number of units, one for each
    unit; keys that reach the threshold are shown with their noisy numbers. A unit is in at most ``groups`` keys.

    >>> KeySelectionEvent(scale=2, threshold=27, groups=2)
    KeySelectionEvent(scale=2, threshold=27, groups=2)
    """

    scale: Fraction
    threshold: int
    groups: int = 1

    def __init__(
        self,
        *,
        scale: Exact,
        threshold: int,
        groups: int = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "integer",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        self._set(
            scale=exact_positive(scale, name="scale"),
            threshold=exact_integer(threshold, name="threshold"),
            groups=exact_integer(groups, name="groups"),
        )

    @property
    def affected_keys(self) -> int:
        """The number of keys that one unit affects: a replaced unit leaves its keys and enters as many others.

        >>> KeySelectionEvent(scale=2, threshold=27, groups=2, adjacency=ReplaceOne).affected_keys
        4
        """
        return self.groups if self.adjacency is AddRemove else 2 * self.groups
