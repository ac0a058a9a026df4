"""Protocols of the local model: noise is added on the device.

Here will live a client randomizer and a mergeable server aggregate per protocol (randomized response and its kin,
unary encodings, hashing, RAPPOR, Hadamard response, means, heavy hitters). They are private against everyone, the
collector included: a report alone satisfies the stated guarantee, and the server only absorbs, merges and
estimates.
"""

__all__: list[str] = []
