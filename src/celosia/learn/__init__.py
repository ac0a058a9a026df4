"""Estimators in the manner of scikit-learn, trained with differential privacy.

Classifiers, regressors, clusterings and transformers that a data scientist drops into a pipeline. Their ``fit`` touches
records only through mechanisms, on integers: noisy sums that are then solved, or noisy gradients. Bounds and
labels are public and stated by the caller; a fitted estimator holds noisy numbers alone, and the event paid for.

Parameters that estimators share:

- ``epsilon``, ``delta``, ``rho``: what may be spent: epsilon alone (Laplace noise), epsilon and delta, or rho (Gaussian
  noise). ``epsilon=float("inf")`` is scikit-learn's estimator, without privacy.
- ``bounds``: (low, high) of the features, public: two numbers, two arrays, or a Schema. Values outside are clipped.
- ``classes``: the labels, public; ``"public"`` if everybody may know which occur.
- ``adjacency``, ``budget``, ``source``: which neighbours are protected; who pays; where the noise comes from.

>>> import numpy as np
>>> from celosia.learn import LinearRegression
>>> from celosia.noise import Seeded
>>> rng = np.random.default_rng(7)
>>> X = rng.uniform(0, 10, (5000, 2)); y = X @ [1, -2] + rng.normal(size=5000)
>>> model = LinearRegression(epsilon=1, bounds=(0, 10), bounds_y=(-25, 15), source=Seeded(7)).fit(X, y)
>>> model.guarantee_
PureDP(epsilon=1)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celosia.learn.base.forecast import Forecast
    from celosia.learn.charts.models import accuracy_chart, clusters_chart, fit_chart, regions_chart
    from celosia.learn.cluster.fuzzy_c_means import FuzzyCMeans
    from celosia.learn.cluster.k_means import KMeans
    from celosia.learn.decomposition.pca import PCA
    from celosia.learn.functional.functional_mechanism import FunctionalMechanism
    from celosia.learn.functional.objective import Objective
    from celosia.learn.io.model_file import load
    from celosia.learn.linear_model.linear import LinearRegression, Ridge
    from celosia.learn.linear_model.logistic import LogisticRegression
    from celosia.learn.model_selection.search import PrivateSearchCV
    from celosia.learn.naive_bayes.categorical import CategoricalNB
    from celosia.learn.naive_bayes.gaussian import GaussianNB
    from celosia.learn.optimize.projections import Ball, Box, Simplex
    from celosia.learn.preprocessing.standard_scaler import StandardScaler
    from celosia.learn.sgd.noisy_descent import PNSGD
    from celosia.learn.sgd.pnsgd import PNSGDClassifier, PNSGDRegressor

__all__ = [
    "PCA",
    "PNSGD",
    "Ball",
    "Box",
    "CategoricalNB",
    "Forecast",
    "FunctionalMechanism",
    "FuzzyCMeans",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "Objective",
    "PNSGDClassifier",
    "PNSGDRegressor",
    "PrivateSearchCV",
    "Ridge",
    "Simplex",
    "StandardScaler",
    "accuracy_chart",
    "clusters_chart",
    "fit_chart",
    "load",
    "regions_chart",
]

# scikit-learn takes a second to load, so each name is imported on first use.
_FILES = {
    "Ball": "optimize.projections",
    "Box": "optimize.projections",
    "CategoricalNB": "naive_bayes.categorical",
    "Forecast": "base.forecast",
    "FunctionalMechanism": "functional.functional_mechanism",
    "FuzzyCMeans": "cluster.fuzzy_c_means",
    "GaussianNB": "naive_bayes.gaussian",
    "KMeans": "cluster.k_means",
    "LinearRegression": "linear_model.linear",
    "LogisticRegression": "linear_model.logistic",
    "Objective": "functional.objective",
    "PCA": "decomposition.pca",
    "PNSGD": "sgd.noisy_descent",
    "PNSGDClassifier": "sgd.pnsgd",
    "PNSGDRegressor": "sgd.pnsgd",
    "PrivateSearchCV": "model_selection.search",
    "Ridge": "linear_model.linear",
    "Simplex": "optimize.projections",
    "StandardScaler": "preprocessing.standard_scaler",
    "accuracy_chart": "charts.models",
    "clusters_chart": "charts.models",
    "fit_chart": "charts.models",
    "load": "io.model_file",
    "regions_chart": "charts.models",
}


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(importlib.import_module(f"celosia.learn.{_FILES[name]}"), name)
    raise AttributeError(f"module 'celosia.learn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
