"""Reservations: how a cost is reserved, recorded and settled."""
