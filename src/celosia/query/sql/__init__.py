"""SQL text to a plan: token allowlist, syntax tree, names, FROM, subqueries, expressions and aggregates.

``parser`` is the way in. ``allowlist`` checks the tokens and ``syntax`` makes the tree; ``from_clause`` and
``subqueries`` read relations, ``expressions`` and ``aggregates`` the columns, ``literals`` and ``date_literals`` the
values.
"""
