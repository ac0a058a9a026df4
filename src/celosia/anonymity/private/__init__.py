"""Differentially private counterparts: files of synthetic records, with an event and a guarantee.

Bounds and categories are declared in a schema and never read from the data. A budget or a ledger's account pays before
the data are read. The guarantee is for single records: where a person has several, it is that of a group of them.
"""

from celosia.anonymity.private.insensitive_microaggregation import InsensitiveMicroaggregation
from celosia.anonymity.private.noisy_histogram import NoisyHistogramSampling
from celosia.anonymity.private.private_microdata import PrivateMicrodata

__all__ = ["InsensitiveMicroaggregation", "NoisyHistogramSampling", "PrivateMicrodata"]
