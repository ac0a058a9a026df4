"""SQL text to a plan: token allowlist, syntax tree, names, FROM, subqueries, expressions and aggregates."""
