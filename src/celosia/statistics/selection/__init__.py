"""Statistics that choose a candidate: quantiles, mode, top-k, points of an interval."""
