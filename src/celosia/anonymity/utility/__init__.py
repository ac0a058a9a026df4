"""Utility: what masking took away from a file, measured against the original.

No number says what a file is good for. Each of these looks at one thing: detail, distances, moments, tables, whether
a model tells the files apart, and whether a regression concludes the same.
"""

from celosia.anonymity.utility.comparison import Comparison, compare_files
from celosia.anonymity.utility.generalized import (
    count_suppressed,
    measure_class_size,
    measure_discernibility,
    measure_loss,
)
from celosia.anonymity.utility.numbers import (
    Moments,
    compare_eigenvalues,
    compare_moments,
    compute_moments,
    measure_il1s,
)
from celosia.anonymity.utility.propensity import Propensity, measure_propensity
from celosia.anonymity.utility.regression import measure_overlap
from celosia.anonymity.utility.tables import FrequencyTable, compare_tables, tabulate

__all__ = [
    "Comparison",
    "FrequencyTable",
    "Moments",
    "Propensity",
    "compare_eigenvalues",
    "compare_files",
    "compare_moments",
    "compare_tables",
    "compute_moments",
    "count_suppressed",
    "measure_class_size",
    "measure_discernibility",
    "measure_il1s",
    "measure_loss",
    "measure_overlap",
    "measure_propensity",
    "tabulate",
]
