"""Full-domain generalization: one level for each quasi-identifier, with the least loss of all.

``FullDomain`` is the step, ``search`` says what it would do. ``lattice`` has levels and losses, ``base`` the distinct
records, ``problem`` judges a node and proves the bounds; ``exact`` and ``best_first`` search.
"""

from celosia.anonymity.generalization.full_domain.full_domain import FullDomain, search
from celosia.anonymity.generalization.full_domain.solution import Solution

__all__ = ["FullDomain", "Solution", "search"]
