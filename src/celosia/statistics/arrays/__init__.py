"""Statistics of a plain array in one call.

One module for each group of functions: ``counting``, ``averages``, ``spread``, ``dependence``, ``order_statistics``,
``modes``. Each reads its column by ``reading`` and rounds it to steps by ``stepping``. ``terms`` holds the terms of a
release that sums: its price, its neighbours, its randomness.
"""
