"""Many parties, one model: no records leave their institution.

Each party sums its own records, adds noise and sends integers; a server adds them up. Sums are over integers on a grid,
so that they are the same as for all records in one place, and secure aggregation and exact noise agree.

- ``Federation`` states the parties, what they compute, and what may be spent; ``preview()`` and ``run()``.
- ``OneShot`` fits an estimator of ``celosia.learn`` that learns from sums, in one round; of tables, in their databases.
- ``SGD`` fits a line or a logistic regression by noisy gradient descent at each party.
- ``Proximal`` fits them by minima that parties pull towards the weights so far.
- ``Gossip`` trains over a graph, without a server.
- ``VerticalFederation`` fits an estimator to columns of the same persons that different parties hold.
- ``ClientLevel`` makes whole parties private, with all their records.
- ``Masks`` let the parties of a federation share one noise: the server sees only their sum.
- ``sum_masked`` adds integers such that only their sum is seen; ``MaskingParty`` and ``MaskingServer`` are the sides of
  such a round, which ``MaskingSettings`` states, and ``NoiseShares`` divides the noise of a sum.
- ``Graph`` and ``make_graph`` state who talks to whom, and ``who_learns_what`` what each learns about the others.
- ``compare_methods`` trains in several ways at the same cost, for experiments;
  ``rounds_chart``, ``epsilons_chart`` and ``bytes_chart`` draw its errors.
- ``TrimmedMean``, ``CoordinateMedian``, ``Krum`` and ``ClippedSum`` combine messages so that a few bad parties cannot
  steer the model.
- ``FlowerTransport``, ``PartyNode`` and ``create_client_app`` train over a network, ``load_description`` from a file.
- ``make_debt``, ``make_synthetic``, ``split_evenly`` and its kin give records to try them on.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celosia.federated.charts import bytes_chart, epsilons_chart, rounds_chart
    from celosia.federated.comparison import Comparison, MethodResult, compare_methods
    from celosia.federated.disclosure.better_edge import EdgeSuggestion, suggest_edge
    from celosia.federated.disclosure.methods import FreshNoise, GossipOnce, MaskedSums
    from celosia.federated.disclosure.muffliato import muffliato_exposures
    from celosia.federated.disclosure.report import Disclosure, who_learns_what
    from celosia.federated.disclosure.views import gossip_exposures
    from celosia.federated.examples.debt import ExampleParties, make_debt
    from celosia.federated.examples.partition import (
        split_by_column,
        split_by_label,
        split_dirichlet,
        split_evenly,
        split_test,
    )
    from celosia.federated.examples.synthetic import make_synthetic
    from celosia.federated.federation import Federation
    from celosia.federated.gossip import Gossip
    from celosia.federated.masked import Masks
    from celosia.federated.masking.messages import count_masking_bytes
    from celosia.federated.masking.noise_shares import NoiseShares
    from celosia.federated.masking.party import MaskingParty
    from celosia.federated.masking.round import MaskedSum
    from celosia.federated.masking.server import MaskingServer
    from celosia.federated.masking.settings import MaskingSettings
    from celosia.federated.masking.simulation import sum_masked
    from celosia.federated.network.description import load_description
    from celosia.federated.network.flower import FlowerTransport, create_client_app
    from celosia.federated.network.node import PartyNode
    from celosia.federated.parties.party import Party
    from celosia.federated.preview import FederationPreview
    from celosia.federated.robust import ClippedSum, CoordinateMedian, Krum, RobustRule, TrimmedMean
    from celosia.federated.topology.charts import draw_topology
    from celosia.federated.topology.graph import Graph
    from celosia.federated.topology.shapes import make_graph
    from celosia.federated.topology.weights import (
        Weights,
        constant_weights,
        convergence_factor,
        metropolis_weights,
        optimal_alpha,
    )
    from celosia.federated.updates.client_level import ClientLevel
    from celosia.federated.updates.one_shot import OneShot
    from celosia.federated.updates.proximal.update import Proximal
    from celosia.federated.updates.sgd import SGD
    from celosia.federated.vertical.federation import VerticalFederation, VerticalPreview

__all__ = [
    "SGD",
    "ClientLevel",
    "ClippedSum",
    "Comparison",
    "CoordinateMedian",
    "Disclosure",
    "EdgeSuggestion",
    "ExampleParties",
    "Federation",
    "FederationPreview",
    "FlowerTransport",
    "FreshNoise",
    "Gossip",
    "GossipOnce",
    "Graph",
    "Krum",
    "MaskedSum",
    "MaskedSums",
    "MaskingParty",
    "MaskingServer",
    "MaskingSettings",
    "Masks",
    "MethodResult",
    "NoiseShares",
    "OneShot",
    "Party",
    "PartyNode",
    "Proximal",
    "RobustRule",
    "TrimmedMean",
    "VerticalFederation",
    "VerticalPreview",
    "Weights",
    "bytes_chart",
    "compare_methods",
    "constant_weights",
    "convergence_factor",
    "count_masking_bytes",
    "create_client_app",
    "draw_topology",
    "epsilons_chart",
    "gossip_exposures",
    "load_description",
    "make_debt",
    "make_graph",
    "make_synthetic",
    "metropolis_weights",
    "muffliato_exposures",
    "optimal_alpha",
    "rounds_chart",
    "split_by_column",
    "split_by_label",
    "split_dirichlet",
    "split_evenly",
    "split_test",
    "suggest_edge",
    "sum_masked",
    "who_learns_what",
]

# Estimators load scikit-learn, which takes a second, so each name is imported on first use.
_FILES = {
    "SGD": "updates.sgd",
    "ClientLevel": "updates.client_level",
    "ClippedSum": "robust",
    "Comparison": "comparison",
    "CoordinateMedian": "robust",
    "Disclosure": "disclosure.report",
    "EdgeSuggestion": "disclosure.better_edge",
    "ExampleParties": "examples.debt",
    "Federation": "federation",
    "FederationPreview": "preview",
    "FlowerTransport": "network.flower",
    "FreshNoise": "disclosure.methods",
    "Gossip": "gossip",
    "GossipOnce": "disclosure.methods",
    "Graph": "topology.graph",
    "Krum": "robust",
    "MaskedSum": "masking.round",
    "MaskedSums": "disclosure.methods",
    "MaskingParty": "masking.party",
    "MaskingServer": "masking.server",
    "MaskingSettings": "masking.settings",
    "Masks": "masked",
    "MethodResult": "comparison",
    "NoiseShares": "masking.noise_shares",
    "OneShot": "updates.one_shot",
    "Party": "parties.party",
    "PartyNode": "network.node",
    "Proximal": "updates.proximal.update",
    "RobustRule": "robust",
    "TrimmedMean": "robust",
    "VerticalFederation": "vertical.federation",
    "VerticalPreview": "vertical.federation",
    "Weights": "topology.weights",
    "bytes_chart": "charts",
    "compare_methods": "comparison",
    "constant_weights": "topology.weights",
    "convergence_factor": "topology.weights",
    "count_masking_bytes": "masking.messages",
    "create_client_app": "network.flower",
    "draw_topology": "topology.charts",
    "epsilons_chart": "charts",
    "gossip_exposures": "disclosure.views",
    "load_description": "network.description",
    "make_debt": "examples.debt",
    "make_graph": "topology.shapes",
    "make_synthetic": "examples.synthetic",
    "metropolis_weights": "topology.weights",
    "muffliato_exposures": "disclosure.muffliato",
    "optimal_alpha": "topology.weights",
    "rounds_chart": "charts",
    "split_by_column": "examples.partition",
    "split_by_label": "examples.partition",
    "split_dirichlet": "examples.partition",
    "split_evenly": "examples.partition",
    "split_test": "examples.partition",
    "suggest_edge": "disclosure.better_edge",
    "sum_masked": "masking.simulation",
    "who_learns_what": "disclosure.report",
}


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
