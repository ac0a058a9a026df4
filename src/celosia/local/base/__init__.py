"""What all protocols share: reports, aggregates, estimates, packing, memoisation."""
