"""Count, sum, mean, variance, quantiles, mode: from an exact integer summary to a noisy answer with its interval.

A *measure* is made of integers that are summed and noised; a *choice* picks a candidate by exact counts. Each states
the features of a row, the sensitivity to one unit, and the answers from the noisy numbers. Queries run them in a
database; the functions here run the same ones on plain arrays.
"""

from celosia.statistics.arrays.averages import mean, sum  # noqa: A004 - the field's word
from celosia.statistics.arrays.counting import count, count_distinct, histogram
from celosia.statistics.arrays.dependence import correlation, covariance
from celosia.statistics.arrays.modes import ChoiceRelease, mode, top_k
from celosia.statistics.arrays.order_statistics import maximum, median, minimum, quantile, quantiles
from celosia.statistics.arrays.spread import std, variance
from celosia.statistics.base.choice import Choice
from celosia.statistics.base.measure import Estimate, Measure
from celosia.statistics.base.noise import ContributionBounds, Noise, RowSensitivity, Sensitivity
from celosia.statistics.base.products import Products, moments_up_to
from celosia.statistics.base.summary_request import (
    Learner,
    Part,
    Provenance,
    SummaryRequest,
    check_learner,
    unit_sensitivity,
)
from celosia.statistics.moments.all_rows import MomentsOfAll
from celosia.statistics.moments.bernstein import FirstMoments, SecondMoments
from celosia.statistics.moments.cross_moments import CrossMoments
from celosia.statistics.moments.cut_off import CutOffMeasure, CutPersons, CutRows
from celosia.statistics.moments.half_half import HalfHalfMean
from celosia.statistics.moments.measures import Bins, CentredSum, Distinct, RowCount, Total
from celosia.statistics.moments.shared_moments import MAX_SHARED_COLUMNS, SharedMoments
from celosia.statistics.selection.most_common import Mode
from celosia.statistics.selection.on_interval import choose
from celosia.statistics.selection.peeling import TopK
from celosia.statistics.selection.private_top_k import PrivateTopK
from celosia.statistics.selection.ranks import Quantiles, bins_for
from celosia.statistics.sketches.noisy_count_min import Frequencies, NoisyCountMin
from celosia.statistics.sketches.noisy_distinct import DifferentValues, NoisyDistinct

__all__ = [
    "MAX_SHARED_COLUMNS",
    "Bins",
    "CentredSum",
    "Choice",
    "ChoiceRelease",
    "ContributionBounds",
    "CrossMoments",
    "CutOffMeasure",
    "CutPersons",
    "CutRows",
    "DifferentValues",
    "Distinct",
    "Estimate",
    "FirstMoments",
    "Frequencies",
    "HalfHalfMean",
    "Learner",
    "Measure",
    "Mode",
    "MomentsOfAll",
    "Noise",
    "NoisyCountMin",
    "NoisyDistinct",
    "Part",
    "PrivateTopK",
    "Products",
    "Provenance",
    "Quantiles",
    "RowCount",
    "RowSensitivity",
    "SecondMoments",
    "Sensitivity",
    "SharedMoments",
    "SummaryRequest",
    "TopK",
    "Total",
    "bins_for",
    "check_learner",
    "choose",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "histogram",
    "maximum",
    "mean",
    "median",
    "minimum",
    "mode",
    "moments_up_to",
    "quantile",
    "quantiles",
    "std",
    "sum",
    "top_k",
    "unit_sensitivity",
    "variance",
]
