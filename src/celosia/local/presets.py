"""Deployed and published configurations, by name.

From Apple's Differential Privacy Team 2017, *Learning with privacy at scale*; Erlingsson, Pihur and Korolova 2014 for
Chrome; Ding, Kulkarni and Yekhanin 2017 for Windows. Cohorts, alphabet, hash functions, and the buckets and epsilon for
Windows are our own choice. They serve for comparison; do not copy them: their epsilon of one report, every day, is
large.

>>> from celosia.local import presets
>>> presets.apple_emoji.bytes_per_report, presets.apple_safari.bytes_per_report
(130, 4)
"""

from celosia.core.exact import Exact
from celosia.local.discovery.sequence_fragment_puzzle import SequenceFragmentPuzzle
from celosia.local.frequency.count_mean_sketch import CountMeanSketch
from celosia.local.frequency.hadamard_count_mean_sketch import HadamardCountMeanSketch
from celosia.local.longitudinal.d_bit_flip import DBitFlip
from celosia.local.longitudinal.rappor import Rappor

__all__ = ["apple_emoji", "apple_new_words", "apple_safari", "chrome_rappor", "windows_telemetry"]

apple_emoji = CountMeanSketch(epsilon=4, hashes=65_536, width=1_024)
"""Typed emoji: a report of 130 bytes; the server's table has half a gibibyte."""

apple_safari = HadamardCountMeanSketch(epsilon=4, hashes=1_024, width=32_768)
"""Pages with high energy or memory use, or with autoplay: a report of 4 bytes."""

apple_new_words = SequenceFragmentPuzzle(
    epsilon=8, fragment_epsilon=6, hashes=2_048, width=1_024, fragment_hashes=2_048, fragment_width=1_024
)
"""Words unknown to the keyboard: epsilon 2 for the word and 6 for the fragment, of lower-case Latin letters."""

chrome_rappor = Rappor(bits=128, hashes=2, cohorts=32, f=0, p="1/2", q="3/4")
"""One-time reports of the browser's settings: there is no permanent response, so nothing protects a second report."""


def windows_telemetry(d: int = 4, *, buckets: int = 32, epsilon: Exact = 1) -> DBitFlip:
    """Return the protocol for histograms of application use, with 1, 2 or 4 bits of each device.

    >>> [windows_telemetry(d).d for d in (1, 2, 4)]
    [1, 2, 4]
    """
    return DBitFlip(buckets=buckets, d=d, epsilon=epsilon)
