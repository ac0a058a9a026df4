"""Contribution bounds, measures, the noise of a summary, and its confidence intervals."""
