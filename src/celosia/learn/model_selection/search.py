"""Private search: try settings of a model on records that were held out, and keep the best, for one known price.

Each run takes a candidate at random, fits it on one part of the records and scores it, with noise, on the other. A
record is in one part only, so a run costs no more than its fit or its score. How often this is done is random, drawn
from a known law and kept secret, and only the best run is released: the whole is one ``PrivateSelectionEvent``, a small
multiple of one run, however many candidates there are (Liu and Talwar 2019; Papernot and Steinke 2022). So there is no
table of all results, the number of runs is secret, and the best model is not fitted again. Who may watch the clock
learns the number of runs, which the guarantee does not cover.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.base.estimator import PrivateEstimator
from celosia.learn.base.reading import public_classes, read_features, read_labels, read_target, read_values
from celosia.learn.base.summaries import SummaryEstimator
from celosia.learn.linear_model.logistic import LogisticRegression
from celosia.learn.model_selection.held_out import scoring_for
from celosia.learn.model_selection.search_plan import (
    Plan,
    candidates_of,
    exact_repetitions,
    exact_share,
    made_up,
    made_up_target,
    no_records,
    with_settings,
)
from celosia.learn.model_selection.search_price import Run, affordable
from celosia.learn.privacy.parameters import feature_kinds
from celosia.ledger.budget_account import as_account
from celosia.mechanisms.repetition import one_of
from celosia.noise.source import Seeded

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.learn.base.forecast import Forecast


def _the_best_has(name: str) -> Callable[[Any], bool]:
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


@dataclass(eq=False, repr=False)
class PrivateSearchCV(MetaEstimatorMixin, PrivateEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Find good settings of a private estimator, and a model fitted with them, within one budget.

    Parameters
    ----------
    estimator
        A private classifier or regressor with public ``bounds`` (and ``bounds_y`` or ``classes``); its own epsilon,
        budget and source are set aside.
    param_grid
        Names of parameters and lists of values to try, or a list of such grids: as for ``GridSearchCV``.
    epsilon, delta, rho
        What the whole search may spend. With a delta, runs have Gaussian noise.
    repetitions
        The mean number of runs, or a ``Repetitions``; twice the number of candidates by default.
    holdout
        The share of records that models are scored on.
    scoring
        ``"accuracy"`` or ``"brier"`` for classifiers, ``"squared error"`` or ``"absolute error"`` (relative to the
        range of the target) for regressors; ``"auto"`` is the first of the two.

    Examples
    --------
    >>> import numpy as np
    >>> from celosia.learn import LogisticRegression, PrivateSearchCV
    >>> x = np.tile([[0.1], [0.9]], (500, 1))
    >>> y = np.tile([0, 1], 500)
    >>> model = LogisticRegression(bounds=(0, 1), classes=[0, 1])
    >>> search = PrivateSearchCV(model, {"fit_intercept": [True, False]}, epsilon=3, repetitions=2).fit(x, y)
    >>> search.guarantee_
    PureDP(epsilon=3)
    >>> set(search.best_params_)
    {'fit_intercept'}
    """

    estimator: Any
    param_grid: Any
    _: KW_ONLY
    repetitions: Any = None
    holdout: Any = 0.25
    scoring: str = "auto"

    best_estimator_: Any = field(init=False)
    best_params_: dict[str, Any] = field(init=False)
    best_score_: float = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Pay for the whole search, run it, and keep the best model with its noisy score."""
        with self._rollback_on_error():
            plan = self._plan(X, y)
            if plan.privacy.private:
                self._search(plan)
            else:
                self._search_plainly(plan)
        return self

    # --------------------------------------------------------------------------------------------------- the search

    def _plan(self, X: Any, y: Any) -> Plan:  # noqa: N803 - scikit-learn's names
        privacy, kind = self.find_privacy_target(), self._kind()
        candidates = candidates_of(self.estimator, self.param_grid)
        read = read_values if get_tags(self.estimator).input_tags.categorical else read_features
        values = read(self, X, reset=True)
        settings = {}
        if kind == "classifier":
            target: NDArray[Any] = read_labels(y, len(values), self)
            # Said once, for all of the records: a part of them may lack a class.
            settings["classes"] = public_classes(self.estimator.classes, y, target).tolist()
        else:
            target = read_target(y, len(values), self)
        if isinstance(self.estimator, SummaryEstimator):  # it may be stricter
            strict = with_settings(self.estimator, {"budget": self.budget})
            strict.read_data(X, y, settings.get("classes"), first=True)
        return Plan(
            privacy=privacy,
            candidates=candidates,
            settings=settings,
            scoring=scoring_for(self.scoring, kind),
            repetitions=exact_repetitions(self.repetitions, len(candidates)),
            share=exact_share(self.holdout),
            rows=X if hasattr(X, "columns") or hasattr(X, "column_names") else values,
            target=target,
        )

    def _kind(self) -> Any:
        if not isinstance(self.estimator, PrivateEstimator) or isinstance(self.estimator, PrivateSearchCV):
            raise ParameterError("learn.not_one_private_estimator", estimator=safe_repr(self.estimator))
        if is_classifier(self.estimator):
            return "classifier"
        if is_regressor(self.estimator):
            return "regressor"
        raise ParameterError("learn.estimator_without_score", estimator=safe_repr(self.estimator))

    def _search(self, plan: Plan) -> None:
        real = self._rehearse(plan)
        run = affordable(plan.privacy, plan.repetitions, plan.scoring, real=real)
        with self._spend(plan.privacy, run.event, features=self.n_features_in_) as payment:
            source = payment.source
            out = plan.coins(source)
            with warnings.catch_warnings(action="ignore"):  # one for each run would tell how many there were
                best = self._best_run(plan, run, plan.split(out), source)
            if best is None:  # the poisson law may say so: then what is shown does not depend on the data
                raise InputError("learn.search_without_runs")
            noisy, chosen, model = best
            payment.deliver(noisy)
        self._keep(chosen, model, plan.scoring.mean(noisy, int(out.sum())))
        self.noise_scale_ = run.noise.variance**0.5 / plan.scoring.steps
        # One run alone would guarantee more than the search that chose it.
        self.best_estimator_.event_, self.best_estimator_.guarantee_ = self.event_, self.guarantee_

    def _best_run(
        self,
        plan: Plan,
        run: Run,
        parts: tuple[Any, NDArray[Any], Any, NDArray[Any]],
        source: "Source",
    ) -> tuple[NDArray[np.int64], dict[str, Any], Any] | None:
        """Run as often as the law draws, and return the noisy score, the settings and the model of the best run."""
        best = None
        part = parts[:2] if len(parts[1]) else self._made_up(plan)
        for _ in range(plan.repetitions.draw(source)):
            chosen = plan.candidates[one_of(len(plan.candidates), source)]
            model = self._fit_candidate(plan, run, chosen, part, source, empty=not len(parts[1]))
            noisy = plan.scoring.release(plan.scoring.of_records(model, *parts[2:]), run.noise, source)
            if best is None or plan.scoring.rank(noisy) > plan.scoring.rank(best[0]):
                best = noisy, chosen, model
        return best

    def _rehearse(self, plan: Plan) -> bool:
        """Fit every candidate to made-up records, before anything is paid for: a wrong parameter is refused here.

        Tell whether one of them adds noise in real numbers, which a ledger must know beforehand.
        """
        run = replace(affordable(plan.privacy, plan.repetitions, plan.scoring), real=True)
        part = self._made_up(plan)
        events = [self._fit_candidate(plan, run, one, part, Seeded(0)).event_ for one in plan.candidates]
        return any(event.arithmetic == "real" for event in events)

    def _made_up(self, plan: Plan) -> tuple[Any, NDArray[Any]]:
        names = getattr(self, "feature_names_in_", None)
        kinds = getattr(self.estimator, "_kinds", partial(feature_kinds, self.estimator.bounds))
        rows = made_up(kinds(self.n_features_in_, names), names)
        return rows, made_up_target(plan.settings.get("classes"), getattr(self.estimator, "bounds_y", None))

    def _fit_candidate(
        self,
        plan: Plan,
        run: Run,
        chosen: dict[str, Any],
        part: Sequence[Any],
        source: "Source",
        *,
        empty: bool = False,
    ) -> Any:
        spending = run.spending | {"adjacency": plan.privacy.adjacency, "budget": None, "source": source}
        model = with_settings(self.estimator, chosen | plan.settings | spending)
        if isinstance(model, LogisticRegression):
            model._allows_real = self.budget is None or as_account(self.budget).allows_real  # noqa: SLF001 - our family
        with no_records(model) if empty else nullcontext():
            model.fit(*part)
        model.source = None
        if not run.covers(model.event_):
            raise ParameterError(
                "learn.candidate_not_private_enough", estimator=type(model).__name__, parameters=safe_repr(chosen)
            )
        return model

    def _search_plainly(self, plan: Plan) -> None:
        """Try every candidate, without privacy: the baseline."""
        source = Seeded(0) if self.source is None else self.source  # the same records are held out every time
        parts = plan.split(plan.coins(source))
        scored = []
        for chosen in plan.candidates:
            spending = {"epsilon": float("inf"), "delta": None, "rho": None, "budget": None}
            model = with_settings(self.estimator, chosen | plan.settings | spending).fit(*parts[:2])
            scores = plan.scoring.of_records(model, *parts[2:])
            scored.append((float(scores.mean()) / plan.scoring.steps if scores.size else 0.0, chosen, model))
        score, chosen, model = max(scored, key=lambda one: one[0])
        self._keep(chosen, model, score)
        self._mark_non_private()

    def _keep(self, chosen: dict[str, Any], model: Any, score: float) -> None:
        self.best_params_, self.best_estimator_, self.best_score_ = chosen, model, score
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_

    def preview(
        self,
        n: int,
        epsilon: Any = None,
        *,
        delta: Any = None,
        rho: Any = None,
        n_features: int | None = None,
    ) -> "Forecast":
        """Tell what one run of the search would come to: its share of the budget, and its part of the records."""
        privacy = self._forecast_target(epsilon, delta, rho)
        candidates = candidates_of(self.estimator, self.param_grid)
        model, rows = self.estimator, max(1, int(n * (1 - float(exact_share(self.holdout)))))
        if not privacy.private:
            return cast("Forecast", model.preview(rows, float("inf"), n_features=n_features))
        repetitions = exact_repetitions(self.repetitions, len(candidates))
        run = affordable(privacy, repetitions, scoring_for(self.scoring, self._kind()))
        spending = {name: value for name, value in run.spending.items() if value is not None}
        return cast("Forecast", model.preview(rows, **spending, n_features=n_features))

    # ------------------------------------------------------------------------------------------- the model it found

    @available_if(_the_best_has("predict"))  # type: ignore[untyped-decorator] # scikit-learn ships no types
    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803 - scikit-learn's names
        """Predict with the best model."""
        return np.asarray(self._best().predict(X))

    @available_if(_the_best_has("predict_proba"))  # type: ignore[untyped-decorator] # scikit-learn ships no types
    def predict_proba(self, X: Any) -> NDArray[Any]:  # noqa: N803 - scikit-learn's names
        """Return the best model's probabilities of the classes."""
        return np.asarray(self._best().predict_proba(X))

    @available_if(_the_best_has("predict_log_proba"))  # type: ignore[untyped-decorator] # scikit-learn ships no types
    def predict_log_proba(self, X: Any) -> NDArray[Any]:  # noqa: N803 - scikit-learn's names
        """Return the logarithms of the best model's probabilities of the classes."""
        return np.asarray(self._best().predict_log_proba(X))

    @available_if(_the_best_has("decision_function"))  # type: ignore[untyped-decorator] # scikit-learn ships no types
    def decision_function(self, X: Any) -> NDArray[Any]:  # noqa: N803 - scikit-learn's names
        """Return the best model's decision function."""
        return np.asarray(self._best().decision_function(X))

    @available_if(_the_best_has("score"))  # type: ignore[untyped-decorator] # scikit-learn ships no types
    def score(self, X: Any, y: Any) -> float:  # noqa: N803 - scikit-learn's names
        """Return the best model's own score on other records; on private ones it is not private."""
        return float(self._best().score(X, y))

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def save(self, path: Any) -> None:
        """Write the best model to a file, with the guarantee of the whole search."""
        self._best().save(path)

    def card(self, format: str = "markdown") -> str:  # noqa: A002 - the field's word
        """Return the card of the best model, with the guarantee of the whole search."""
        return str(self._best().card(format=format))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.target_tags.required = True
        return tags
