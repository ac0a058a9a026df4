"""From a plan to Ibis expressions: clean columns, joins, contribution bounds, exact integer sums."""
