"""Published variants that do not keep the guarantee they state, for comparison with the private estimators.

``PublishedGaussianNB`` is Gaussian naive Bayes with noise scaled by the private size of each class (Vaidya, Shafiq,
Basu and Hong 2013). Every fit warns ``NotPrivateWarning``, and a fitted model has no guarantee.
"""

from celosia.experiments.baselines.gaussian_nb import PublishedGaussianNB

__all__ = ["PublishedGaussianNB"]
