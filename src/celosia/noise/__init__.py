"""Exact samplers over a cryptographic source: the only package that draws randomness.

Every sampler takes rational parameters and returns exactly the stated distribution; floating point never decides. The
source is an argument: ``System()``, seeded by the operating system, unless a test passes ``Seeded``. The compiled
modules (``noise.packed``: coins in packed bits; ``noise.keyed``: draws that a secret repeats) are imported by their own
names, as are the keys on which two parties agree (``noise.agreement``).
"""

from celosia.noise.bernoulli import (
    bernoulli,
    bernoulli_exp,
    bernoulli_logistic,
    bernoulli_odds,
    coins_exp,
    flip,
    flip_exp,
    flip_logistic,
    flip_odds,
)
from celosia.noise.bounded_laplace import BoundedDiscreteLaplace
from celosia.noise.choice import categorical, exponential_choice, permute_and_flip
from celosia.noise.gaussian import DiscreteGaussian
from celosia.noise.geometric import Geometric
from celosia.noise.laplace import DiscreteLaplace
from celosia.noise.max_norm import DiscreteMaxNorm
from celosia.noise.source import Seeded, System
from celosia.noise.uniform import integer_below, permutation, subset, subsets, uniform_below

__all__ = [
    "BoundedDiscreteLaplace",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteMaxNorm",
    "Geometric",
    "Seeded",
    "System",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_logistic",
    "bernoulli_odds",
    "categorical",
    "coins_exp",
    "exponential_choice",
    "flip",
    "flip_exp",
    "flip_logistic",
    "flip_odds",
    "integer_below",
    "permutation",
    "permute_and_flip",
    "subset",
    "subsets",
    "uniform_below",
]
