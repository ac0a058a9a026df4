"""Sketches with noise: frequencies and numbers of distinct values.

``noisy_count_min`` answers how often values occur without a public list; ``noisy_distinct`` how many there are.
"""
