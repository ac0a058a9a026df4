"""Counts, sums, means, variances, covariances and correlations from exact sums.

``measures`` (counts and sums) is the simplest. ``ratio_measure`` is the base of what is divided by a number of rows:
``bernstein`` (means and variances), which ``all_rows`` and ``shared_moments`` extend to several statistics from one
measurement, and ``cross_moments`` with ``two_columns`` (covariance). ``half_half`` is the textbook's mean, for
comparison; ``cut_off`` counts what limits remove.
"""
