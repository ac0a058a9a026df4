"""Exact samplers over a cryptographic source: the only room that draws randomness.

Every sampler takes rational parameters and returns exactly the stated distribution; floating point never decides. The
source is an argument: ``System()``, seeded by the operating system, unless a test passes ``Seeded``.
"""

from celosia.noise.bernoulli import (
    bernoulli,
    bernoulli_exp,
    bernoulli_logistic,
    coins_exp,
    flip,
    flip_exp,
    flip_logistic,
)
from celosia.noise.choice import categorical, exponential_choice, permute_and_flip
from celosia.noise.gaussian import DiscreteGaussian
from celosia.noise.geometric import Geometric
from celosia.noise.laplace import DiscreteLaplace
from celosia.noise.source import Seeded, System
from celosia.noise.uniform import integer_below, permutation, subset, uniform_below

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Geometric",
    "Seeded",
    "System",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_logistic",
    "categorical",
    "coins_exp",
    "exponential_choice",
    "flip",
    "flip_exp",
    "flip_logistic",
    "integer_below",
    "permutation",
    "permute_and_flip",
    "subset",
    "uniform_below",
]
