"""The first description of a federation: an example with a comment for every setting."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from celosia.federated.network.description import FILE_NAME

_TEXT: Final = """\
# A federation of Celosía. The server and every party hold a copy; nodes compare what decides the integers that parties
# send and what these cost, and refuse one another if it differs. Each party should read it before it joins.

[training]
# A party answers each round of a training once. To train again, which costs again, give another name.
name = "trial"
# The columns to learn from, and the one to predict; scalers and PCA have none.
features = ["age", "income"]
target = "debt"
rounds = 20
# The probability with which a party is asked in a round, and how many must answer.
participation = 1
least_parties = 2

# The parties, with public numbers of records. A person's records must all be with one party.
{parties}
# An estimator of celosia.learn: LinearRegression, Ridge, LogisticRegression, GaussianNB, PCA or StandardScaler. Bounds
# are public and never read from records: the lowest value of each feature, and the highest.
[estimator]
type = "LinearRegression"
bounds = [[0, 0], [100, 5000]]
bounds_y = [0, 10000]

# OneShot sends sums in one round; SGD and Proximal go on for several.
[update]
type = "SGD"

# What all rounds may cost each record: an epsilon, with a delta beside it, or a rho.
[privacy]
epsilon = 1
delta = "1e-6"
adjacency = "replace-one"

# With masks the server sees the sum of the parties only, and they share one noise: so many of them may collude with it,
# or fall silent in a round.
# [masks]
# colluders = 1
# silent = 0

# Rules that a few bad parties cannot steer, instead of masks: TrimmedMean, CoordinateMedian, Krum or ClippedSum.
# [combine]
# type = "TrimmedMean"
# trim = 1

# Privacy for whole parties instead of records: a party's weights move by so much in a round, at the most.
# [level]
# clip = "0.5"

# Who averages, or masks, with whom: a shape, or edges = [["north", "south"], ...].
# [topology]
# shape = "ring"

# Each node's own: it may differ between copies.
[server]
address = "127.0.0.1:9092"
# Seconds after which a party that has not answered counts as silent in a round.
deadline = 600
# Who pays; without a ledger nothing is recorded.
# ledger = "sqlite:///budget.db"
# dataset = "visits"
# For trials only: noise that can be repeated hides nobody.
# seed = 7
"""


def write_template(folder: Path, names: Sequence[str]) -> Path:
    """Write the example with some parties, and return its path; a file that is there stays."""
    file = folder / FILE_NAME
    parties = "".join(f"[parties.{json.dumps(name, ensure_ascii=False)}]\nrecords = 1000\n\n" for name in names)
    with file.open("x", encoding="utf-8") as opened:
        opened.write(_TEXT.replace("{parties}\n", parties))
    return file
