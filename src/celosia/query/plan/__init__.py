"""Plans and expressions: what a query computes, with types and bounds, before an engine reads data."""
