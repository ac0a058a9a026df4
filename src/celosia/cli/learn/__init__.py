"""``celosia learn``: fit a private model, predict with it, show its card."""
