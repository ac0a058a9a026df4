"""The risk of disclosure of a file: of its records, its households and the whole.

``measure_risk`` counts classes and weights, ``find_special_uniques`` looks for records that few values tell apart, and
``link_records`` for the originals of masked records. ``estimate_population_uniques`` fits a model of the population.
"""

from celosia.anonymity.risk.individual import estimate_individual_risk
from celosia.anonymity.risk.interval_disclosure import measure_interval_disclosure
from celosia.anonymity.risk.log_linear import PopulationUniques, estimate_population_uniques
from celosia.anonymity.risk.measures import RiskMeasures, measure_risk
from celosia.anonymity.risk.record_linkage import RecordLinkage, link_records
from celosia.anonymity.risk.special_uniques import SpecialUniques, find_special_uniques

__all__ = [
    "PopulationUniques",
    "RecordLinkage",
    "RiskMeasures",
    "SpecialUniques",
    "estimate_individual_risk",
    "estimate_population_uniques",
    "find_special_uniques",
    "link_records",
    "measure_interval_disclosure",
    "measure_risk",
]
