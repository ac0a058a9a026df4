"""Base classes of the estimators: input validation, exact sums over records, and fitted attributes.

``estimator`` is the base of all: target, payment, record of the fit. ``summaries`` is the base of those that learn from
sums: ``fit_spec`` has the public facts of a fit, ``exact`` sums the records, and ``class_moments`` and
``class_normals`` are the sums by class and what is solved from them. ``reading`` validates data, ``forecast`` tells
cost and error before a fit, and ``lineage`` warns of tuning.
"""
