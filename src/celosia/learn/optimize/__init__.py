"""Losses, convex sets and descents, without privacy of their own."""
