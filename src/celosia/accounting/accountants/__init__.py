"""Accountants: lists of events with a total price.

``base`` is their interface. ``sums`` has those whose total is a sum, ``classical`` the theorems of composition,
``combined`` the default of (epsilon, delta) budgets, and ``numerical`` composes privacy-loss distributions. ``best``
tries all of them.
"""
