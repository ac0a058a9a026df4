"""Small summaries of large streams: hashing, Hadamard, Bloom, count-min, AMS, HyperLogLog, theta.

Here will live sketches that merge, serialize and state their error bounds. A sketch alone is *not* private: it is an
exact function of the records, however small. Rooms above add the noise; what they need from here is a bounded effect
of one person on the sketch, which each sketch states. Hash functions are keyed and stable across processes.
"""

__all__: list[str] = []
