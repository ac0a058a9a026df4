"""Attacks on our own mechanisms, and the lower bounds on epsilon that they prove.

An accountant bounds from above how much a mechanism reveals; an audit bounds it from below. When the two cross, one of
them is wrong. A pass of a black-box audit is evidence, never a proof.
"""

from celosia.audit.distinguish import Distinction, compare, distinguish, lower_bound
from celosia.audit.draws import Draws, Runner, gather, repeat
from celosia.audit.federated_round import RoundAudit, audit_round
from celosia.audit.gossip_reconstruction import GossipReconstruction, rebuild_inputs
from celosia.audit.low_bits import low_order_bits

__all__ = [
    "Distinction",
    "Draws",
    "GossipReconstruction",
    "RoundAudit",
    "Runner",
    "audit_round",
    "compare",
    "distinguish",
    "gather",
    "low_order_bits",
    "lower_bound",
    "rebuild_inputs",
    "repeat",
]
