"""Private search over settings of a model, scored on held-out records."""
