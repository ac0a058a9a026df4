"""Protocols of the local model: the device adds the noise.

A protocol is one frozen value that client and server share. The client's ``privatize`` turns values into reports; the
server's ``aggregate()`` absorbs them, merges with others, and estimates. Each report satisfies the stated guarantee
against every observer, the collector included. ``choose`` picks a protocol, ``presets`` has deployed ones, ``shuffle``
returns the guarantee of a shuffled crowd, and ``local.spark`` aggregates on Spark.

Parameters that several protocols share:

- ``epsilon``: the epsilon of one report.
- ``domain``: the number k of values, which are then 0 to k - 1, or the values themselves.
- ``low``, ``high``: the bounds of the numbers; clip before reporting.
- ``grid``: the number L of steps between the bounds.
- ``seed``: the public seed of the hash functions.
"""

from celosia.local import presets
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.estimate import Estimate, MeanEstimate
from celosia.local.base.protocol import Protocol
from celosia.local.base.reports import Reports
from celosia.local.choose import Choice, choose
from celosia.local.collection import collect
from celosia.local.discovery.base import Discovery
from celosia.local.discovery.distinct_count import DistinctCount, DistinctEstimate
from celosia.local.discovery.prefix_extension import PrefixExtension
from celosia.local.discovery.sequence_fragment_puzzle import SequenceFragmentPuzzle
from celosia.local.frequency.count_mean_sketch import CountMeanSketch
from celosia.local.frequency.direct_encoding import DirectEncoding
from celosia.local.frequency.hadamard_count_mean_sketch import HadamardCountMeanSketch
from celosia.local.frequency.hadamard_response import HadamardResponse
from celosia.local.frequency.local_hashing import LocalHashing
from celosia.local.frequency.optimized_unary import OptimizedUnary
from celosia.local.frequency.subset_selection import SubsetSelection
from celosia.local.longitudinal.bucketing import Bucketing, uniform_error
from celosia.local.longitudinal.d_bit_flip import DBitFlip
from celosia.local.longitudinal.loloha import LOLOHA
from celosia.local.longitudinal.one_bit_mean import OneBitMean
from celosia.local.longitudinal.rappor import Rappor
from celosia.local.longitudinal.rappor_decode import Decoded, decode
from celosia.local.means.duchi import Duchi
from celosia.local.means.hybrid import Hybrid
from celosia.local.means.local_laplace import LocalLaplace
from celosia.local.means.piecewise import Piecewise
from celosia.local.metrics import Metrics, compare
from celosia.local.ranges.estimate import RangeCount, RangeEstimate
from celosia.local.ranges.hierarchical_histogram import HierarchicalHistogram
from celosia.local.shuffle import shuffle
from celosia.local.simulation import Simulation, simulate

__all__ = [
    "LOLOHA",
    "Aggregate",
    "Bucketing",
    "Choice",
    "CountMeanSketch",
    "DBitFlip",
    "Decoded",
    "DirectEncoding",
    "Discovery",
    "DistinctCount",
    "DistinctEstimate",
    "Duchi",
    "Estimate",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "HierarchicalHistogram",
    "Hybrid",
    "LocalHashing",
    "LocalLaplace",
    "MeanEstimate",
    "Metrics",
    "OneBitMean",
    "OptimizedUnary",
    "Piecewise",
    "PrefixExtension",
    "Protocol",
    "RangeCount",
    "RangeEstimate",
    "Rappor",
    "Reports",
    "SequenceFragmentPuzzle",
    "Simulation",
    "SubsetSelection",
    "choose",
    "collect",
    "compare",
    "decode",
    "presets",
    "shuffle",
    "simulate",
    "uniform_error",
]
