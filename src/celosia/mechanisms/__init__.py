"""The classical mechanisms: each adds exact noise or chooses exactly, and states its event and its guarantee.

Two parameters are the same everywhere: ``adjacency`` is the kind of neighbours that the sensitivity was stated for, and
``unit`` is what one of them has more, less or different.
"""

from celosia.mechanisms.bounded_laplace import BoundedLaplace
from celosia.mechanisms.gaussian import Gaussian
from celosia.mechanisms.k_norm import KNorm
from celosia.mechanisms.laplace import Laplace
from celosia.mechanisms.proportions import Proportions
from celosia.mechanisms.randomized_response import RandomizedResponse
from celosia.mechanisms.selection.above_threshold import AboveThreshold, ThresholdSession
from celosia.mechanisms.selection.exponential import Exponential
from celosia.mechanisms.selection.noisy_max import NoisyMax
from celosia.mechanisms.selection.permute_and_flip import PermuteAndFlip
from celosia.mechanisms.selection.stable_keys import SelectedKeys, StableKeys

__all__ = [
    "AboveThreshold",
    "BoundedLaplace",
    "Exponential",
    "Gaussian",
    "KNorm",
    "Laplace",
    "NoisyMax",
    "PermuteAndFlip",
    "Proportions",
    "RandomizedResponse",
    "SelectedKeys",
    "StableKeys",
    "ThresholdSession",
]
