"""Data sets: where their rows are, their declared schemas, their budgets, and what users see of them.

``dataset`` is one data set and ``catalogue`` all of them. ``declarations`` and ``changes`` are its schema and what
changing it means for past spending; ``policies`` gives its budget the right unit. ``places`` names where rows are, so
that nothing is added twice, ``folders`` lists files that may be added, and ``cards`` describes data sets to users.
"""
