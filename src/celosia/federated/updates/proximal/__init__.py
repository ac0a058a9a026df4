"""Proximal rounds.

``update`` plans them, ``step`` and ``kernel`` find minima, and ``bounds`` says how far a record moves one.
"""

__all__: list[str] = []
