"""Maddock's pure-ldp: a client and a server object, one report per call, with Python's and NumPy's generators."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from pure_ldp import frequency_oracles as oracles
from pure_ldp import heavy_hitters

from benchmarks.peers.local_values import DOMAIN, EPSILON, HASHES, REPORTS, SLOW, WIDTH, words
from benchmarks.peers.stopwatch import main, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

warnings.simplefilter("ignore")  # about few reports


def domain_oracle(kind: str, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """Client and server of an oracle over a known domain, whose values they take from 1 on."""
    client, server = getattr(oracles, f"{kind}Client"), getattr(oracles, f"{kind}Server")
    return client(EPSILON, DOMAIN, *arguments, **options), server(EPSILON, DOMAIN, *arguments, **options)


def hadamard_response() -> tuple[Any, Any]:
    """Hadamard response; its server draws a permutation."""
    server = oracles.HadamardResponseServer(EPSILON, DOMAIN)
    return oracles.HadamardResponseClient(EPSILON, DOMAIN, server.get_hash_funcs()), server


def sketch(*, hadamard: bool) -> tuple[Any, Any]:
    """Apple's count-mean sketch, with or without a Hadamard transform."""
    server = oracles.CMSServer(EPSILON, HASHES, WIDTH, is_hadamard=hadamard)
    return oracles.CMSClient(EPSILON, server.get_hash_funcs(), WIDTH, is_hadamard=hadamard), server


def rappor() -> tuple[Any, Any]:
    """RAPPOR without its instantaneous response, which it does not have."""
    server = oracles.RAPPORServer(0.5, 128, 2, DOMAIN, num_of_cohorts=8)
    return oracles.RAPPORClient(0.5, 128, server.get_hash_funcs(), num_of_cohorts=8), server


def fragments() -> tuple[Any, Any]:
    """The sequence fragment puzzle on count-mean sketches."""
    client, server = sketch(hadamard=False)
    letters = set("abcdefghijklmnopqrstuvwxyz")
    return (
        heavy_hitters.SFPClient(EPSILON, 2, 10, alphabet=letters, fo_client=client),
        heavy_hitters.SFPServer(EPSILON, 2, 10, alphabet=letters, fo_server=server),
    )


def prefixes() -> tuple[Any, Any]:
    """Prefix extension over texts of twenty bits, on count-mean sketches."""
    client, server = sketch(hadamard=False)  # local hashing would need a table of all beginnings
    options = {"alphabet": {"0", "1"}}
    return (
        heavy_hitters.PEMClient(EPSILON, 0, 20, 7, fo_client=client, **options),
        heavy_hitters.PEMServer(EPSILON, 0, 20, 7, fo_server=server, **options),
    )


def numbers(count: int) -> list[Any]:
    """What people hold."""
    return [1 + index % DOMAIN for index in range(count)]


def binary(count: int) -> list[Any]:
    """Numbers of twenty binary digits, as texts."""
    return [format(index % 2**20, "020b") for index in range(count)]


def client_time(make: Callable[[], tuple[Any, Any]], count: int = REPORTS, values: Any = numbers) -> float:
    """Seconds of a report."""
    client, _ = make()
    held = values(count)
    return seconds(lambda: [client.privatise(value) for value in held], repeats=3) / count


def server_time(
    make: Callable[[], tuple[Any, Any]],
    count: int = REPORTS,
    values: Any = numbers,
    *,
    estimate: bool = True,
) -> float:
    """Seconds of a report: to be added up, and its share of one estimate of all values."""
    client, server = make()
    reports = [client.privatise(value) for value in values(count)]

    def run() -> object:
        server.reset()
        server.aggregate_all(reports)
        return server.estimate_all(range(1, DOMAIN + 1), suppress_warnings=True) if estimate else None

    return seconds(run, repeats=3, warm=False) / count


def found_time(make: Callable[[], tuple[Any, Any]], count: int, values: Any) -> float:
    """Seconds of a report, of a server that discovers values; what it has cannot be taken away again."""
    client, server = make()
    reports = [client.privatise(value) for value in values(count)]
    return seconds(lambda: [server.aggregate(report) for report in reports], repeats=1, warm=False) / count


def estimate_time(*, hadamard: bool, items: int = 20) -> float:
    """Seconds of an estimate of one value, once the table is transformed."""
    client, server = sketch(hadamard=hadamard)
    server.aggregate_all([client.privatise(value) for value in range(100)])
    server.estimate(1, suppress_warnings=True)
    return seconds(lambda: [server.estimate(value, suppress_warnings=True) for value in range(items)]) / items


ORACLES: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {
    "direct": (lambda: domain_oracle("DE"), REPORTS),
    "oue": (lambda: domain_oracle("UE", use_oue=True), REPORTS),
    "sue": (lambda: domain_oracle("UE"), REPORTS),
    "olh": (lambda: domain_oracle("LH", use_olh=True), SLOW),
    "flh": (lambda: domain_oracle("FastLH", 1000, use_olh=True), REPORTS),
    "hr": (hadamard_response, REPORTS),
}

CASES: dict[str, Callable[[], float]] = {
    **{f"{name}-client": partial(client_time, make) for name, (make, _) in ORACLES.items()},
    **{f"{name}-server": partial(server_time, *parts) for name, parts in ORACLES.items()},
    "cms-client": lambda: client_time(lambda: sketch(hadamard=False)),
    "cms-server": lambda: server_time(lambda: sketch(hadamard=False), estimate=False),
    "hcms-client": lambda: client_time(lambda: sketch(hadamard=True)),
    "hcms-server": lambda: server_time(lambda: sketch(hadamard=True), estimate=False),
    "cms-estimate": lambda: estimate_time(hadamard=False),
    "hcms-estimate": lambda: estimate_time(hadamard=True),
    "rappor-client": lambda: client_time(rappor),
    "rappor-server": lambda: server_time(rappor, estimate=False),
    "sfp-client": lambda: client_time(fragments, SLOW, words),
    "sfp-server": lambda: found_time(fragments, SLOW, words),
    "pem-client": lambda: client_time(prefixes, SLOW, binary),
    "pem-server": lambda: found_time(prefixes, SLOW, binary),
}

if __name__ == "__main__":
    main(CASES)
