"""Mechanisms that choose: exponential, permute-and-flip, noisy max, sparse vector, stable keys."""
