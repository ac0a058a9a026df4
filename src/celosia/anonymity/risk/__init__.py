"""The risk of disclosure of a file: of its records, its households and the whole.

``measure_risk`` counts classes and weights, ``find_special_uniques`` looks for records that few values tell apart, and
``link_records`` for the originals of masked records.
"""

from celosia.anonymity.risk.individual import estimate_individual_risk
from celosia.anonymity.risk.interval_disclosure import measure_interval_disclosure
from celosia.anonymity.risk.measures import RiskMeasures, measure_risk
from celosia.anonymity.risk.record_linkage import RecordLinkage, link_records
from celosia.anonymity.risk.special_uniques import SpecialUniques, find_special_uniques

__all__ = [
    "RecordLinkage",
    "RiskMeasures",
    "SpecialUniques",
    "estimate_individual_risk",
    "find_special_uniques",
    "link_records",
    "measure_interval_disclosure",
    "measure_risk",
]
