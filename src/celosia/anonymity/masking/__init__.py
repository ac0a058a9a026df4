"""Masking: methods that change values, so that records no longer tell whose they are, and statistics stay useful.

Microaggregation, noise, swapping, post-randomization and shuffling, each a step of a plan. None of them is
differential privacy; ``celosia.anonymity.private`` has counterparts that are.
"""

from celosia.anonymity.masking.additive_noise import AddNoise
from celosia.anonymity.masking.household_swapping import SwapHouseholds
from celosia.anonymity.masking.microaggregation import Microaggregate
from celosia.anonymity.masking.multiplicative_noise import MultiplyNoise
from celosia.anonymity.masking.post_randomization import Pram
from celosia.anonymity.masking.probabilistic_swapping import ProbabilisticSwap
from celosia.anonymity.masking.rank_swapping import RankSwap
from celosia.anonymity.masking.shuffling import Shuffle

__all__ = [
    "AddNoise",
    "Microaggregate",
    "MultiplyNoise",
    "Pram",
    "ProbabilisticSwap",
    "RankSwap",
    "Shuffle",
    "SwapHouseholds",
]
