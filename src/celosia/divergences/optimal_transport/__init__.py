"""Couplings, optimal transport and Wasserstein distances."""
