"""Heavy hitters and distinct counts over open domains."""
