"""Digests of values, k-wise independent hash families, and the Hadamard transform."""
