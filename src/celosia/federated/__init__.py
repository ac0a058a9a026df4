"""Many parties, one model: no records leave their institution.

Each party sums its own records, adds noise and sends integers; a server adds them up. Sums are over integers on a grid,
so that they are the same as for all records in one place, and secure aggregation and exact noise agree.

- ``Federation`` states the parties, what they compute, and what may be spent; ``preview()`` and ``run()``.
- ``OneShot`` fits an estimator of ``celosia.learn`` that learns from sums, in one round.
- ``SGD`` fits a line or a logistic regression by noisy gradient descent at each party.
- ``Proximal`` fits them by minima that parties pull towards the weights so far.
- ``sum_masked`` adds integers such that only their sum is seen; ``MaskingParty`` and ``MaskingServer`` are the sides of
  such a round, which ``MaskingSettings`` states, and ``NoiseShares`` divides the noise of a sum.
- ``make_debt``, ``make_synthetic``, ``split_evenly`` and its kin give records to try them on.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celosia.federated.examples.debt import ExampleParties, make_debt
    from celosia.federated.examples.partition import split_by_column, split_by_label, split_dirichlet, split_evenly
    from celosia.federated.examples.synthetic import make_synthetic
    from celosia.federated.federation import Federation, FederationPreview
    from celosia.federated.masking.noise_shares import NoiseShares
    from celosia.federated.masking.party import MaskingParty
    from celosia.federated.masking.server import MaskingServer
    from celosia.federated.masking.settings import MaskingSettings
    from celosia.federated.masking.simulation import MaskedSum, sum_masked
    from celosia.federated.parties import Party
    from celosia.federated.updates.one_shot import OneShot
    from celosia.federated.updates.proximal import Proximal
    from celosia.federated.updates.sgd import SGD

__all__ = [
    "SGD",
    "ExampleParties",
    "Federation",
    "FederationPreview",
    "MaskedSum",
    "MaskingParty",
    "MaskingServer",
    "MaskingSettings",
    "NoiseShares",
    "OneShot",
    "Party",
    "Proximal",
    "make_debt",
    "make_synthetic",
    "split_by_column",
    "split_by_label",
    "split_dirichlet",
    "split_evenly",
    "sum_masked",
]

# Estimators load scikit-learn, which takes a second, so each name is imported on first use.
_FILES = {
    "SGD": "updates.sgd",
    "ExampleParties": "examples.debt",
    "Federation": "federation",
    "FederationPreview": "federation",
    "MaskedSum": "masking.simulation",
    "MaskingParty": "masking.party",
    "MaskingServer": "masking.server",
    "MaskingSettings": "masking.settings",
    "NoiseShares": "masking.noise_shares",
    "OneShot": "updates.one_shot",
    "Party": "parties",
    "Proximal": "updates.proximal",
    "make_debt": "examples.debt",
    "make_synthetic": "examples.synthetic",
    "split_by_column": "examples.partition",
    "split_by_label": "examples.partition",
    "split_dirichlet": "examples.partition",
    "split_evenly": "examples.partition",
    "sum_masked": "masking.simulation",
}


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
