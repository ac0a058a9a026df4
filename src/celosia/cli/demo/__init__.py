"""``celosia demo``: private answers, an attack, and a report."""
