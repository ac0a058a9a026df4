"""Plans and expressions: what a query computes, with types and bounds, before an engine reads data.

``nodes`` (plans) and ``expressions`` are the values that everything else reads; ``relations`` derives the columns and
limits of a plan's input. ``types`` is what an expression has, and ``operations`` lists what a query may use, each with
its typing rule from ``arithmetic``, ``comparison``, ``calendar_rules`` or ``text_rules``; ``intervals`` bounds the
results, and ``text_functions`` defines those on text. ``to_sql`` shows a plan to people, ``suggestions`` helps with
mistyped names.
"""
