"""Numbers of distinct values: HyperLogLog, theta sketches, Flajolet-Martin."""
