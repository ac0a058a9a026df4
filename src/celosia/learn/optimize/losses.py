"""Losses for projected noisy gradient descent: convex functions of a prediction w·x and a target.

With rows no longer than 1 the gradient is the slope of the loss times the row, so it is no longer than the steepest
slope (``lipschitz``), and changes no faster with the weights than the slope with the prediction (``smoothness``). Both
constants hold over the whole domain: rows no longer than 1, targets between -1 and 1, weights in a bounded set. They
are never read from the data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_positive, safe_repr
from celosia.learn.optimize.descent import slope_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_PROBES = np.linspace(-8.0, 8.0, 65)  # predictions at which a loss of the caller's own is tried out


class Loss(ABC):
    """What every loss can tell."""

    __slots__ = ()

    @property
    @abstractmethod
    def smoothness(self) -> Fraction:
        """How fast the slope changes with the prediction, at the most."""

    @abstractmethod
    def lipschitz(self, reach: Fraction) -> Fraction:
        """Return the steepest slope there is, for weights no longer than ``reach``."""

    @property
    @abstractmethod
    def numbers(self) -> "NDArray[np.float64]":
        """The loss as numbers for the compiled slope."""

    @property
    def compiled_slope(self) -> Any:
        """The caller's own slope, compiled; None for the losses of this module."""
        return None

    def slope(self, prediction: float, target: float) -> float:
        """Return the derivative at a prediction."""
        return float((self.compiled_slope or slope_of)(float(prediction), float(target), self.numbers))


@dataclass(frozen=True, slots=True)
class SquaredLoss(Loss):
    """Half the squared residual: least squares. In a ball of radius R no gradient is longer than R + 1."""

    @property
    def smoothness(self) -> Fraction:
        """One: the slope is the residual."""
        return Fraction(1)

    def lipschitz(self, reach: Fraction) -> Fraction:
        """Return the largest residual: a prediction of up to ``reach`` against a target of up to 1."""
        return reach + 1

    @property
    def numbers(self) -> "NDArray[np.float64]":
        """The place among the compiled slopes."""
        return np.array([0.0])

    def value(self, predictions: "ArrayLike", targets: "ArrayLike") -> "NDArray[np.float64]":
        """Return the losses of predictions."""
        residuals = np.asarray(predictions, dtype=np.float64) - np.asarray(targets, dtype=np.float64)
        return np.asarray(residuals**2 / 2)


@dataclass(frozen=True, slots=True)
class LogisticLoss(Loss):
    """The logarithm of 1 + exp(-target * prediction), for targets -1 and 1."""

    @property
    def smoothness(self) -> Fraction:
        """A quarter: the largest p(1 - p)."""
        return Fraction(1, 4)

    def lipschitz(self, reach: Fraction) -> Fraction:  # noqa: ARG002 - however long the weights
        """Return 1: a slope is a probability."""
        return Fraction(1)

    @property
    def numbers(self) -> "NDArray[np.float64]":
        """The place among the compiled slopes."""
        return np.array([1.0])

    def value(self, predictions: "ArrayLike", targets: "ArrayLike") -> "NDArray[np.float64]":
        """Return the losses of predictions."""
        margins = np.asarray(predictions, dtype=np.float64) * np.asarray(targets, dtype=np.float64)
        return np.asarray(-special.log_expit(margins))


@dataclass(frozen=True, slots=True, init=False)
class OwnLoss(Loss):
    """A loss of your own: the derivative of a convex function of the prediction, with its two constants.

    ``function`` takes a prediction and a target, both numbers, and is compiled with Numba. Slopes beyond ``lipschitz``
    are cut, so that constant always holds. That the slope never falls as the prediction rises, and rises no faster than
    ``smoothness``, is for you to know: a few points are tried, and what contradicts the claim is refused. It sees
    predictions of weights that must stay secret: it must only compute, and neither print nor keep anything.
    """

    function: Callable[..., Any]
    steepest: Fraction
    fastest: Fraction

    def __init__(self, function: Callable[..., Any], *, lipschitz: Exact, smoothness: Exact) -> None:
        if not callable(function):
            raise ParameterError("learn.loss_not_callable", function=safe_repr(function))
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "steepest", exact_positive(lipschitz, name="lipschitz"))
        object.__setattr__(self, "fastest", exact_positive(smoothness, name="smoothness"))
        self._try()

    @property
    def smoothness(self) -> Fraction:
        """What was declared."""
        return self.fastest

    def lipschitz(self, reach: Fraction) -> Fraction:  # noqa: ARG002 - as it was declared
        """Return the declared number."""
        return self.steepest

    @property
    def numbers(self) -> "NDArray[np.float64]":
        """Nothing: the slope is the caller's."""
        return np.zeros(1)

    @property
    def compiled_slope(self) -> Any:
        """The function, compiled."""
        return _compile(self.function)

    def _try(self) -> None:
        """Refuse a slope that falls, rises too fast, or is no number, at a few public points."""
        slopes = np.array([_slopes(self, target) for target in (-1.0, 0.0, 1.0)])
        if not np.isfinite(slopes).all():
            raise ParameterError("learn.loss_not_compilable")
        rises = np.diff(np.clip(slopes, -float(self.steepest), float(self.steepest)), axis=1)
        if rises.min() < -1e-9:
            raise ParameterError("learn.loss_not_convex")
        fastest = rises.max() / (_PROBES[1] - _PROBES[0])
        if fastest > float(self.fastest) * (1 + 1e-9):
            raise ParameterError("learn.smoothness_too_small", least=fastest, value=float(self.fastest))


def _slopes(loss: OwnLoss, target: float) -> list[float]:
    """Return the slopes at the probes; NaN if the function cannot be compiled or run."""
    try:
        return [float(loss.compiled_slope(float(probe), target, loss.numbers)) for probe in _PROBES]
    except Exception:  # noqa: BLE001 - whatever the caller's function raises
        return [np.nan] * len(_PROBES)


@lru_cache(maxsize=64)
def _compile(function: Callable[..., Any]) -> Any:
    from numba import njit

    own = function if hasattr(function, "py_func") else njit(function)

    @njit(nogil=True)
    def slope(prediction: float, target: float, _loss: "NDArray[np.float64]") -> float:
        return own(prediction, target)  # type: ignore[no-any-return]

    return slope
