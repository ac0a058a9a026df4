"""Bloom filters, plain and counting."""
