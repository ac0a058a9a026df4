"""Statistics of a plain array in one call."""
