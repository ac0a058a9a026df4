"""Reservations: how a cost is reserved, recorded and settled.

``reservation`` has the values (a request, and the reservation that pays for it), ``reserving`` decides and writes in
one transaction, and ``records`` finds reservations and answers again.
"""
