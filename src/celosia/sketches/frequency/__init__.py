"""Frequency sketches: count-min, count-median, count-mean, count sketch, AMS, and dyadic ranges.

``table`` is the base of all of them, with the compiled loops of ``counters``. ``count_min`` is the simplest.
``levelled`` is the base of ``count_mean`` and ``count_median``, which subtract what other values contribute; ``signed``
is the base of ``count_sketch`` and ``ams``, in which values have signs. ``dyadic`` answers ranges by a count-min for
each level of ``binary_tree``.
"""
