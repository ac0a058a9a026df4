"""The price of one event: epsilon and delta, rho, Rényi divergences, mu, dominating pairs.

One module for each kind of price, each a ``functools.singledispatch`` over events: ``basic``, ``concentrated``,
``renyi``, ``gdp`` and ``dominating``. Start with ``basic``. ``simplify`` first brings a structure of events into its
simplest form, and ``trade_off`` computes trade-off curves. The mathematics of single events is in ``closed_forms``,
``gaussian``, ``discrete_normal``, ``summed_gaussian``, ``bounded_laplace``, ``key_selection``, ``selection`` (private
searches), ``shuffling`` and ``certified``; ``binomial`` has the probabilities that some of them need.
"""
