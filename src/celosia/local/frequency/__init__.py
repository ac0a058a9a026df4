"""Frequency oracles over a known or hashed domain: how many people have each value.

``direct_encoding`` is the simplest. ``optimized_unary``, ``subset_selection``, ``local_hashing`` and
``hadamard_response`` have smaller errors or reports for large domains. ``count_mean_sketch`` and
``hadamard_count_mean_sketch`` hash values into the table of ``hashed_table``, whose compiled loops are in
``sketch_counts``.
"""
