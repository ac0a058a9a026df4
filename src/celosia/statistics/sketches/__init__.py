"""Sketches with noise: frequencies and numbers of distinct values."""
