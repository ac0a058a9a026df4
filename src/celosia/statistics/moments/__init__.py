"""Counts, sums, means, variances, covariances and correlations from exact sums."""
