"""Who talks to whom: graphs of parties, the weights of gossip on them, and their pictures.

``graph`` has the graph and what it falls apart into; ``shapes`` makes graphs by name; ``weights`` has the matrices with
which neighbours average, and how fast they agree; ``layout`` and ``charts`` draw a graph.
"""

__all__: list[str] = []
