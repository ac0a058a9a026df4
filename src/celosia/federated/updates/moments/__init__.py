"""Noised moments of a first round: the sums that parties send, and the space in which later rounds descend."""
