"""Who spent what: the memory of every release.

Here will live budgets, reservations and stores (memory, SQLite, PostgreSQL). The ledger stores events, never an
epsilon, so that history can be repriced by a better accountant. It is two-phase: a cost is reserved before data is
touched and committed with the release; a crash leaves the reservation spent, and two concurrent askers can never
spend the same budget twice.
"""

__all__: list[str] = []
