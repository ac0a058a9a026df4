"""The Python client of a guard: connection, transport, and parsed replies."""
