"""Local protocols, client and server, against the peers: seconds of a report, on one thread, from the system's source.

The peers make and add up reports one by one; ours come in arrays, 10,000 at a time where a peer is asked (2,000 where
it takes long), and a server's time has its share of one estimate of all 1,024 values where the peer's has.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import ROOT, Case
from benchmarks.peers.local_values import DOMAIN, EPSILON, HASHES, REPORTS, SLOW, WIDTH, words
from benchmarks.peers.stopwatch import peak_megabytes, seconds
from celosia.local import (
    LOLOHA,
    CountMeanSketch,
    DBitFlip,
    DirectEncoding,
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    OptimizedUnary,
    PrefixExtension,
    Rappor,
    SequenceFragmentPuzzle,
    SubsetSelection,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celosia.local import Protocol

MANY = 1 << 18
CANDIDATES = 1_000
STREAMED = 10_000_000
TEN = "10 x in the median"

CMS = CountMeanSketch(epsilon=2, hashes=HASHES, width=WIDTH, seed=7)
HCMS = HadamardCountMeanSketch(epsilon=2, hashes=HASHES, width=WIDTH, seed=7)
SFP = SequenceFragmentPuzzle(epsilon=8, fragment_hashes=256, seed=7)

PURE, MULTI = "pure_ldp", "multi_freq_ldpy"
BOTH = (PURE, MULTI)

PROTOCOLS: dict[str, tuple[Protocol[Any], tuple[str, ...], int]] = {
    "direct": (DirectEncoding(domain=DOMAIN, epsilon=2), BOTH, REPORTS),
    "oue": (OptimizedUnary(domain=DOMAIN, epsilon=2), BOTH, REPORTS),
    "sue": (OptimizedUnary(domain=DOMAIN, epsilon=2, symmetric=True), BOTH, REPORTS),
    "olh": (LocalHashing(domain=DOMAIN, epsilon=2), BOTH, SLOW),
    "flh": (LocalHashing(domain=DOMAIN, epsilon=2, hashes=1000), (PURE,), REPORTS),
    "hr": (HadamardResponse(domain=DOMAIN, epsilon=2), (PURE,), REPORTS),
    "ss": (SubsetSelection(domain=DOMAIN, epsilon=2), (MULTI,), SLOW),
    "dbitflip": (DBitFlip(buckets=DOMAIN, d=4, epsilon=2), (MULTI,), SLOW),
    "loloha": (LOLOHA(domain=DOMAIN, epsilon=1, epsilon_infinity=2), (MULTI,), SLOW),
}
"""Over a known domain: a server's time has an estimate of all of it."""

OPEN: dict[str, tuple[Protocol[Any], int]] = {
    "cms": (CMS, REPORTS),
    "hcms": (HCMS, REPORTS),
    "rappor": (Rappor(bits=128, hashes=2, cohorts=8, f=0.5, p=0, q=1), REPORTS),
    "sfp": (SequenceFragmentPuzzle(epsilon=2, fragment_epsilon=1, fragment_hashes=HASHES), SLOW),
    "pem": (PrefixExtension(epsilon=2, domain=2**20, step=7), SLOW),
}
"""Over an open domain: a server's time is that of adding reports up."""


def values_of(name: str, count: int) -> Any:
    """What people hold."""
    return words(count) if name == "sfp" else np.arange(count) % DOMAIN


def client_time(protocol: Protocol[Any], values: Any) -> float:
    """Seconds of a report."""
    return seconds(lambda: protocol.privatize(values)) / len(values)


def server_time(protocol: Protocol[Any], values: Any, *, estimate: bool) -> float:
    """Seconds of a report, with its share of an estimate or without."""
    reports = protocol.privatize(values)
    if not estimate:
        return seconds(lambda: protocol.aggregate().absorb(reports)) / len(values)
    return seconds(lambda: protocol.aggregate().absorb(reports).estimate()) / len(values)


def estimate_time(protocol: Protocol[Any]) -> float:
    """Seconds of one of a thousand candidates."""
    aggregate = protocol.aggregate().absorb(protocol.privatize(np.arange(MANY) % DOMAIN))
    return seconds(lambda: aggregate.estimate(np.arange(CANDIDATES))) / CANDIDATES


