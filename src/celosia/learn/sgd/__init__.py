"""Projected noisy stochastic gradient descent that releases only the last weights."""
