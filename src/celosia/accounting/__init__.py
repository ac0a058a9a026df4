"""What events cost: pure, zero-concentrated, Rényi, privacy-loss-distribution and Gaussian accountants.

So far: the exact privacy profile of discrete Gaussian noise (``gaussian``). Here will live the pricing of events into
guarantees, with composition, amplification by sampling and by shuffling, and amplification by iteration. Mechanisms
describe and accountants price: an accountant extends to a new event by ``functools.singledispatch``, and every
accountant passes the same conformance kit. Nothing here sees data.
"""

__all__: list[str] = []
