"""Distributions as inputs: finite, parametric, SciPy's, samples, and pairs of them."""
