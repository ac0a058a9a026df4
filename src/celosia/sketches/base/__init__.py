"""Serialization, weights of updates, and error bounds that the sketches share."""
