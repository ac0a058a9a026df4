"""Estimators in the manner of scikit-learn, trained with differential privacy.

Classifiers, regressors, clusterings and transformers that a data scientist drops into a pipeline. Their ``fit`` touches
records only through mechanisms, on whole numbers: noisy sums that are then solved, or noisy gradients. Bounds and
labels are public and said by the caller; a fitted estimator holds noisy numbers alone, and the event paid for.

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
    from celosia.learn.categorical_nb import CategoricalNB
    from celosia.learn.charts import accuracy_chart, clusters_chart, fit_chart, regions_chart
    from celosia.learn.forecast import Forecast
    from celosia.learn.functional_mechanism import FunctionalMechanism
    from celosia.learn.fuzzy_c_means import FuzzyCMeans
    from celosia.learn.gaussian_nb import GaussianNB
    from celosia.learn.k_means import KMeans
    from celosia.learn.linear import LinearRegression, Ridge
    from celosia.learn.logistic import LogisticRegression
    from celosia.learn.model_file import load
    from celosia.learn.objective import Objective
    from celosia.learn.pca import PCA
    from celosia.learn.pnsgd import PNSGD, PNSGDClassifier, PNSGDRegressor
    from celosia.learn.projections import Ball, Box, Simplex
    from celosia.learn.search import PrivateSearchCV
    from celosia.learn.standard_scaler import StandardScaler

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

# scikit-learn takes a second to load, so each name is found when it is first asked for.
_FILES = {
    "Ball": "projections",
    "Box": "projections",
    "CategoricalNB": "categorical_nb",
    "Forecast": "forecast",
    "FunctionalMechanism": "functional_mechanism",
    "FuzzyCMeans": "fuzzy_c_means",
    "GaussianNB": "gaussian_nb",
    "KMeans": "k_means",
    "LinearRegression": "linear",
    "LogisticRegression": "logistic",
    "Objective": "objective",
    "PCA": "pca",
    "PNSGD": "pnsgd",
    "PNSGDClassifier": "pnsgd",
    "PNSGDRegressor": "pnsgd",
    "PrivateSearchCV": "search",
    "Ridge": "linear",
    "Simplex": "projections",
    "StandardScaler": "standard_scaler",
    "accuracy_chart": "charts",
    "clusters_chart": "charts",
    "fit_chart": "charts",
    "load": "model_file",
    "regions_chart": "charts",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - one of the names above
    if name in _FILES:
        return getattr(importlib.import_module(f"celosia.learn.{_FILES[name]}"), name)
    message = f"module 'celosia.learn' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
