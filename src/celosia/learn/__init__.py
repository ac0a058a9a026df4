"""Estimators in the manner of scikit-learn, trained with differential privacy.

Here will live classifiers, regressors, clusterings and transformers that pass ``check_estimator``. Their ``fit``
touches records only through mechanisms: objective or output perturbation, noisy sufficient statistics, noisy
gradients. A fitted estimator carries its events, so its cost can be priced and entered in a ledger.
"""

__all__: list[str] = []
