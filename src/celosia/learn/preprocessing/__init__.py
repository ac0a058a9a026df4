"""Standardization of columns by noisy moments."""
