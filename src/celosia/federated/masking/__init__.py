"""Masked sums: a server learns the sum of what parties contribute, and nothing else about it.

``settings`` states a round; ``party`` and ``server`` are its two sides, which exchange bytes (``messages``); and
``simulation`` runs both in one process. ``masks`` are streams from secrets that two parties share, and what brings back
those of silent parties is divided among all (``secret_sharing``). ``noise_shares`` divides noise.
"""

__all__: list[str] = []
