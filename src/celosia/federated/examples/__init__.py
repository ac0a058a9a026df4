"""Records to try federations on: invented ones, and ways to divide a table among parties.

``debt`` is a stand-in for a public table that cannot be had; ``synthetic`` has the parties of the FedProx paper, which
differ as much as one likes; ``partition`` divides records evenly, by label, by column, or by a Dirichlet law.
"""

__all__: list[str] = []
