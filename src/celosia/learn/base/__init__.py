"""Base classes of the estimators: input validation, exact sums over records, and fitted attributes."""
