"""Protocols of the local model: noise is added on the device.

A protocol is one frozen value that client and server share. The client's ``privatize`` turns values into reports; the
server's ``aggregate()`` absorbs them, merges with others, and estimates. They are private against everyone, the
collector included: a report alone satisfies the stated guarantee. ``choose`` picks a protocol, ``presets`` are those
that were deployed, ``shuffle`` says what a shuffled crowd promises, and ``local.spark`` aggregates on Spark.
"""

from celosia.local import presets
from celosia.local.aggregate import Aggregate
from celosia.local.bucketing import Bucketing, uniform_error
from celosia.local.choose import Choice, choose
from celosia.local.count_mean_sketch import CountMeanSketch
from celosia.local.d_bit_flip import DBitFlip
from celosia.local.direct_encoding import DirectEncoding
from celosia.local.discovery import Discovery
from celosia.local.distinct_count import DistinctCount, DistinctEstimate
from celosia.local.duchi import Duchi
from celosia.local.estimate import Estimate, MeanEstimate
from celosia.local.hadamard_count_mean_sketch import HadamardCountMeanSketch
from celosia.local.hadamard_response import HadamardResponse
from celosia.local.hierarchical_histogram import HierarchicalHistogram
from celosia.local.hybrid import Hybrid
from celosia.local.local_hashing import LocalHashing
from celosia.local.local_laplace import LocalLaplace
from celosia.local.loloha import LOLOHA
from celosia.local.metrics import Metrics, compare
from celosia.local.one_bit_mean import OneBitMean
from celosia.local.optimized_unary import OptimizedUnary
from celosia.local.piecewise import Piecewise
from celosia.local.prefix_extension import PrefixExtension
from celosia.local.protocol import Protocol
from celosia.local.ranges import RangeCount, RangeEstimate
from celosia.local.rappor import Rappor
from celosia.local.rappor_decode import Decoded, decode
from celosia.local.reports import Reports
from celosia.local.sequence_fragment_puzzle import SequenceFragmentPuzzle
from celosia.local.shuffle import shuffle
from celosia.local.simulation import Simulation, simulate
from celosia.local.subset_selection import SubsetSelection

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
    "compare",
    "decode",
    "presets",
    "shuffle",
    "simulate",
    "uniform_error",
]
