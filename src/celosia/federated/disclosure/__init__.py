"""What a party on a graph learns about the others, before training begins.

``views`` measures what gossip shows an observer; ``muffliato`` has a published formula that is no bound, for
comparison; ``methods`` price gossip, training with fresh noise, and masked sums; ``report`` says who learns what;
``better_edge`` finds the edge that protects most.

An *exposure* is a part of the squared mu of one party's own noise: 1 where an observer is as good as one that gets the
party's noisy message alone (local privacy), 0 where it learns nothing.
"""

__all__: list[str] = []
