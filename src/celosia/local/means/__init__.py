"""Protocols for the mean of bounded numbers."""
