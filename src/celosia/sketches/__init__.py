"""Small summaries of large streams: hashing, Hadamard, Bloom, count-min, AMS, HyperLogLog, theta.

Sketches take whole columns, merge, serialize and state their error bounds. A sketch alone is *not* private: it is an
exact function of the records, however small. Higher packages add the noise; they need a bounded effect of
one record on the sketch, which each sketch documents. Hash functions have a seed, and are the same on every machine.
"""

from celosia.sketches.distinct.flajolet_martin import FlajoletMartin
from celosia.sketches.distinct.hyperloglog import HyperLogLog
from celosia.sketches.distinct.theta import Theta
from celosia.sketches.frequency.ams import AMS
from celosia.sketches.frequency.count_mean import CountMean
from celosia.sketches.frequency.count_median import CountMedian
from celosia.sketches.frequency.count_min import CountMin
from celosia.sketches.frequency.count_sketch import CountSketch
from celosia.sketches.frequency.dyadic import DyadicCountMin
from celosia.sketches.hashing.columns import Column, read_column
from celosia.sketches.hashing.digest import digest
from celosia.sketches.hashing.family import HashFamily
from celosia.sketches.membership.bloom import BloomFilter
from celosia.sketches.membership.counting_bloom import CountingBloomFilter

__all__ = [
    "AMS",
    "BloomFilter",
    "Column",
    "CountMean",
    "CountMedian",
    "CountMin",
    "CountSketch",
    "CountingBloomFilter",
    "DyadicCountMin",
    "FlajoletMartin",
    "HashFamily",
    "HyperLogLog",
    "Theta",
    "digest",
    "read_column",
]
