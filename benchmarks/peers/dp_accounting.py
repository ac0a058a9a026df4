"""Google's dp-accounting: its Rényi and its privacy-loss-distribution accountants on the same events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dp_accounting
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

from benchmarks.peers.stopwatch import main, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

DELTA = 1e-5
ORDERS = [1 + x / 10 for x in range(1, 100)] + [*range(11, 64), 128, 256, 512, 1024]
TRAINING = dp_accounting.SelfComposedDpEvent(
    dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)), 10_000
)
LAPLACE = dp_accounting.LaplaceDpEvent(10.0)


def renyi() -> float:
    """Return epsilon of the training run by Rényi divergences."""
    return float(rdp_privacy_accountant.RdpAccountant(ORDERS).compose(TRAINING).get_epsilon(DELTA))


def loss(event: object, times: int = 1) -> Callable[[], float]:
    """Return the epsilon of an event by its privacy-loss distribution, as an action."""
    return lambda: float(pld_privacy_accountant.PLDAccountant().compose(event, times).get_epsilon(DELTA))


CASES = {
    "renyi-time": lambda: seconds(renyi, repeats=7),
    "renyi-epsilon": renyi,
    "pld-gaussian-time": lambda: seconds(loss(TRAINING)),
    "pld-gaussian-epsilon": loss(TRAINING),
    "pld-laplace-time": lambda: seconds(loss(LAPLACE, 1000)),
    "pld-laplace-epsilon": loss(LAPLACE, 1000),
}

if __name__ == "__main__":
    main(CASES)
