"""What parties compute in a round, and what is made of the sum.

``one_shot`` sends noisy sums once, from which the model is solved; no further round reads the records.
"""

__all__: list[str] = []
