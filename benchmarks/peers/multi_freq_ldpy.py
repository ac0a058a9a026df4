"""Arcolezi's multi-freq-ldpy: a function makes a report, some compiled by Numba, and one estimates from all reports."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from multi_freq_ldpy.long_freq_est.dBitFlipPM import dBitFlipPM_Aggregator_MI, dBitFlipPM_Client
from multi_freq_ldpy.long_freq_est.L_LH import L_LH_Aggregator_MI, L_LH_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

from benchmarks.peers.local_values import DOMAIN, EPSILON, REPORTS, SLOW
from benchmarks.peers.stopwatch import main, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

BITS = 4
OPTIMAL, SYMMETRIC = True, False


def client_time(client: Callable[[int], Any], count: int = REPORTS) -> float:
    """Seconds of a report."""
    return seconds(lambda: [client(index % DOMAIN) for index in range(count)], repeats=3) / count


def server_time(client: Callable[[int], Any], server: Callable[[list[Any]], Any], count: int = REPORTS) -> float:
    """Seconds of a report, of an estimate of all values from all reports."""
    reports = [client(index % DOMAIN) for index in range(count)]
    return seconds(lambda: server(reports), repeats=3, warm=False) / count


PROTOCOLS: dict[str, tuple[Callable[[int], Any], Callable[[list[Any]], Any], int]] = {
    "direct": (lambda v: GRR_Client(v, DOMAIN, EPSILON), lambda r: GRR_Aggregator_MI(r, DOMAIN, EPSILON), REPORTS),
    "oue": (
        lambda v: UE_Client(v, DOMAIN, EPSILON, OPTIMAL),
        lambda r: UE_Aggregator_MI(r, EPSILON, optimal=True),
        REPORTS,
    ),
    "sue": (
        lambda v: UE_Client(v, DOMAIN, EPSILON, SYMMETRIC),
        lambda r: UE_Aggregator_MI(r, EPSILON, optimal=False),
        REPORTS,
    ),
    "olh": (lambda v: LH_Client(v, DOMAIN, EPSILON), lambda r: LH_Aggregator_MI(r, DOMAIN, EPSILON), SLOW),
    "ss": (lambda v: SS_Client(v, DOMAIN, EPSILON), lambda r: SS_Aggregator_MI(r, DOMAIN, EPSILON), SLOW),
    "dbitflip": (
        lambda v: dBitFlipPM_Client(v, DOMAIN, DOMAIN, BITS, EPSILON),
        lambda r: dBitFlipPM_Aggregator_MI(r, DOMAIN, BITS, EPSILON),
        SLOW,
    ),
    "loloha": (
        lambda v: L_LH_Client(v, DOMAIN, EPSILON, EPSILON / 2),
        lambda r: L_LH_Aggregator_MI(r, DOMAIN, EPSILON, EPSILON / 2),
        SLOW,
    ),
}

CASES: dict[str, Callable[[], float]] = {
    **{f"{name}-client": partial(client_time, client) for name, (client, _, _) in PROTOCOLS.items()},
    **{f"{name}-server": partial(server_time, *parts) for name, parts in PROTOCOLS.items()},
}

if __name__ == "__main__":
    main(CASES)