def dictionary_time(reports: int = 200_000, top: int = 10) -> float:
    """Seconds to find the texts that are in a sketch of fragments of 256 rows."""
    protocol: Any = SFP
    held = words(64) * (reports // 64)
    aggregate = protocol.aggregate().absorb_all(protocol.batches(held))
    return seconds(lambda: protocol.discover(aggregate, top=top), repeats=3)


def peak(name: str) -> float:
    """Most memory, in MB, of a process of its own that makes and adds up ten million reports."""
    command = [sys.executable, "-m", "benchmarks.local", name]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return float(json.loads(answer.stdout.splitlines()[-1])["value"])


def stream(name: str, reports: int = STREAMED) -> float:
    """Make and add up reports in batches, and say how much memory it took."""
    protocol = (PROTOCOLS | OPEN)[name][0]
    aggregate = protocol.aggregate().absorb_all(protocol.batches(np.arange(reports) % DOMAIN))
    if aggregate.reports != reports:
        sys.exit(f"{aggregate.reports} of {reports} reports were absorbed")
    return peak_megabytes()


def cases() -> list[Case]:
    """Return the cases of the room."""
    return [*headlines(), *against(), *memory()]


def timed(
    what: str, measure: Callable[[], float], parameters: Mapping[str, object], aim: str, peers: Mapping[str, str]
) -> Case:
    """A case whose function returns seconds of one report, or of one item."""
    return Case(what=what, measure=measure, unit="s", parameters=parameters, peers=peers, aim=aim)


def headlines() -> list[Case]:
    """What the seed's own figures are set against, with reports in plenty."""
    held, sketch = np.arange(MANY) % DOMAIN, {"k": HASHES, "m": WIDTH, "n": MANY}

    def client(protocol: Protocol[Any]) -> Callable[[], float]:
        return lambda: client_time(protocol, held)

    def server(protocol: Protocol[Any]) -> Callable[[], float]:
        return lambda: server_time(protocol, held, estimate=False)

    return [
        timed("CMS, client", client(CMS), sketch, "2.5 µs (400k/s)", {PURE: "cms-client"}),
        timed("CMS, server", server(CMS), sketch, "2 µs (500k/s)", {PURE: "cms-server"}),
        timed("HCMS, client", client(HCMS), sketch, "200 ns (5M/s)", {PURE: "hcms-client"}),
        timed("HCMS, server", server(HCMS), sketch, "100 ns (10M/s)", {PURE: "hcms-server"}),
        timed("CMS, one of 1,000 candidates", lambda: estimate_time(CMS), sketch, "30 µs", {PURE: "cms-estimate"}),
        timed("HCMS, one of 1,000 candidates", lambda: estimate_time(HCMS), sketch, "76 µs", {PURE: "hcms-estimate"}),
        timed("SFP, dictionary", dictionary_time, {"k'": 256, "T": 10}, "3 s", {}),
    ]


def against() -> list[Case]:
    """Every protocol that a peer has."""
    made = []
    for name, (protocol, peers, count) in PROTOCOLS.items():
        made.append(_pair(name, protocol, "client", REPORTS, peers, estimate=True))
        made.append(_pair(name, protocol, "server", count, peers, estimate=True))
    for name, (protocol, count) in OPEN.items():
        made.extend(_pair(name, protocol, side, count, (PURE,), estimate=False) for side in ("client", "server"))
    return made


def _pair(name: str, protocol: Protocol[Any], side: str, count: int, peers: tuple[str, ...], *, estimate: bool) -> Case:
    held = values_of(name, count)

    def measure() -> float:
        return client_time(protocol, held) if side == "client" else server_time(protocol, held, estimate=estimate)

    parameters = {"epsilon": EPSILON, "n": count}
    what = f"{type(protocol).__name__} ({name}), {side}"
    return timed(what, measure, parameters, TEN, dict.fromkeys(peers, f"{name}-{side}"))


def memory() -> list[Case]:
    """Ten million reports, made and added up in batches, in a process of its own."""
    return [
        Case.number(f"most memory, {name}", partial(peak, name), unit="MB", parameters={"n": STREAMED}, aim="< 1024")
        for name in ("cms", "hcms", "direct")
    ]


if __name__ == "__main__":
    print(json.dumps({"value": stream(sys.argv[1])}))
