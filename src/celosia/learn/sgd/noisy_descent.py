"""Projected noisy stochastic gradient descent, of which only the last weights are released.

One record a step: w <- projection(w - step * (gradient + Z)), Z normal of standard deviation sigma. Contractions never
widen the gap between two runs and every later noise hides a part of it, so a record that is used k steps before the end
has D_alpha <= 2 alpha L^2 / (sigma^2 k) (Feldman, Mironov, Talwar and Thakurta 2018; proofs/pnsgd.md). Further epochs
cost next to nothing, and a secret order hides who came last. Those theorems are about real numbers: their event says
``arithmetic="real"``. With ``amplification="none"`` gradients and noise are integers, every step counts as
released, and the price is plain composition.
"""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import EngineError, InputError, ParameterError
from celosia.core.exact import Exact, exact_integer, exact_positive, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, RenyiDP
from celosia.core.iterations import PNSGDEvent
from celosia.core.release import Release
from celosia.core.structure import RepeatedEvent
from celosia.learn.optimize.descent import Run, descend
from celosia.learn.optimize.losses import Loss, SquaredLoss
from celosia.learn.optimize.projections import Ball, ConvexSet
from celosia.learn.sgd.price import least_noise, record_guarantee, rho_of
from celosia.learn.sgd.unit_rows import shorten_rows
from celosia.mechanisms.gaussian import Gaussian
from celosia.mechanisms.real_gaussian import RealGaussian
from celosia.mechanisms.secret_order import secret_permutation, secret_stop
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from celosia.core import Source
    from celosia.core.events import Event

