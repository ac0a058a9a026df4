"""Small summaries of large streams: hashing, Hadamard, Bloom, count-min, AMS, HyperLogLog, theta.

Sketches take whole columns, merge, serialize and state their error bounds. A sketch alone is *not* private: it is an
exact function of the records, however small. Rooms above add the noise; what they need from here is a bounded effect
of one record on the sketch, which each sketch states. Hash functions have a seed, and are the same on every machine.
"""

from celosia.sketches.ams import AMS
from celosia.sketches.bloom import BloomFilter
from celosia.sketches.columns import Column, read_column
from celosia.sketches.count_mean import CountMean
from celosia.sketches.count_median import CountMedian
from celosia.sketches.count_min import CountMin
from celosia.sketches.count_sketch import CountSketch
from celosia.sketches.counting_bloom import CountingBloomFilter
from celosia.sketches.digest import digest
from celosia.sketches.dyadic import DyadicCountMin
from celosia.sketches.family import HashFamily
from celosia.sketches.flajolet_martin import FlajoletMartin
from celosia.sketches.hyperloglog import HyperLogLog
from celosia.sketches.theta import Theta

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
