"""Protocols for repeated reports, whose guarantee holds for all reports of a person together.

``one_bit_mean`` is the simplest: one memoised bit. ``d_bit_flip`` answers about buckets (``bucketing``), ``loloha``
hashes values to a few cells, and ``rappor`` reports noisy Bloom filters. ``rappor_equations`` and ``rappor_decode``
estimate the counts of candidates from RAPPOR's reports.
"""
