"""Numba kernels of the samplers: ciphers, subsets, proposals."""