_STEPS: Final = 2**20  # of a gradient as long as the bound: rounding it moves nothing that could be seen
_MAX_NOISE: Final = 2**20  # noise, in bounds, that is still an integer number of steps in a double
_DRAWN: Final = 2**18  # noises at a time: memory stays flat
_WORK: Final = 2_000_000  # steps that are made by default
_MAX_SIGMA: Final = 2**40  # sigmas, in bounds, that are tried
_EXTREME: Final = (
    Fraction(2) ** 200
)  # squares of what is no larger are doubles, and of what is no smaller than 1 over it


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class PNSGD:
    """The optimiser: minimise a loss over records, and release the last weights alone.

    Parameters
    ----------
    records, dimension
        How many records there are and how many numbers each has; both are public (neighbours replace one record).
    sigma
        The standard deviation of the noise on each coordinate of a gradient; `calibrate` finds it for a target.
    loss, projection
        What is minimised, and the bounded convex set in which: both from public knowledge.
    step_size, epochs, lipschitz
        Chosen from public knowledge if left out: a step that balances noise and distance; as many epochs as two million
        steps are, but no more than records; and the steepest slope of the loss over the set. A smaller ``lipschitz``
        cuts slopes there, which is a convex loss still (of squares: Huber's).
    order, stop
        Whether the order of the records, or the number of steps, is drawn and kept secret.
    amplification
        ``"iteration"`` prices the last weights by the theorems on real numbers; ``"none"`` prices every step, exactly.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> run = PNSGD(records=1000, dimension=1, sigma=2, projection=Ball(1), order="fixed", epochs=1)
    >>> run.record_guarantee(1)
    ZCDP(rho=0.002000000000002..., adjacency=ReplaceOne)
    >>> run.release(np.ones((1000, 1)), np.full(1000, 0.5), source=Seeded(7)).value.shape
    (1,)
    """

    records: int
    dimension: int
    sigma: Fraction
    loss: Loss
    projection: ConvexSet
    step_size: Fraction | None
    epochs: int | None
    lipschitz: Fraction | None
    order: Literal["fixed", "secret permutation"]
    stop: Literal["fixed", "secret uniform"]
    amplification: Literal["iteration", "none"]
    unit: str

    def __init__(  # noqa: PLR0913 - the parameters of the algorithm
        self,
        *,
        records: int,
        dimension: int,
        sigma: Exact,
        loss: Loss | None = None,
        projection: ConvexSet | None = None,
        step_size: Exact | None = None,
        epochs: int | None = None,
        lipschitz: Exact | None = None,
        order: Literal["fixed", "secret permutation"] = "secret permutation",
        stop: Literal["fixed", "secret uniform"] = "fixed",
        amplification: Literal["iteration", "none"] = "iteration",
        unit: str = "row",
    ) -> None:
        values = {
            "records": exact_integer(records, name="records"),
            "dimension": exact_integer(dimension, name="dimension"),
            "sigma": exact_positive(sigma, name="sigma"),
            "loss": _a(loss, Loss, SquaredLoss(), "loss"),
            "projection": _a(projection, ConvexSet, Ball(1), "projection"),
            "step_size": None if step_size is None else exact_positive(step_size, name="step_size"),
            "epochs": None if epochs is None else exact_integer(epochs, name="epochs"),
            "lipschitz": None if lipschitz is None else exact_positive(lipschitz, name="lipschitz"),
            "order": _one_of(order, ("fixed", "secret permutation"), "order"),
            "stop": _one_of(stop, ("fixed", "secret uniform"), "stop"),
            "amplification": _one_of(amplification, ("iteration", "none"), "amplification"),
            "unit": unit,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        """Refuse what the event or the set refuses, before there are data."""
        size = self.projection.diameter(self.dimension)
        for name, value in {"sigma": self.sigma, "lipschitz": self.bound}.items():
            if not 1 / _EXTREME <= value <= _EXTREME:
                raise ParameterError("learn.number_out_of_range", name=name, value=safe_repr(value))
        if not 1 / _EXTREME <= size <= _EXTREME:
            raise ParameterError("learn.set_diameter_out_of_range", value=safe_repr(size))
        if self.stop != "fixed" and self.passes > 1:
            raise ParameterError("core.secret_stop_needs_one_epoch", epochs=safe_repr(self.epochs))
        if self.amplification == "none" and self.sigma > _MAX_NOISE * self.bound:
            raise ParameterError("learn.sigma_too_large", bound=float(self.bound), sigma=float(self.sigma))
        self.projection.shape(self.dimension)
        self.event  # noqa: B018 - its own checks

    # ------------------------------------------------------------------------------------------- public parameters

    @property
    def bound(self) -> Fraction:
        """The length of the longest gradient: what slopes are cut at."""
        steepest = self.loss.lipschitz(self.projection.reach(self.dimension))
        return steepest if self.lipschitz is None else min(steepest, self.lipschitz)

    @property
    def passes(self) -> int:
        """How often every record is used."""
        if self.epochs is not None:
            return self.epochs
        if self.stop != "fixed" or self.amplification == "none":  # where every use costs as much as the first
            return 1
        return max(1, min(self.records, _WORK // self.records))

    @property
    def step(self) -> Fraction:
        """The length of a step: given, or the one that balances the way to go with noise, at most 1 / smoothness."""
        if self.step_size is not None:
            return self.step_size
        far = float(self.projection.diameter(self.dimension)) / 8  # minimisers are seldom at the edge
        rough = self.dimension * float(self.sigma) ** 2 + float(self.bound) ** 2
        step = far / math.sqrt(self.records * self.passes * rough)
        return min(Fraction(step), 1 / self.loss.smoothness)

    @property
    def event(self) -> "Event":
        """What a release runs, known before anything is read.

        >>> PNSGD(records=9, dimension=2, sigma=4, amplification="none", epochs=3).event
        RepeatedEvent(event=GaussianEvent(variance=4398046511104, sensitivity_squared=4398046511104,
                      dimension=2, adjacency=ReplaceOne), times=3)
        """
        if self.amplification == "none":
            event = replace(self._gaussian, dimension=self.dimension).event
            return event if self.passes == 1 else RepeatedEvent(event=event, times=self.passes)
        return PNSGDEvent(
            records=self.records,
            step_size=self.step,
            lipschitz=self.bound,
            smoothness=self.loss.smoothness,
            variance=self.sigma**2,
            epochs=self.passes,
            diameter=self.projection.diameter(self.dimension),
            order=self.order,
            stop=self.stop,
            unit=self.unit,
        )

    @property
    def _gaussian(self) -> Gaussian:
        """The noise in whole steps: two gradients are at most twice the bound apart."""
        return Gaussian(
            sigma=self.sigma * _STEPS / self.bound,
            sensitivity_squared=4 * _STEPS**2,
            adjacency=ReplaceOne,
            unit=self.unit,
        )

    @property
    def guarantee(self) -> ZCDP:
        """The guarantee of the last weights at every order. Of a secret order or stop the accountants know more.

        >>> PNSGD(records=100, dimension=1, sigma=4, epochs=1).guarantee
        ZCDP(rho=0.5000000000005..., adjacency=ReplaceOne)
        """
        return rho_of(self.event)

    def record_guarantee(self, position: int) -> ZCDP:
        """Return the guarantee of the record at a place of a fixed order, the first being 1: theorem 5.4.

        >>> run = PNSGD(records=100, dimension=1, sigma=4, epochs=1, order="fixed")
        >>> [round(float(run.record_guarantee(place).rho), 4) for place in (1, 91, 100)]
        [0.005, 0.05, 0.5]
        """
        return record_guarantee(self.event, position)

    # ---------------------------------------------------------------------------------------------- calibration

    @classmethod
    def calibrate(cls, target: Guarantee, **run: Any) -> "PNSGD":
        """Return the run with the smallest sigma, to a thousandth, that keeps a target.

        ``target`` is a (epsilon, delta), a rho or a Rényi curve, always for `ReplaceOne`.

        >>> from celosia.core import ReplaceOne
        >>> target = ZCDP(rho="0.5", adjacency=ReplaceOne)
        >>> round(float(PNSGD.calibrate(target, records=100, dimension=1, epochs=1).sigma), 2)
        4.0
        """
        if not isinstance(target, ApproxDP | ZCDP | RenyiDP) or (isinstance(target, ApproxDP) and target.delta == 0):
            raise ParameterError("learn.target_without_delta", target=safe_repr(target))
        template = cls(sigma=1, unit=target.unit, **run)
        if target.adjacency is not template.event.adjacency:
            raise ParameterError("learn.descent_needs_replace_one")
        return replace(template, sigma=_least_sigma(template, target))

    # --------------------------------------------------------------------------------------------------- running

    def release(
        self, rows: "ArrayLike", targets: "ArrayLike", *, source: "Source | None" = None
    ) -> "Release[NDArray[np.float64]]":
        """Return the last weights. Rows longer than 1 are scaled down to it, targets cut at -1 and 1.

        >>> from celosia.noise import Seeded
        >>> run = PNSGD(records=2, dimension=1, sigma=1)
        >>> run.release([[1.0], [1.0]], [0.5, 0.5], source=Seeded(7)).event.arithmetic
        'real'
        """
        values, wanted = _doubles(rows), _doubles(targets)
        if values.shape != (self.records, self.dimension) or wanted.shape != (self.records,):
            raise InputError("learn.descent_shape_mismatch", records=self.records, dimension=self.dimension)
        if not (np.isfinite(values).all() and np.isfinite(wanted).all()):
            raise InputError("learn.rows_not_finite")
        drawn = source_or_system(source)
        weights = self._last(shorten_rows(values), np.clip(wanted, -1.0, 1.0), drawn)
        return Release(value=weights, event=self.event, guarantee=self.guarantee, seeded=drawn.seeded)

    def _last(
        self, rows: "NDArray[np.float64]", targets: "NDArray[np.float64]", source: "Source"
    ) -> "NDArray[np.float64]":
        """Run all steps; weights on the way are overwritten, also on failure, and never released."""
        weights = self.projection.project(np.zeros(self.dimension))
        kept, failed = weights.copy(), False
        try:
            self._steps(rows, targets, weights, kept, source)
        except Exception:  # noqa: BLE001 - raised below, where no frame with weights is attached to it
            failed = True
        finally:
            weights.fill(0.0)
        if failed:
            kept.fill(0.0)
            raise EngineError("learn.descent_failed")
        return kept

    def _steps(
        self,
        rows: "NDArray[np.float64]",
        targets: "NDArray[np.float64]",
        weights: "NDArray[np.float64]",
        kept: "NDArray[np.float64]",
        source: "Source",
    ) -> None:
        order = np.arange(self.records) if self.order == "fixed" else secret_permutation(self.records, source=source)
        total = self.records * self.passes
        stop = total if self.stop == "fixed" else secret_stop(self.records, source=source)
        most = _STEPS if self.amplification == "none" else 0
        shape = self.projection.shape(self.dimension)
        run = Run(float(self.step), float(self.bound), most, self.loss.numbers, shape)
        own = {"slope": self.loss.compiled_slope, "project": self.projection.compiled_projection}
        for begin, end in _chunks(total, max(1, _DRAWN // self.dimension), stop):
            noise = self._noise(end - begin, source)
            descend(rows, targets, order[np.arange(begin, end) % self.records], noise, weights, run, **own)
            if end == stop:  # what comes after a secret stop is run as well, so that the time does not tell it
                np.copyto(kept, weights, where=np.isfinite(weights))

    def _noise(self, steps: int, source: "Source") -> "NDArray[np.float64]":
        """Draw a row of noise for each step: integer numbers of steps, or real numbers."""
        if self.amplification == "iteration":
            return RealGaussian(self.sigma).sample((steps, self.dimension), source=source)
        whole_steps = self._gaussian.release(np.zeros((steps, self.dimension), dtype=np.int64), source=source).value
        return np.asarray(whole_steps, dtype=np.float64)


@lru_cache(maxsize=256)
def _least_sigma(template: PNSGD, target: Guarantee) -> Fraction:
    """Return nearly the least sigma that keeps a target; equal fits ask only once."""
    bound = template.bound
    most = _MAX_NOISE if template.amplification == "none" else _MAX_SIGMA

    def event(sigma: float) -> "Event":
        return replace(template, sigma=Fraction(sigma) * bound).event

    return Fraction(least_noise(event, target, most)) * bound


def _chunks(total: int, size: int, stop: int) -> list[tuple[int, int]]:
    """Return ranges of steps, none across the stop."""
    ends = sorted({*range(0, total, size), stop, total})
    return list(itertools.pairwise(ends))


def _doubles(values: "ArrayLike") -> "NDArray[np.float64]":
    """Return an array of doubles; what cannot be one is not quoted."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    raise InputError("learn.rows_not_numbers")


def _a(value: Any, kind: type, default: object, name: str) -> Any:
    if value is None:
        return default
    if not isinstance(value, kind):
        raise ParameterError(
            "learn.wrong_type", name=name, kind=kind.__name__, default=repr(default), value=safe_repr(value)
        )
    return value


def _one_of(value: object, choices: tuple[str, ...], name: str) -> object:
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(
            "core.unknown_choice", name=name, known=", ".join(map(repr, choices)), value=safe_repr(value)
        )
    return value
