"""Naive Bayes classifiers from noisy counts and moments."""
