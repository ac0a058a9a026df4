"""Events of noisy iterations that release only their last state: contractions with noise, projected noisy SGD.

Feldman, Mironov, Talwar and Thakurta (2018) show that the secret steps amplify privacy. Their theorems are about real
numbers: noise on a grid, moved off the grid, is distinguished at once, and rounding is no contraction. So these events
always have ``arithmetic="real"``, which a ledger may refuse. Equal steps are stored once, with their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from celosia.core.adjacency import AddRemove, Adjacency, ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.events import Arithmetic, Event
from celosia.core.exact import Exact, exact_integer, exact_non_negative, exact_positive, exact_text, safe_repr

Run: TypeAlias = tuple[Fraction, Fraction, int]
"""Equal steps of an iteration: the distance of the two maps, the size of the noise, and the number of steps."""

_MAX_RUNS = 10_000  # bounds the size of a record
_MAX_STEPS = 2**53  # up to here doubles hold every integer


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ContractiveIterationEvent(Event):
    """The last state of ``X_t = phi_t(X_{t-1}) + Z_t``, where every ``phi_t`` is a contraction for all data.

    ``steps`` are runs of ``(shift, size, count)``: ``count`` steps in which the maps of two neighbours differ by at
    most ``shift`` at every point, with noise of that ``size``. For ``noise="gaussian"`` the size is the variance of
    each coordinate, and distances are Euclidean; for ``"laplace"`` it is the scale, and distances (those in which the
    maps are contractions too) are sums of absolute values. ``start`` bounds how far apart the first states may be.

    >>> ContractiveIterationEvent(steps=[(1, 4, 1), (0, 4, 999)])
    ContractiveIterationEvent(steps=((1, 4, 1), (0, 4, 999)), arithmetic='real')
    """

    steps: tuple[Run, ...]
    noise: Literal["gaussian", "laplace"] = "gaussian"
    start: Fraction = Fraction(0)

    def __init__(
        self,
        *,
        steps: Sequence[tuple[Exact, Exact, int]],
        noise: Literal["gaussian", "laplace"] = "gaussian",
        start: Exact = 0,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
        arithmetic: Arithmetic = "real",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        _check_real_arithmetic(self.arithmetic)
        self._set(
            steps=_exact_runs(steps),
            noise=_check_choice(noise, ("gaussian", "laplace"), name="noise"),
            start=exact_non_negative(start, name="start"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class PNSGDEvent(Event):
    """The last weights of projected noisy stochastic gradient descent, one record a step: always replace-one.

    ``w <- projection(w - step_size * (gradient(w, x_t) + Z))`` with Z normal of ``variance`` on each coordinate, over
    ``records`` records, ``epochs`` times in the same order. The loss is convex in w, its gradient no longer than
    ``lipschitz``, and itself Lipschitz with constant ``smoothness``; steps up to ``2 / smoothness`` are contractions.
    ``diameter`` is that of the convex set of the projection, if it is bounded. ``order="secret permutation"`` is one
    uniformly random order, drawn before the first epoch; ``stop="secret uniform"`` (one epoch) ends after a uniformly
    random number of steps from 1 to ``records``. Neither is ever published.

    >>> PNSGDEvent(records=1000, step_size="0.1", lipschitz=1, smoothness=1, variance=4)
    PNSGDEvent(records=1000, step_size='0.1', lipschitz=1, smoothness=1, variance=4, adjacency=ReplaceOne,
               arithmetic='real')
    """

    records: int
    step_size: Fraction
    lipschitz: Fraction
    smoothness: Fraction
    variance: Fraction
    epochs: int = 1
    diameter: Fraction | None = None
    order: Literal["fixed", "secret permutation"] = "fixed"
    stop: Literal["fixed", "secret uniform"] = "fixed"

    def __init__(  # noqa: PLR0913 - the parameters of the algorithm
        self,
        *,
        records: int,
        step_size: Exact,
        lipschitz: Exact,
        smoothness: Exact,
        variance: Exact,
        epochs: int = 1,
        diameter: Exact | None = None,
        order: Literal["fixed", "secret permutation"] = "fixed",
        stop: Literal["fixed", "secret uniform"] = "fixed",
        adjacency: Adjacency = ReplaceOne,
        unit: str = "row",
        arithmetic: Arithmetic = "real",
    ) -> None:
        self._set_scope(adjacency, unit, arithmetic)
        _check_real_arithmetic(self.arithmetic)
        self._set(
            records=exact_integer(records, name="records"),
            step_size=exact_positive(step_size, name="step_size"),
            lipschitz=exact_positive(lipschitz, name="lipschitz"),
            smoothness=exact_non_negative(smoothness, name="smoothness"),
            variance=exact_positive(variance, name="variance"),
            epochs=exact_integer(epochs, name="epochs"),
            diameter=None if diameter is None else exact_positive(diameter, name="diameter"),
            order=_check_choice(order, ("fixed", "secret permutation"), name="order"),
            stop=_check_choice(stop, ("fixed", "secret uniform"), name="stop"),
        )
        self._check()

    def _check(self) -> None:
        if self.adjacency is not ReplaceOne:
            raise ParameterError("core.iteration_needs_replace_one")
        if self.records * self.epochs > _MAX_STEPS:
            raise ParameterError("core.too_many_record_visits", product=safe_repr(self.records * self.epochs))
        if self.step_size * self.smoothness > 2:
            raise ParameterError(
                "core.step_size_too_large", most=float(2 / self.smoothness), step_size=float(self.step_size)
            )
        if self.stop != "fixed" and self.epochs > 1:
            raise ParameterError("core.secret_stop_needs_one_epoch", epochs=safe_repr(self.epochs))


def _check_real_arithmetic(arithmetic: str) -> None:
    if arithmetic != "real":
        raise ParameterError("core.iteration_needs_real_arithmetic", arithmetic=safe_repr(arithmetic))


def _check_choice(value: object, choices: tuple[str, ...], *, name: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(
            "core.unknown_choice", name=name, known=", ".join(map(repr, choices)), value=safe_repr(value)
        )
    return exact_text(value, name=name)


def _exact_runs(steps: object) -> tuple[Run, ...]:
    if isinstance(steps, str) or not isinstance(steps, Sequence) or not 1 <= len(steps) <= _MAX_RUNS:
        raise ParameterError("core.steps_not_a_list", most=_MAX_RUNS, steps=safe_repr(steps))
    runs: list[Run] = []
    for step in steps:
        shift, size, count = _exact_run(step)
        if runs and runs[-1][:2] == (shift, size):  # one way to write down one iteration
            count += runs.pop()[2]
        runs.append((shift, size, count))
    if (total := sum(count for _, _, count in runs)) > _MAX_STEPS:
        raise ParameterError("core.too_many_steps", total=safe_repr(total))
    return tuple(runs)


def _exact_run(step: object) -> Run:
    if isinstance(step, str) or not isinstance(step, Sequence) or len(step) != 3:
        raise ParameterError("core.step_not_three_numbers", step=safe_repr(step))
    shift, size, count = step
    return (
        exact_non_negative(shift, name="shift"),
        exact_positive(size, name="size"),
        exact_integer(count, name="count"),
    )
