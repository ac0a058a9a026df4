"""Statistics that choose a candidate: quantiles, mode, top-k, points of an interval.

``most_common`` chooses one value of a public list, ``peeling`` several, and ``private_top_k`` needs no list. ``ranks``
chooses a quantile on the line of ``stretch``, ``quantile_ends`` the ends of its interval, and ``splitting`` all
quantiles at once. ``on_interval`` chooses a point by any bounded utility.
"""
