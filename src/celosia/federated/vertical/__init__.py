"""Learning from columns of the same persons that different parties hold.

``needed_sums`` says which products of columns a request sums, and who holds them; ``masked_products`` multiplies
columns that neither of two parties shows; ``round`` adds all up; and ``federation`` pays, and returns the model.
"""

__all__: list[str] = []
