"""Expressions over noisy columns: outputs, HAVING, ORDER BY, and the intervals of computed columns."""
