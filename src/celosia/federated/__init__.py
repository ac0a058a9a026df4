"""Many parties, one model: nobody's records leave their institution.

Here will live rounds over a star (federated averaging, proximal terms) and over a graph (gossip), and the bridge to
Flower for real networks. Clients clip and noise their updates before sending, so each message is a release with an
event of its own; sums are over integers on a grid, so that secure aggregation and exact noise agree.
"""

__all__: list[str] = []
