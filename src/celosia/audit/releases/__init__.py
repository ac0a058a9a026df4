"""Attacks on released files: what others learn from a file that is anonymous by the measure of a model.

Each runs against any file: it succeeds on an unprotected one, and is bounded on one that the model against it protects.
Results print sentences without names and values; methods that return those are for the owner of the data.
"""

from celosia.audit.releases.background_knowledge import BackgroundKnowledge, rule_out_values
from celosia.audit.releases.composition import Composition, intersect_releases
from celosia.audit.releases.homogeneity import Homogeneity, find_homogeneity
from celosia.audit.releases.identity_linkage import IdentityLinkage, link_identities
from celosia.audit.releases.masked_linkage import MaskedLinkage, link_masked_records
from celosia.audit.releases.skewness import Skewness, measure_skewness

__all__ = [
    "BackgroundKnowledge",
    "Composition",
    "Homogeneity",
    "IdentityLinkage",
    "MaskedLinkage",
    "Skewness",
    "find_homogeneity",
    "intersect_releases",
    "link_identities",
    "link_masked_records",
    "measure_skewness",
    "rule_out_values",
]
