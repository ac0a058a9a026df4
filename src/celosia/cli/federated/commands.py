"""``celosia federated``: train one model from the records of several parties, which stay where they are."""

from celosia.cli.account.options import commands
from celosia.cli.federated.simulate import simulate

federated = commands("federated", "Train with several parties: one model, and no records leave their holder.")
"""The sub-command."""

federated.command("simulate")(simulate)
