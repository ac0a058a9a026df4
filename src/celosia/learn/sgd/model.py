"""What the two estimators of projected noisy gradient descent have in common: scaling, paying, running, forecasting.

Neighbours replace one record, so their number is public: epochs, steps and noise are chosen from it before anything is
read. The model keeps the last weights and what was run; neither weights on the way, nor the order of the records, nor
where a secret stop was.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_adjacency, exact_integer, exact_positive, safe_repr
from celosia.core.guarantees import ZCDP, Guarantee, RenyiDP
from celosia.learn.base.estimator import PrivateEstimator
from celosia.learn.base.forecast import Forecast
from celosia.learn.base.reading import read_features
from celosia.learn.optimize.losses import Loss
from celosia.learn.optimize.projections import Ball, ConvexSet
from celosia.learn.privacy.parameters import feature_kinds
from celosia.learn.sgd.noisy_descent import PNSGD
from celosia.learn.sgd.price import epsilon_of, record_guarantee, rho_of
from celosia.learn.sgd.unit_rows import UnitRows
from celosia.ledger.budget_account import as_account
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

_EVEN = 1 / 3  # the mean square of a uniform value from -1 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _CurveTarget(Target):
    """A target that is a Rényi curve."""

    curve: RenyiDP | None = None

    @property
    def private(self) -> bool:
        return True

    @property
    def guarantee(self) -> Guarantee | None:
        return self.curve


@dataclass(kw_only=True, eq=False, repr=False)
class PNSGDModel(PrivateEstimator):
    """The base of `PNSGDRegressor` and `PNSGDClassifier`.

    >>> from celosia.learn.sgd.pnsgd import PNSGDRegressor
    >>> issubclass(PNSGDRegressor, PNSGDModel)
    True
    """

    _loss: ClassVar[Loss]
    _reach: ClassVar[int]  # the radius of the default ball, in norms of a row
    renyi: RenyiDP | None = None
    sigma: Exact | None = None
    bounds: Any = None
    projection: ConvexSet | None = None
    lipschitz: Exact | None = None
    data_norm: Exact | None = None
    fit_intercept: bool = True
    step_size: Exact | None = None
    epochs: int | None = None
    order: Literal["fixed", "secret permutation"] = "secret permutation"
    stop: Literal["fixed", "secret uniform"] = "fixed"
    amplification: Literal["iteration", "none"] = "iteration"

    coef_: NDArray[np.float64] = field(init=False)
    intercept_: Any = field(init=False)
    sigma_: float = field(init=False)
    step_size_: float = field(init=False)
    lipschitz_: float = field(init=False)
    n_epochs_: int = field(init=False)

    @abstractmethod
    def _targets(self, y: Any, rows: int) -> NDArray[np.float64]:
        """Return targets between -1 and 1, checked; in the caller's units without bounds."""

    @abstractmethod
    def _keep(self, coefficients: NDArray[np.float64], constant: float) -> None:
        """Keep coefficients for features in the caller's units and targets between -1 and 1."""

    @abstractmethod
    def _fit_free(self, values: NDArray[np.float64], targets: NDArray[np.float64]) -> None:
        """Fit scikit-learn's own model, without privacy and without a set."""

    # --------------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from records: pay, run all steps, and keep the last weights."""
        with self._rollback_on_error():
            values = read_features(self, X, reset=True)
            targets = self._targets(y, len(values))
            privacy = self.find_privacy_target()
            if not privacy.private:
                return self._fit_plain(values, targets)
            scaling = self._scaling(values.shape[1])
            run, privacy = self._run(privacy, len(values), scaling)
            event = privacy.event(run.event)
            with self._spend(privacy, event, features=values.shape[1]) as payment:
                weights = run.release(scaling.rows(values), targets, source=payment.source).value
                payment.deliver(weights)
            self._keep(*scaling.coefficients(weights))
            self._tell(run)
        return self

    def _fit_plain(self, values: NDArray[np.float64], targets: NDArray[np.float64]) -> Self:
        """Find the minimum without privacy: of the set if one was given, else of all weights."""
        from celosia.learn.optimize.constrained import constrained_minimum

        if self.projection is None:
            if self.bounds is not None:
                scaling = self._scaling(values.shape[1])
                values = np.clip(values, scaling.middles - scaling.halves, scaling.middles + scaling.halves)
            self._fit_free(values, targets)
        else:
            scaling = self._scaling(values.shape[1])
            weights = constrained_minimum(scaling.rows(values), targets, self._loss, self.projection)
            self._keep(*scaling.coefficients(weights))
        self._mark_non_private()
        self.sigma_, self.step_size_, self.lipschitz_, self.n_epochs_ = 0.0, 0.0, 0.0, 0
        return self

    def _tell(self, run: PNSGD) -> None:
        self.noise_scale_ = self.sigma_ = float(run.sigma)
        self.step_size_, self.lipschitz_, self.n_epochs_ = float(run.step), float(run.bound), run.passes

    def record_guarantee(self, position: int) -> ZCDP:
        """Return the guarantee of the record at a place, the first being 1, after a fit in a fixed order."""
        check_is_fitted(self)
        if self.event_ is None:
            raise ParameterError("learn.no_guarantee_without_privacy")
        return record_guarantee(self.event_, position)

    # --------------------------------------------------------------------------------------------- public parameters

    def find_privacy_target(self) -> Target:
        """What may be spent, for neighbours that replace one record."""
        account = None if self.budget is None else as_account(self.budget)
        unit, near = ("row", ReplaceOne) if account is None else (account.budget.unit, account.budget.adjacency)
        if (near if self.adjacency is None else exact_adjacency(self.adjacency)) is not ReplaceOne:
            raise ParameterError("learn.estimator_needs_replace_one", estimator=type(self).__name__)
        if self.sigma is not None and (self.rho is not None or self.renyi is not None or self.epsilon not in (None, 1)):
            raise ParameterError("learn.sigma_not_alone")
        if self.renyi is not None:
            return self._curve(unit)
        known: dict[str, Any] = {"adjacency": ReplaceOne, "unit": unit}
        # With a sigma the epsilon follows from the noise.
        found = self._target(**known) if self.sigma is None else Target.of(epsilon=1, delta=self.delta, **known)
        if found.kind == "pure" and self.sigma is None:
            raise ParameterError("learn.missing_delta")
        return found

    def _curve(self, unit: str) -> Target:
        curve = self.renyi
        if not isinstance(curve, RenyiDP) or curve.adjacency is not ReplaceOne or curve.unit != unit:
            raise ParameterError("learn.not_a_renyi_curve", unit=repr(unit), value=safe_repr(curve))
        if self.rho is not None or self.delta is not None or self.epsilon not in (None, 1):
            raise ParameterError("learn.renyi_not_alone")
        return _CurveTarget(curve=curve, adjacency=ReplaceOne, unit=unit)

    def _scaling(self, count: int) -> UnitRows:
        kinds = feature_kinds(self.bounds, count, self._names())
        if not isinstance(self.fit_intercept, bool):
            raise ParameterError("learn.intercept_not_boolean", value=safe_repr(self.fit_intercept))
        norm = None if self.data_norm is None else float(exact_positive(self.data_norm, name="data_norm"))
        return UnitRows.of(kinds, intercept=self.fit_intercept, norm=norm)

    def _names(self) -> "Sequence[str] | None":
        return getattr(self, "feature_names_in_", None)

    def _run(self, privacy: Target, records: int, scaling: UnitRows, *, forecast: bool = False) -> tuple[PNSGD, Target]:
        """Return the run and its guarantee: the target, or what follows from a given sigma.

        A forecast for an amount of its own leaves the sigma aside.
        """
        reach = self._reach * Fraction(math.ceil(scaling.norm * 1024), 1024)
        given = {
            "records": records,
            "dimension": scaling.dimension,
            "loss": self._loss,
            "projection": Ball(reach) if self.projection is None else self.projection,
            "lipschitz": 1 if self.lipschitz is None else self.lipschitz,
            "step_size": self.step_size,
            "epochs": self.epochs,
            "order": self.order,
            "stop": self.stop,
            "amplification": self.amplification,
        }
        target = privacy.guarantee
        sigma = None if forecast else self.sigma
        if sigma is None:
            assert target is not None  # noqa: S101 - for the type checker: it is private
            return PNSGD.calibrate(target, **given), privacy
        run = PNSGD(sigma=sigma, unit=privacy.unit, **given)  # type: ignore[arg-type] # checked by PNSGD
        if privacy.delta == 0:
            return run, Target(rho=rho_of(run.event).rho, adjacency=ReplaceOne, unit=privacy.unit)
        epsilon = epsilon_of(run.event, privacy.delta)
        return run, Target(epsilon=epsilon, delta=privacy.delta, adjacency=ReplaceOne, unit=privacy.unit)

    def preview(
        self,
        n: int,
        epsilon: Exact | None = None,
        *,
        delta: Exact | None = None,
        rho: Exact | None = None,
        n_features: int | None = None,
    ) -> Forecast:
        """Return how far off a coefficient would be with ``n`` rows: noise at rest, and the way that is left to go."""
        rows, count = exact_integer(n, name="n"), self._feature_count(n_features)
        privacy, other = self.find_privacy_target(), epsilon is not None or rho is not None
        if other and isinstance(privacy, _CurveTarget):  # a curve gives way to the given target
            privacy = Target(adjacency=ReplaceOne, unit=privacy.unit)
        privacy = privacy.with_amount(epsilon, delta, rho)
        assumption = "features spread evenly between their bounds, with coefficients that fill the range together"
        what = "a coefficient, in half-ranges,"
        if not privacy.private:
            return Forecast(rows=rows, guarantee=None, noise_scale=0.0, error=0.0, what=what, assumption=assumption)
        scaling = self._scaling(count)
        run, privacy = self._run(privacy, rows, scaling, forecast=other)
        return Forecast(
            rows=rows,
            guarantee=privacy.guarantee,
            noise_scale=float(run.sigma),
            error=_expected_error(run, scaling),
            what=what,
            assumption=assumption,
        )


def _expected_error(run: PNSGD, scaling: UnitRows) -> float:
    """Return the root mean square error of a coefficient of centred features.

    Near the minimum a coordinate is drawn back by ``curvature`` in each step: its noise is that of an autoregression,
    and the way that it still has to go shrinks by the same factor.
    """
    step = float(run.step)
    drawn = step * float(run.loss.smoothness) * _EVEN / scaling.norm**2
    left = math.exp(run.records * run.passes * math.log1p(-min(drawn, 0.5)))
    noise = step * float(run.sigma) * math.sqrt((1 - left**2) / (drawn * (2 - drawn))) / scaling.norm
    reach = float(run.projection.reach(run.dimension)) / scaling.norm
    return min(math.hypot(noise, left / run.dimension), reach)
