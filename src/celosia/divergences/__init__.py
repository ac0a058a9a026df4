"""Divergences and distances between two distributions: the measures in which privacy is stated.

Kullback-Leibler, Rényi, max, hockey-stick and f-divergences, Wasserstein distances and couplings, shifted Rényi
divergences and the magnitude of a noise; between finite distributions, the families that mechanisms draw from, SciPy's
distributions and samples. Also the distance of data sets, privacy in any metric, and whether a divergence obeys
post-processing.
"""

from celosia.divergences.distributions.discrete import Discrete
from celosia.divergences.distributions.families import Bernoulli, Laplace, MultivariateNormal, Normal
from celosia.divergences.distributions.histograms import distance, histogram
from celosia.divergences.distributions.samples import Samples
from celosia.divergences.entropies import cross_entropy, entropy
from celosia.divergences.f_divergences import chi_square, f_divergence, hellinger
from celosia.divergences.hockey_stick import hockey_stick, total_variation
from celosia.divergences.magnitude import GaussianNoise, LaplaceNoise, Noise, R
from celosia.divergences.metric import MetricPrivacy, metric_privacy
from celosia.divergences.optimal_transport.couplings import (
    Coupling,
    maximal_coupling,
    monotone_coupling,
    optimal_coupling,
    product_coupling,
    witness,
)
from celosia.divergences.optimal_transport.transport import Transport, transport
from celosia.divergences.optimal_transport.wasserstein import wasserstein
from celosia.divergences.processing import Counterexample, obeys_post_processing
from celosia.divergences.renyi import kl, max_divergence, renyi
from celosia.divergences.shifted import shifted_distribution, shifted_renyi, shifted_renyi_gaussian

__all__ = [
    "Bernoulli",
    "Counterexample",
    "Coupling",
    "Discrete",
    "GaussianNoise",
    "Laplace",
    "LaplaceNoise",
    "MetricPrivacy",
    "MultivariateNormal",
    "Noise",
    "Normal",
    "R",
    "Samples",
    "Transport",
    "chi_square",
    "cross_entropy",
    "distance",
    "entropy",
    "f_divergence",
    "hellinger",
    "histogram",
    "hockey_stick",
    "kl",
    "max_divergence",
    "maximal_coupling",
    "metric_privacy",
    "monotone_coupling",
    "obeys_post_processing",
    "optimal_coupling",
    "product_coupling",
    "renyi",
    "shifted_distribution",
    "shifted_renyi",
    "shifted_renyi_gaussian",
    "total_variation",
    "transport",
    "wasserstein",
    "witness",
]
