"""Amplification by iteration: contractions with noise, and projected noisy gradient descent."""
