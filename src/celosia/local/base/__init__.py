"""Base classes and code of all protocols: reports, aggregates, estimates, packing, memoisation, plugins.

Read in the order of a report's way: ``protocol`` describes what client and server share (``domain``: for a known
domain), ``values`` turns a value into an integer, ``packing`` lays out the report, ``reports`` carries it,
``aggregate`` counts it, and ``estimate`` computes counts with errors. Counts of hashed and unary reports:
``bit_counts``, ``hashed_rows``, ``support`` and ``support_probabilities``. Statistics of estimates: ``confidence`` and
``null_law``. ``memoised`` repeats a client's answers, ``plugins`` finds protocols of other packages, and ``checks`` has
the checks of parameters and stored counts.
"""
