"""Plans and expressions as values: what a query computes, with types and bounds, before any engine reads data."""
