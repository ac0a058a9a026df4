"""Heavy hitters and numbers of distinct values over domains that are not listed."""
