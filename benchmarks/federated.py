"""Federations: how long a simulation takes, and how good models are at the same true epsilon.

A round of ours is one array operation over all parties; Flower's simulation is asked for fewer parties and rounds, and
told by party and round, without any privacy. Accuracy is compared with DP-SGD of Opacus at each party: the same rounds,
the same epsilon and delta for a record, and the best of its step sizes. Flower's own privacy is for whole parties, as
our ``ClientLevel`` is: there the epsilon of a replaced party is what its noise truly costs, over all rounds.
"""

from __future__ import annotations

import functools
import itertools
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from benchmarks.harness import Case
from benchmarks.peers import flower_newest
from benchmarks.peers.people import load, splits
from benchmarks.peers.stopwatch import seconds
from benchmarks.tables.fedprox import accuracy
from celosia.federated import SGD, ClientLevel, Federation, Masks, OneShot, Proximal, split_evenly
from celosia.federated.masked import MaskedPlan
from celosia.federated.updates.plan import UpdatePlan
from celosia.learn import LinearRegression, LogisticRegression
from celosia.noise import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

DELTA = 1e-5
PARTIES, RECORDS, FEATURES, STEPS, ROUNDS = 1_000, 32, 50, 5, 100
RUNS = 200
CLINICS, SPLITS = 5, 10  # those of benchmarks/peers/opacus_clients.py
PHONES = 199  # parties of benchmarks/peers/flower_private.py, with two records each
STEP_SIZES = (8, 16, 32, 64)  # the best of as many as Opacus tries, which is not paid for either


def _make_devices() -> Federation:
    rng = np.random.default_rng(0)
    parties = {}
    for number in range(PARTIES):
        features = rng.uniform(-1, 1, (RECORDS, FEATURES))
        parties[f"device {number}"] = features, features[:, 0] > 0
    estimator = LogisticRegression(bounds=(-1, 1), classes=[False, True])
    update = SGD(estimator=estimator, steps=STEPS, records=RECORDS)
    return Federation(parties=parties, update=update, epsilon=1, delta=DELTA, rounds=ROUNDS)


def _times() -> list[Case]:
    federation = _make_devices()
    size = {"records": RECORDS, "features": FEATURES, "steps": STEPS}
    whole = functools.partial(seconds, federation.run, repeats=2)
    return [
        Case(
            what="a simulation, in process",
            measure=whole,
            unit="s",
            parameters={"parties": PARTIES, "rounds": ROUNDS, **size},
            aim="8 s",
        ),
        Case(
            what="a party in a round",
            measure=lambda: whole() / PARTIES / ROUNDS,
            unit="s",
            parameters=size,
            peers={"flower": "party-round"},
            aim="flower: 50 x",
        ),
    ]


def _networks() -> list[Case]:
    about = {"parties": len(flower_newest.NAMES), "rounds": flower_newest.ROUNDS}
    return [
        Case(
            what=f"in processes, TLS and keys of nodes, flwr {version('flwr')}",
            measure=flower_newest.time_rounds,
            unit="s",
            parameters={**about, "fails": "if the integers are not those of one process"},
            peers={"flower_newest": "three-rounds"},
            aim="the same integers",
        ),
        Case.number(
            "who refuses to run the server's agent",
            lambda: float(len(flower_newest.NAMES)),
            unit="parties",
            parameters={**about, "fails": "if the server's code ran at a party"},
            peers={"flower_newest": "agents"},
            aim="all",
        ),
    ]


def federated_accuracy(epsilon: float, **settings: Any) -> NDArray[np.float64]:
    """Return the accuracy of every split of breast cancer: as many rounds of SGD with all records as Opacus takes."""
    people = load("breast")
    estimator = LogisticRegression(bounds=(people.low, people.high), classes=[0, 1])
    found = []
    for train, test in splits(len(people.X), SPLITS):
        model = Federation(
            parties=split_evenly(people.X[train], people.y[train], CLINICS),
            update=SGD(estimator=estimator, **settings),
            epsilon=epsilon,
            delta=DELTA,
            rounds=50,
        ).run()
        found.append(model.score(people.X[test], people.y[test]))
    return np.array(found)


# ------------------------------------------------------------------------------------------------------ whole parties


def protect_parties(
    epsilon: float, *, masks: bool, clip: int, seed: int = 0, count: int = SPLITS, **settings: Any
) -> NDArray[np.float64]:
    """Return the accuracy of some splits of breast cancer with 199 parties, each of them private as a whole.

    The numbers of a round are added up without their masks, which cancel: the sum is the same, and 10 s faster.
    """
    people = load("breast")
    estimator = LogisticRegression(bounds=(people.low, people.high), classes=[0, 1])
    found = []
    for place, (train, test) in enumerate(splits(len(people.X), count)):
        federation = Federation(
            parties=split_evenly(people.X[train], people.y[train], PHONES),
            update=SGD(estimator=estimator, steps=STEPS, **settings),
            epsilon=epsilon,
            delta=DELTA,
            rounds=10,
            level=ClientLevel(clip=clip),
            masks=Masks() if masks else None,
            source=Seeded(seed + place),
        )
        with patch.object(MaskedPlan, "add_up", UpdatePlan.add_up):
            found.append(federation.run().score(people.X[test], people.y[test]))
    return np.array(found)


