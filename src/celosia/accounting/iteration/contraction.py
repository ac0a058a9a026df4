"""Amplification by iteration: the cost of a noisy iteration whose steps stay secret and whose end is released.

Two runs on neighbouring data drift apart by at most s_t in step t; contractions never widen the gap, and every noise
hides a part of it (Feldman, Mironov, Talwar and Thakurta 2018; Estrada Franco 2025, theorems 5.3 and 5.4;
proofs/iteration.md). All of this is about real-valued noise, and the events are marked so. `release_every_step` gives
the event of the same run with noise on a grid and every step released, which needs no real-valued noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np

from celosia.accounting.checks import check_orders
from celosia.accounting.iteration.allocation import gaussian_allocation, gaussian_rho, laplace_allocation, laplace_price
from celosia.accounting.iteration.pnsgd import pnsgd_curve, record_rhos
from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.enclosure import root_at_least
from celosia.core.errors import NotPricedError, ParameterError
from celosia.core.events import Event, GaussianEvent, LaplaceEvent
from celosia.core.exact import Exact, double_at_least, exact_integer, exact_positive, safe_repr
from celosia.core.iterations import ContractiveIterationEvent, PNSGDEvent
from celosia.core.structure import ComposedEvent, RepeatedEvent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_SAFE = 1 + 1e-12  # far above the rounding of a product
_FINENESS = 2**10  # steps of the grid per shift and coordinate: rounding costs less than 0.1 %


def iteration_curve(event: Event, orders: "ArrayLike") -> "NDArray[np.float64]":
    """Return upper bounds of the Rényi divergence of an iteration at these orders, all above 1."""
    return _finite(_curve(event, check_orders(orders)))


def _finite(curve: "NDArray[np.float64]") -> "NDArray[np.float64]":
    if not np.isfinite(curve).all():
        raise ParameterError("accounting.orders_too_large_for_noise")
    return curve


def _multiply_rho(rho: float, orders: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the Rényi curve of a zCDP guarantee: rho times each order, rounded up."""
    with np.errstate(over="ignore"):
        return orders * (rho * _SAFE)


@singledispatch
def _curve(event: object, _orders: "NDArray[np.float64]") -> "NDArray[np.float64]":
    raise NotPricedError("accounting.event_not_an_iteration", type=type(event).__name__)


@_curve.register(ContractiveIterationEvent)
def _(event: ContractiveIterationEvent, orders: "NDArray[np.float64]") -> "NDArray[np.float64]":
    if event.noise == "gaussian":
        return _multiply_rho(double_at_least(gaussian_rho(event.steps, event.start)), orders)
    return np.array([laplace_price(order, event.steps, event.start) for order in orders.tolist()])


