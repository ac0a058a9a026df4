"""A description is read whole or refused with the setting that is wrong, and its copies give nodes that agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import celosia as cl
from celosia.core import CelosiaError, InputError, ParameterError, ReplaceOne
from celosia.federated import OneShot, Proximal
from celosia.federated.network.agreement import agree
from celosia.federated.network.description import Description, load_description
from celosia.federated.network.records import load_records
from celosia.federated.network.template import write_template

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["north", "south", 'the "west"']


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_template(tmp_path, NAMES)


def edit(file: Path, *changes: tuple[str, str]) -> Description:
    text = file.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    changed = file.with_name("changed.toml")
    changed.write_text(text, "utf-8")
    return load_description(changed)


def write_records(folder: Path, rows: int = 1000) -> dict[str, str]:
    rng = np.random.default_rng(3)
    files = {}
    for place, name in enumerate(NAMES):
        age, income = rng.uniform(0, 100, rows), rng.uniform(0, 5000, rows)
        table = pa.table({"id": np.arange(rows), "income": income, "debt": 20 * age + income, "age": age})
        files[name] = str(folder / f"{place}.parquet")
        pq.write_table(table, files[name])
    return files


def test_the_example_is_a_description_that_trains(file: Path) -> None:
    found = load_description(file.parent)
    assert found == load_description(file)
    assert found.names == tuple(NAMES)
    assert (found.address, found.deadline) == ("127.0.0.1:9092", 600.0)
    assert found.open_budget() is None
    federation = found.describe(write_records(file.parent))
    assert federation.preview().guarantee == cl.ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne)
    assert federation.run().coef_.shape == (2,)


def test_an_example_never_replaces_a_file(file: Path) -> None:
    with pytest.raises(FileExistsError):
        write_template(file.parent, NAMES)


def test_copies_agree_if_only_the_server_differs(file: Path) -> None:
    digests = set()
    for found in (
        load_description(file),
        edit(file, ("deadline = 600", "deadline = 9.5"), ("127.0.0.1:9092", "fed.example.org:1")),
        edit(file, ("# seed", "seed")),
        edit(file, ("epsilon = 1", "epsilon = 1.0")),
        edit(file, ("bounds = [[0, 0]", "bounds = [[0, 0.0]")),
    ):
        digests.add(agree(found.describe({}), found.terms)[1])
    same = digests.copy()
    for change in (
        ('name = "trial"', 'name = "second"'),
        ('["age", "income"]', '["income", "age"]'),
        ('target = "debt"', 'target = "other"'),
        ("[0, 0], [100", "[0, 1], [100"),
        ("rounds = 20", "rounds = 21"),
        ("epsilon = 1", "epsilon = 1.5"),
        ('[parties."south"]\nrecords = 1000', '[parties."south"]\nrecords = 999'),
    ):
        found = edit(file, change)
        digests.add(agree(found.describe({}), found.terms)[1])
    assert len(digests) == len(same) + 7
    assert len(same) <= 3  # 1 and 1.0 may count as different: nodes then refuse, and nothing is lost


def test_updates_and_estimators_are_those_of_the_package(file: Path) -> None:
    sgd = '[update]\ntype = "SGD"'
    proximal = edit(file, (sgd, '[update]\ntype = "Proximal"\nmu = 0.1'), ('adjacency = "replace-one"\n', ""))
    assert isinstance(proximal.describe({}).update, Proximal)
    assert proximal.describe({}).plan().rounds == 20
    shot = edit(
        file,
        (sgd, '[update]\ntype = "OneShot"'),
        ("rounds = 20\n", ""),
        ('target = "debt"\n', ""),
        ('type = "LinearRegression"', 'type = "StandardScaler"'),
        ("bounds_y = [0, 10000]\n", ""),
    )
    federation = shot.describe(write_records(file.parent))
    assert isinstance(federation.update, OneShot)
    assert federation.run().mean_.shape == (2,)


def test_ways_to_work_together_are_those_of_the_package(file: Path) -> None:
    west, server = 'the "west"', "# Each node's own: it"
    ways: list[tuple[str, dict[str, str]]] = [
        ("[masks]\nsilent = 1\ncolluders = 0\n", {"masks": "Masks(colluders=0, silent=1)"}),
        ('[masks]\n[topology]\nshape = "ring"\n', {"masks": "Masks(", "topology": "Graph(3 parties, 3 edges)"}),
        ('[topology]\nshape = "path"\nsteps = 2\n', {"topology": "Gossip(weights=Weights(3 parties"}),
        (
            f"[topology]\nedges = [['north', 'south'], ['south', '{west}']]\nweights = 'constant'\nalpha = 0.25\n",
            {"topology": "convergence factor 0.750"},
        ),
        ('[combine]\ntype = "TrimmedMean"\ntrim = 1\n', {"combine": "TrimmedMean(trim=1)"}),
        ("[level]\nclip = 0.5\n", {"level": "ClientLevel(clip=Fraction(1, 2))"}),
    ]
    digests = {agree(load_description(file).describe({}), {})[1]}
    for text, wanted in ways:
        federation = edit(file, (server, f"{text}\n{server}")).describe(write_records(file.parent))
        for name, words in wanted.items():
            assert words in repr(getattr(federation, name))
        assert federation.preview().rounds == 20
        digests.add(agree(federation, {})[1])
    assert len(digests) == len(ways) + 1
    wrong = [
        ("[masks]\nsilence = 1\n", "masks.silence"),
        ("[masks]\nsilent = 2\n", "at most 1 may fall silent"),
        ("masks = 3\n", "server.masks|masks"),
        ('[topology]\nshape = "heap"\n', "shape"),
        ("[topology]\nsteps = 2\n", "edges or a shape"),
        ('[topology]\nshape = "ring"\nedges = []\n', "edges or a shape"),
        ('[topology]\nshape = "ring"\nweights = "heavy"\n', "topology.weights"),
        ('[topology]\nshape = "ring"\nweights = "metropolis"\nalpha = 0.2\n', "topology.weights"),
        ('[masks]\n[topology]\nshape = "ring"\nsteps = 2\n', "topology.steps"),
        ('[combine]\ntype = "Sum"\n', "combine.type"),
        ('[combine]\ntype = "Krum"\n', "combine.bad"),
        ("[level]\n", "level.clip"),
    ]
    for text, words in wrong:
        with pytest.raises(CelosiaError, match=words):
            edit(file, (server, f"{text}\n{server}")).describe({}).preview()


def test_what_is_wrong_is_named(file: Path) -> None:
    changes: list[tuple[str, str, str]] = [
        ("[training]", "[training", "TOML"),
        ("[training]", "[schooling]", "schooling"),
        ("least_parties = 2", "least_party = 2", "training.least_party"),
        ("least_parties = 2", "least_parties = 9", "least_parties is 9"),
        ("epsilon = 1", "epsilom = 1", "privacy.epsilom"),
        ("epsilon = 1", "epsilon = -1", "epsilon"),
        ('delta = "1e-6"', "", "delta"),
        ("deadline = 600", "deadline = 0", "deadline"),
        ("deadline = 600", 'deadline = "long"', "deadline"),
        ("deadline = 600", "deadline = inf", "deadline"),
        ("deadline = 600", "patience = 600", "server.patience"),
        ("# ledger", "ledger", "go together"),
        ("# seed = 7", "seed = true", "server.seed"),
        ('["age", "income"]', "[]", "training.features"),
        ('["age", "income"]', '"age"', "training.features"),
        ('["age", "income"]', '["age", 7]', "training.features"),
        ('name = "trial"', "", "training.name"),
        ('name = "trial"', "name = 3", "training.name"),
        ('type = "SGD"', 'type = "FedAvg"', "update.type"),
        ('type = "SGD"', 'type = "Proximal"\nrecords = 3', "update.records"),
        ('type = "SGD"', 'type = "Proximal"', "update.mu"),
        ('type = "LinearRegression"', 'type = "os"', "estimator.type"),
        ('type = "LinearRegression"', "", "estimator.type"),
        ('type = "LinearRegression"', 'type = "LinearRegression"\nbudget = 1', "estimator.budget"),
        ('type = "LinearRegression"', 'type = "LinearRegression"\nepsilon = 1', "estimator.epsilon"),
        ("bounds = [[0, 0], [100, 5000]]", "bounds = [0, 100]", "bounds for each feature"),
        ('[parties."south"]', '[parties."south".more]', "parties.south"),
    ]
    for old, new, words in changes:
        with pytest.raises(CelosiaError, match=words):
            edit(file, (old, new)).describe({}).preview()
    with pytest.raises(ParameterError, match="no party 'east'"):
        load_description(file).describe({"east": "east.csv"})
    with pytest.raises(FileNotFoundError):
        load_description(file.with_name("none.toml"))
    file.write_text("#" * (2**20 + 1))
    with pytest.raises(ParameterError, match="bytes"):
        load_description(file)


def test_a_ledger_is_beside_the_description(file: Path) -> None:
    found = edit(file, ("# ledger", "ledger"), ("# dataset", "dataset"))
    with pytest.raises(CelosiaError):
        found.open_budget()  # no ledger comes to be by a misspelt name
    with cl.open_ledger(f"sqlite:///{file.parent}/budget.db") as ledger:
        ledger.set_budget(cl.ApproxDP(epsilon=3, delta="1e-5", adjacency=ReplaceOne), dataset="visits")
    account = found.open_budget()
    found.describe(write_records(file.parent), budget=account).run()
    assert [one.kind for one in account.history] == ["federated"]


def test_records_are_read_from_csv_and_parquet(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "a": [1, 2, 3],
        "ill": ["no", "yes", "no"],
        "b": [0.5, None, 2.5],
        "well": [True, False, True],
    }
    csv, parquet = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), parquet)
    csv.write_text("a;ill;b;well\n1;no;0.5;true\n2;yes;;false\n3;no;2.5;true\n")
    for file in (csv, parquet):
        values, target = load_records(str(file), ["b", "a"], "ill", ["no", "yes"])
        assert values.dtype == np.float64
        assert np.array_equal(values, [[0.5, 1], [np.nan, 2], [2.5, 3]], equal_nan=True)
        assert target is not None
        assert target.tolist() == ["no", "yes", "no"]
        _, well = load_records(str(file), ["a"], "well", [False, True])
        assert well is not None
        assert well.tolist() == [True, False, True]
        _, number = load_records(str(file), ["a"], "b", None)
        assert number is not None
        assert number.dtype == np.float64
        assert load_records(str(file), ["a"], None, None)[1] is None


def test_records_that_cannot_be_read_are_never_quoted(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("a,b\nsecret,1\n")
    for features, target in ((["a"], None), (["c"], None), (["b"], "a")):
        with pytest.raises(InputError) as caught:
            load_records(str(file), features, target, None)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
    for content in (b"", b"\x00\xff\n\x80"):
        file.write_bytes(content)
        with pytest.raises(CelosiaError):
            load_records(str(file), ["a"], None, None)
