"""Linear regression and ridge regression, from noisy sums of products: one pass, one joint noise.

How a line is learned is in ``private_line``. Other methods are there to be compared with: adaptive sufficient
statistics as published (Wang 2018) and the functional mechanism (Zhang, Zhang, Xiao, Yang and Winslett 2012).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.linear_model.private_line import PrivateLine

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.core.exact import Exact


class LinearRegression(PrivateLine):
    """Private least squares, used like scikit-learn's.

    Directions in which the noise hides the features are damped (see ``noisy_moments``), so with few rows or a small
    epsilon the line becomes flat, at the noisy mean.

    Parameters
    ----------
    epsilon, delta, rho
        What may be spent: epsilon alone (Laplace noise), epsilon and delta, or rho (Gaussian noise);
        ``epsilon=float("inf")`` is scikit-learn's regression, without privacy.
    bounds, bounds_y
        (low, high) of the features and of the target, public. Values outside are clipped.
    method
        ``"auto"``; ``"adassp"`` (Wang 2018), ``"functional"`` (Zhang et al. 2012), ``"seed"`` (the latter with the
        looser constant 2(d + 1)^2 and no repair of the noisy polynomial).
    fit_intercept
        Whether the line may miss the origin.
    adjacency, budget, source
        Which neighbours are protected; who pays; where the noise comes from.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> y = 3 * X[:, 0] + 5
    >>> model = LinearRegression(epsilon=1, bounds=(0, 10), bounds_y=(0, 40), source=Seeded(7)).fit(X, y)
    >>> model.predict([[5.0]]).round(), model.guarantee_
    (array([20.]), PureDP(epsilon=1))
    >>> (low, _), (high, _) = model.confidence_interval(0.95)
    >>> bool(low[0] < 3 < high[0])
    True
    """

    _methods = ("auto", "adassp", "functional", "seed")

    def __init__(  # noqa: PLR0913 - the parameters of an estimator
        self,
        *,
        epsilon: "Exact | None" = 1.0,
        delta: "Exact | None" = None,
        rho: "Exact | None" = None,
        bounds: Any = None,
        bounds_y: Any = None,
        method: str = "auto",
        fit_intercept: bool = True,
        adjacency: "Adjacency | str | None" = None,
        budget: Any = None,
        source: "Source | None" = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.bounds_y = bounds_y
        self.method = method
        self.fit_intercept = fit_intercept
        self.adjacency = adjacency
        self.budget = budget
        self.source = source


class Ridge(PrivateLine):
    """Private ridge regression, used like scikit-learn's: least squares plus ``alpha`` times the squared coefficients.

    The penalty is in scikit-learn's units and comes on top of what the noise asks for. Other parameters are those of
    ``LinearRegression``.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> y = 3 * X[:, 0] + 5
    >>> Ridge(alpha=1e8, epsilon=1, bounds=(0, 10), bounds_y=(0, 40), source=Seeded(7)).fit(X, y).coef_.round(1)
    array([0.])
    """

    _methods = ("auto", "adassp")

    def __init__(  # noqa: PLR0913 - the parameters of an estimator
        self,
        *,
        alpha: float = 1.0,
        epsilon: "Exact | None" = 1.0,
        delta: "Exact | None" = None,
        rho: "Exact | None" = None,
        bounds: Any = None,
        bounds_y: Any = None,
        method: str = "auto",
        fit_intercept: bool = True,
        adjacency: "Adjacency | str | None" = None,
        budget: Any = None,
        source: "Source | None" = None,
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.bounds_y = bounds_y
        self.method = method
        self.fit_intercept = fit_intercept
        self.adjacency = adjacency
        self.budget = budget
        self.source = source

    @property
    def _penalty(self) -> float:
        alpha: object = self.alpha
        if (
            isinstance(alpha, bool)
            or not isinstance(alpha, int | float | np.integer | np.floating)
            or not 0 <= alpha < float("inf")
        ):
            raise ParameterError(f"alpha must be a number of 0 or more, not {safe_repr(alpha)}.")
        return float(alpha)
