"""Public conformance kits for mechanisms, protocols, accountants, engines and sources.

They serve the tests of this project and of third parties. Each raises ``ConformanceError`` naming the check that failed
and by how much. A pass is evidence, never a proof.
"""

from celosia.core import ConformanceError
from celosia.testing.accountants import check_accountant
from celosia.testing.claims import claims, excess
from celosia.testing.distributions import check_distribution, chi_square
from celosia.testing.engines.check import check_engine
from celosia.testing.mechanism import Check, Report, check_mechanism
from celosia.testing.protocols.check import check_protocol
from celosia.testing.protocols.histories import client_draws, history_log_masses
from celosia.testing.streams import check_fork_safety, check_thread_safety
from celosia.testing.witnesses import Witness, divergence, witnesses

__all__ = [
    "Check",
    "ConformanceError",
    "Report",
    "Witness",
    "check_accountant",
    "check_distribution",
    "check_engine",
    "check_fork_safety",
    "check_mechanism",
    "check_protocol",
    "check_thread_safety",
    "chi_square",
    "claims",
    "client_draws",
    "divergence",
    "excess",
    "history_log_masses",
    "witnesses",
]
