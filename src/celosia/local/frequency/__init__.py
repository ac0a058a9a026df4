"""Frequency oracles over a known or hashed domain."""