def protect_best(epsilon: float, *, masks: bool) -> NDArray[np.float64]:
    """Return the accuracies, with new noise, of the step and clip that were best on half of the splits.

    It is the best of nine, as for Flower. Clips and steps are those of Flower in our units, where a row of 31 features
    is no longer than 1.
    """

    def score(one: tuple[int, int]) -> float:
        found = protect_parties(epsilon, masks=masks, clip=one[0], step_size=one[1], seed=SPLITS, count=SPLITS // 2)
        return float(found.mean())

    clip, step = max(itertools.product((8, 16, 32), (32, 128, 512)), key=score)
    return protect_parties(epsilon, masks=masks, clip=clip, step_size=step)


def _whole_parties() -> list[Case]:
    about = {"parties": PHONES, "rounds": 10, "delta": DELTA}
    return [
        _mean(
            f"whole parties of breast cancer, {name}",
            functools.partial(run, epsilon, masks=masks),
            "accuracy",
            peers={"flower_private": f"{peer}-{epsilon}"},
            aim=aim,
            epsilon=epsilon,
            against=peer,
            **about,
        )
        for epsilon in (1, 4)
        for name, run, masks, peer, aim in (
            ("masks, the best step", protect_best, True, "fixed", "as a trusted server"),
            ("masks, as it is", functools.partial(protect_parties, clip=16), True, "adaptive", "as a trusted server"),
            ("no masks, the best step", protect_best, False, "local", "the same"),
        )
    ]


# ------------------------------------------------------------------------------------------------------ least squares


def make_lines(parties: int = 7, rows: int = 200) -> tuple[dict[str, Any], NDArray[Any], NDArray[Any]]:
    """Return parties with four features and a target that they explain, all between -1 and 1."""
    rng = np.random.default_rng(7)
    features = rng.uniform(-1, 1, (parties * rows, 4))
    target = np.clip(features @ np.array([0.45, -0.35, 0.25, 0.15]) + rng.normal(0, 0.13, len(features)), -1, 1)
    return split_evenly(features, target, parties), features, target


def r_squared(method: str, runs: int = RUNS) -> NDArray[np.float64]:
    """Return R² of as many runs, at epsilon 1 and replace-one."""
    parties, features, target = make_lines()
    line = LinearRegression(bounds=(-1, 1), bounds_y=(-1, 1))
    if method == "without privacy":
        plain = LinearRegression(epsilon=float("inf"), bounds=(-1, 1), bounds_y=(-1, 1)).fit(features, target)
        return np.array([plain.score(features, target)] * 2)
    updates: dict[str, tuple[Any, int]] = {
        "one-shot": (OneShot(line), 1),
        "SGD": (SGD(estimator=line), 30),
        "proximal": (Proximal(estimator=line, mu="0.1"), 10),
    }
    (update, rounds), masks = (
        updates[method.partition(",")[0]],
        Masks(colluders=0) if method.endswith("masks") else None,
    )
    private: dict[str, Any] = {"epsilon": 1, "delta": DELTA, "adjacency": "replace-one"}
    federation = functools.partial(Federation, parties=parties, update=update, rounds=rounds, masks=masks, **private)
    return np.array([federation(source=Seeded(seed)).run().score(features, target) for seed in range(runs)])


def _mean(what: str, run: Any, unit: str, aim: str = "", peers: dict[str, str] | None = None, **about: object) -> Case:
    """A case of a mean whose standard error is told among the parameters, once it is known."""
    parameters = dict(about)

    def measure() -> float:
        found = run()
        parameters["se"] = round(float(found.std(ddof=1) / len(found) ** 0.5), 4)
        return float(found.mean())

    return Case(what=what, measure=measure, unit=unit, parameters=parameters, peers=peers or {}, aim=aim)


def scaled_by_bounds(epsilon: float) -> NDArray[np.float64]:
    """Return the accuracies where no moments are released, and numbers of records are public instead."""
    return federated_accuracy(epsilon, moments=0, records=569 * 7 // 10 // CLINICS)


def best_accuracy(epsilon: float) -> NDArray[np.float64]:
    """Return the accuracies of the best step."""
    found = [federated_accuracy(epsilon, step_size=size, clip="1/8") for size in STEP_SIZES]
    return max(found, key=lambda one: float(one.mean()))


def cases() -> list[Case]:
    """Return the cases of the room."""
    about = {"parties": CLINICS, "delta": DELTA}
    clinics = [
        _mean(
            f"breast cancer, SGD, {name}",
            functools.partial(run, epsilon),
            "accuracy",
            peers={"opacus_clients": f"breast-{epsilon}"},
            aim="at least opacus",
            epsilon=epsilon,
            **about,
        )
        for epsilon in (1, 5)
        for name, run in (
            ("as it is", federated_accuracy),
            ("without moments", scaled_by_bounds),
            ("the best step", best_accuracy),
        )
    ]
    # What prototypes reached on other records of this shape; the iterative ones were tuned by an oracle.
    reached = {
        "without privacy": ".886",
        "one-shot": ".754",
        "one-shot, masks": ".863",
        "SGD": ".638",
        "SGD, masks": ".829",
        "proximal": ".624",
    }
    lines = [
        _mean(
            f"four features, {method}",
            functools.partial(r_squared, method),
            "R²",
            aim=f"prototype {reached[method]}" if method in reached else "",
            parties=7,
            records=200,
            epsilon=1,
        )
        for method in (*reached, "proximal, masks")
    ]
    devices = [
        _mean(
            f"Synthetic(1, 1), {name}, no privacy",
            functools.partial(accuracy, mu=mu, keep=mu > 0, slow=slow),
            "accuracy",
            aim=aim,
            slow=slow,
        )
        for name, mu, slow, aim in (
            ("FedAvg", 0, 0.0, "prototype .703"),
            ("FedProx", 1, 0.0, "prototype .762"),
            ("FedAvg", 0, 0.9, "prototype .515"),
            ("FedProx", 1, 0.9, "FedAvg and .20"),
        )
    ]
    return [*_times(), *_networks(), *_whole_parties(), *clinics, *lines, *devices]
