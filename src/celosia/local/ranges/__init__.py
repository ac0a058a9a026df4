"""Hierarchical histograms: counts of ranges, and quantiles."""
