"""From a plan to Ibis expressions: clean columns, joins, contribution bounds, exact integer sums.

``rows`` builds the table of a relation: ``clean`` reads raw columns as their kinds declare, ``text_values`` parses
strings, ``compile`` adds expressions (with the dates of ``calendar``), and ``raw_ranges`` moves conditions to the raw
columns. ``row_level`` sums rows; ``person_level`` first bounds each person with ``bounding``, in the keyed order of
``hashing``. ``column_checks`` and ``public_keys`` refuse tables that do not fit, and ``dialect`` holds what differs
between engines.
"""
