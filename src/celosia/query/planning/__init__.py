"""From a plan to a priced strategy: analysis, measurements, cells, shares of the budget, and the preview."""
