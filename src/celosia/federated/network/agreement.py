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

from celosia.core.errors import ParameterError
from celosia.federated.checkpoint import describe, fingerprint

if TYPE_CHECKING:
    from celosia.federated.federation import Federation
    from celosia.federated.updates.plan import UpdatePlan


def agree(federation: "Federation", terms: Mapping[str, Any]) -> "tuple[UpdatePlan, str]":
    """Return the plan of a federation as every node plans it, and the digest that the nodes compare."""
    if federation.masks is not None or federation.topology is not None:
        # A party would send a share of the noise without a mask.
        raise ParameterError("federated.network_without_masks")
    # A budget may change the unit in which a cost is stated, and only the server has one.
    plan = replace(federation, budget=None).plan()
    told = {
        "plan": fingerprint(plan, federation.names, federation.update),
        "update": describe(federation.update),
        "records": [one.records for one in federation.parties],
        "level": describe(federation.level),
        "combine": describe(federation.combine),
        "least_parties": federation.least_parties,
        "participation": str(federation.participation),
        "terms": describe(terms),
    }
    return plan, hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
