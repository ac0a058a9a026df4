"""The synthetic parties of the FedProx paper: classes from a softmax whose weights differ between parties.

Synthetic(alpha, beta) of Li and others 2020 (arXiv 1812.06127, appendix C.1): party k draws u from N(0, alpha) and B
from N(0, beta), weights and biases from N(u, 1), the means v of its features from N(B, 1), and rows from N(v, S), where
S is diagonal with entries j^-1.2. Larger alpha makes the models differ, larger beta the features.
"""

from typing import Final

import numpy as np

from celosia.core.exact import exact_integer, exact_non_negative
from celosia.federated.examples.debt import ExampleParties
from celosia.mechanisms.real_gaussian import RealGaussian
from celosia.noise import Seeded

_FEATURES: Final = 60
_CLASSES: Final = 10
_BOUND: Final = 10.0


def make_synthetic(alpha: float = 1, beta: float = 1, *, parties: int = 30, seed: int = 2020) -> ExampleParties:
    """Return Synthetic(alpha, beta): 60 features and 10 classes; party sizes are 50 and a log-normal number.

    >>> example = make_synthetic(1, 1, parties=3)
    >>> [features.shape[1] for features, _ in example.parties.values()], example.bounds
    ([60, 60, 60], (-10.0, 10.0))
    """
    between, within = (
        float(exact_non_negative(value, name=name)) for name, value in (("alpha", alpha), ("beta", beta))
    )
    source, normal = Seeded(seed), RealGaussian(1)
    spread = np.arange(1, _FEATURES + 1) ** -0.6
    found = {}
    for number in range(exact_integer(parties, name="parties", least=2)):
        size, model, place = normal.sample(3, source=source)
        rows = 50 + int(min(np.exp(4 + 2 * size), 1_000))
        weights = model * between**0.5 + normal.sample((_FEATURES + 1, _CLASSES), source=source)
        means = place * within**0.5 + normal.sample(_FEATURES, source=source)
        features = means + spread * normal.sample((rows, _FEATURES), source=source)
        found[f"device {number + 1}"] = (features, np.argmax(features @ weights[:-1] + weights[-1], axis=1))
    names = tuple(f"x{place + 1}" for place in range(_FEATURES))
    return ExampleParties(parties=found, features=names, bounds=(-_BOUND, _BOUND))
