"""Advice: try a handful of plans on a file, and compare their risk and loss."""
