"""Base classes and code of all protocols: reports, aggregates, estimates, packing, memoisation, plugins."""
