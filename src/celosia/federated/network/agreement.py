"""The digest of a federation that its server and all parties must agree on.

It covers whatever decides the integers of a party or what they cost: parties, estimator, bounds, update, target and
rounds, and the terms that a description states beside them. Records, the account that pays, and the source of noise are
each node's own.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from celosia.federated.checkpoint import describe, fingerprint
from celosia.federated.gossip import Gossip

if TYPE_CHECKING:
    from celosia.federated.federation import Federation
    from celosia.federated.topology.graph import Graph
    from celosia.federated.updates.plan import UpdatePlan


def agree(federation: "Federation", terms: Mapping[str, Any]) -> "tuple[UpdatePlan, str]":
    """Return the plan of a federation as every node plans it, and the digest that the nodes compare."""
    # A budget may change the unit in which a cost is stated, and only the server has one.
    plan = replace(federation, budget=None).plan()
    told = {
        "plan": fingerprint(plan, federation.names, federation.update),
        "update": describe(federation.update),
        "records": [one.records for one in federation.parties],
        "level": describe(federation.level),
        "combine": describe(federation.combine),
        "masks": describe(federation.masks),
        "topology": _describe_topology(federation.topology),
        "least_parties": federation.least_parties,
        "participation": str(federation.participation),
        "terms": describe(terms),
    }
    return plan, hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _describe_topology(topology: "Graph | Gossip | None") -> Any:
    """Return who talks to whom, and the weights, rounded: the last bits of the best ones depend on the machine."""
    if not isinstance(topology, Gossip):
        return describe(topology)
    return [describe(topology.graph), topology.weights.matrix.round(9).tolist(), topology.steps]