@_curve.register(PNSGDEvent)
def _(event: PNSGDEvent, orders: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return pnsgd_curve(event, orders)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class ContractiveIteration:
    """The iteration X_t = phi_t(X_{t-1}) + Z_t, priced with the best allocation of its shifts to its noises.

    ``shifts`` are the s_1 … s_T, ``variances`` (of normal noise) or ``scales`` (of Laplace noise) the noises; one
    number stands for all steps, and ``counts`` is how often each step occurs, by default once.

    >>> run = ContractiveIteration(shifts=[1, 0], variances=4, counts=[1, 999])
    >>> run.renyi([2.0]).round(6), run.allocation()
    (array([0.00025]), ((Fraction(1, 1000), 1), (Fraction(1, 1000), 999)))
    """

    event: ContractiveIterationEvent

    def __init__(
        self,
        *,
        shifts: Exact | Sequence[Exact],
        variances: Exact | Sequence[Exact] | None = None,
        scales: Exact | Sequence[Exact] | None = None,
        counts: int | Sequence[int] = 1,
        start: Exact = 0,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        sizes = variances if scales is None else scales
        if sizes is None or (variances is not None and scales is not None):
            raise ParameterError("accounting.variances_or_scales")
        event = ContractiveIterationEvent(
            steps=_list_steps(shifts, sizes, counts),
            noise="gaussian" if scales is None else "laplace",
            start=start,
            adjacency=adjacency,
            unit=unit,
        )
        object.__setattr__(self, "event", event)

    def renyi(self, orders: "ArrayLike") -> "NDArray[np.float64]":
        """Return upper bounds of the Rényi divergence of the last states, at these orders.

        >>> ContractiveIteration(shifts=[1, 1], scales=1).renyi([2.0]).round(6)
        array([1.238247])
        """
        return iteration_curve(self.event, orders)

    def allocation(self, alpha: float = 2.0) -> tuple[tuple[Fraction, int], ...]:
        """Return the amount hidden in each step, with the step's count, best for the order ``alpha`` (Gaussian: any).

        >>> ContractiveIteration(shifts=[3, 0], variances=[1, 2]).allocation()
        ((Fraction(1, 1), 1), (Fraction(2, 1), 1))
        """
        event = self.event
        if not alpha > 1:
            raise ParameterError("accounting.alpha_not_above_one", alpha=safe_repr(alpha))
        gaussian = event.noise == "gaussian"
        amounts = (
            gaussian_allocation(event.steps, event.start)
            if gaussian
            else laplace_allocation(float(alpha), event.steps, event.start)
        )
        return tuple((amount, count) for amount, (_, _, count) in zip(amounts, event.steps, strict=True))


def _list_steps(
    shifts: Exact | Sequence[Exact], sizes: Exact | Sequence[Exact], counts: int | Sequence[int]
) -> list[tuple[Exact, Exact, int]]:
    """Return (shift, size, count) of each step, from lists of equal length; a single number is repeated."""
    lengths = sorted({len(column) for column in (shifts, sizes, counts) if _is_list(column)} or {1})
    if len(lengths) > 1:
        raise ParameterError("accounting.step_lengths_differ", lengths=", ".join(map(str, lengths)))
    columns = [column if _is_list(column) else [column] * lengths[0] for column in (shifts, sizes, counts)]
    return list(zip(*columns, strict=True))


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return hasattr(value, "__len__") and not isinstance(value, str)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class PNSGD:
    """Projected noisy stochastic gradient descent, as in `PNSGDEvent`, with normal noise of ``sigma`` on the gradients.

    >>> run = PNSGD(records=1000, step_size="0.1", lipschitz=1, smoothness=1, sigma=2)
    >>> run.renyi([2.0]).round(6), run.record(1, [2.0]).round(6)
    (array([1.]), array([0.001]))
    """

    event: PNSGDEvent

    def __init__(  # noqa: PLR0913 - the parameters of the algorithm
        self,
        *,
        records: int,
        step_size: Exact,
        lipschitz: Exact,
        smoothness: Exact,
        sigma: Exact,
        epochs: int = 1,
        diameter: Exact | None = None,
        order: Literal["fixed", "secret permutation"] = "fixed",
        stop: Literal["fixed", "secret uniform"] = "fixed",
        unit: str = "row",
    ) -> None:
        event = PNSGDEvent(
            records=records,
            step_size=step_size,
            lipschitz=lipschitz,
            smoothness=smoothness,
            variance=exact_positive(sigma, name="sigma") ** 2,
            epochs=epochs,
            diameter=diameter,
            order=order,
            stop=stop,
            unit=unit,
        )
        object.__setattr__(self, "event", event)

    def renyi(self, orders: "ArrayLike") -> "NDArray[np.float64]":
        """Return upper bounds of the Rényi divergence of the last weights, for every record, at these orders.

        >>> run = PNSGD(records=1000, step_size=1, lipschitz=1, smoothness=1, sigma=2, stop="secret uniform")
        >>> run.renyi([2.0]).round(6)
        array([0.008527])
        """
        return iteration_curve(self.event, orders)

    def record(self, position: int, orders: "ArrayLike") -> "NDArray[np.float64]":
        """Return the bounds for the record that is used at ``position`` of each epoch, if order and stop are known.

        >>> PNSGD(records=1000, step_size=1, lipschitz=1, smoothness=1, sigma=2).record(991, [2.0]).round(6)
        array([0.1])
        """
        return _finite(_multiply_rho(float(record_rhos(self.event, [position])[0]), check_orders(orders)))


def release_every_step(event: Event, *, grid: Exact | None = None, dimension: int = 1) -> Event:
    """Return the event of the same run with noise on a grid and every step released, priced by composition alone.

    States have ``dimension`` coordinates and are rounded to multiples of ``grid`` (a thousandth of each shift when left
    out) before the noise; the sensitivity pays for that. Steps in which neighbours do not differ are free.

    >>> event = PNSGDEvent(records=9, step_size=1, lipschitz=1, smoothness=1, variance=4, epochs=3)
    >>> release_every_step(event, grid=0.5)
    RepeatedEvent(event=GaussianEvent(variance=16, sensitivity_squared=25, grid=0.5, adjacency=ReplaceOne), times=3)
    """
    size = exact_integer(dimension, name="dimension")
    step = None if grid is None else exact_positive(grid, name="grid")
    if isinstance(event, PNSGDEvent):
        return _repeated(_step(event, 2 * event.lipschitz, event.variance, step, size), event.epochs)
    if not isinstance(event, ContractiveIterationEvent):
        raise ParameterError("accounting.not_an_iteration", event=safe_repr(event))
    (shift, noise, count), *others = event.steps
    first = [(shift + event.start, noise, 1), (shift, noise, count - 1)] if event.start else [(shift, noise, count)]
    runs = [run for run in (*first, *others) if run[0] > 0 and run[2] > 0]
    parts = [_repeated(_step(event, *run[:2], step, size), run[2]) for run in runs]
    if not parts:
        return _step(event, shift, noise, step, size)
    return parts[0] if len(parts) == 1 else ComposedEvent(events=parts)


def _repeated(event: Event, times: int) -> Event:
    return event if times == 1 else RepeatedEvent(event=event, times=times)


def _step(
    event: ContractiveIterationEvent | PNSGDEvent, shift: Fraction, noise: Fraction, grid: Fraction | None, size: int
) -> Event:
    laplace = isinstance(event, ContractiveIterationEvent) and event.noise == "laplace"
    spread = Fraction(size) if laplace else root_at_least(Fraction(size))  # rounding moves each coordinate by a step
    step = grid or _power_at_most((shift or Fraction(1)) / (_FINENESS * spread))
    moved = shift / step + spread if shift else Fraction(0)
    if laplace:
        return LaplaceEvent(
            scale=noise / step,
            sensitivity=moved,
            grid=step,
            dimension=size,
            adjacency=event.adjacency,
            unit=event.unit,
        )
    return GaussianEvent(
        variance=noise / step**2,
        sensitivity_squared=moved**2,
        grid=step,
        dimension=size,
        adjacency=event.adjacency,
        unit=event.unit,
    )


def _power_at_most(number: Fraction) -> Fraction:
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length())
    return power if power <= number else power / 2
