"""How a protocol behaves: JSON, merging, the wire, hostile reports, seeds and refusals. Mutants: ``test_protocols``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import ApproxDP, ConformanceError, PureDP
from celosia.local import CountMeanSketch, DirectEncoding, Rappor
from celosia.noise import Seeded
from celosia.testing.protocols.conduct import (
    check_form,
    check_hostile,
    check_merging,
    check_refusals,
    check_seeds,
    check_wire,
)
from celosia.testing.protocols.law import read_law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.local.base.packing import Bytes

WIDE = CountMeanSketch(epsilon=1, hashes=5, width=67, seed=7)
VALUES = ["sun", "rain", "nieve"]


def test_a_wide_protocol_behaves() -> None:
    assert check_form(WIDE) == f"CountMeanSketch, 9 bytes a report, {WIDE.memory} bytes of state"
    assert check_merging(WIDE, VALUES, Seeded(1)).startswith("300 reports")
    assert check_wire(WIDE, VALUES, Seeded(1)).endswith("9 bytes in a batch, 13 alone")
    assert check_seeds(WIDE, VALUES).startswith("4096 reports")
    assert check_refusals(WIDE) == "8 kinds of values refused"


def test_hostile_reports_are_tried_in_thousands() -> None:
    found = check_hostile(WIDE, VALUES, None, Seeded(1))
    accepted = int(found.split()[-2])
    assert "of 8192 payloads" in found
    assert 0 < accepted < 8192  # of eight row numbers five are used, and two bits must be zero


def test_a_memoised_protocol_behaves() -> None:
    protocol = Rappor(bits=4, hashes=1, cohorts=2)
    assert check_hostile(protocol, VALUES, read_law(protocol, VALUES), Seeded(1)).endswith(
        "of 256 payloads 64 accepted"
    )


class Approximate(DirectEncoding):
    __slots__ = ()

    @property
    def guarantee(self) -> PureDP:
        return ApproxDP(epsilon=1, delta="1e-6")  # type: ignore[return-value]  # the mistake


class Versionless(DirectEncoding):
    __slots__ = ()

    @property
    def header(self) -> bytes:
        return b"\x00" + self.fingerprint


def test_a_protocol_must_have_the_form() -> None:
    cases: list[tuple[type[DirectEncoding], str]] = [(Approximate, "must guarantee PureDP"), (Versionless, "header")]
    for kind, words in cases:
        with pytest.raises(ConformanceError, match=words):
            check_form(kind(domain=3, epsilon=1))


class Fragile(DirectEncoding):
    """Trips over reports that it did not expect."""

    __slots__ = ()

    def is_valid(self, payload: Bytes) -> NDArray[np.bool_]:
        if (payload >= self.size).any():
            raise IndexError
        return np.ones(len(payload), dtype=np.bool_)


def test_a_server_must_not_trip() -> None:
    with pytest.raises(ConformanceError, match="a random payload raised IndexError"):
        check_hostile(Fragile(domain=3, epsilon=1), [0, 1], None, Seeded(1))


class Drops(DirectEncoding):
    __slots__ = ()

    def is_valid(self, payload: Bytes) -> NDArray[np.bool_]:
        return payload[:, 0] < 2


def test_a_server_must_take_what_its_clients_send() -> None:
    protocol = Drops(domain=3, epsilon=1)
    with pytest.raises(ConformanceError, match="drops reports of the protocol's own client"):
        check_wire(protocol, [0, 1, 2], Seeded(1))
    with pytest.raises(ConformanceError, match="drops a report that outputs lists"):
        check_hostile(protocol, [0, 1, 2], read_law(protocol, [0, 1, 2]), Seeded(1))


class Accepts(DirectEncoding):
    """Takes whatever comes for a value."""

    __slots__ = ()

    def encode(self, values: Any) -> NDArray[np.int64]:
        return np.zeros(len(values) if hasattr(values, "__len__") else 1, dtype=np.int64)


class Raises(DirectEncoding):
    """Raises an error of its own kind."""

    __slots__ = ()

    def encode(self, values: Any) -> NDArray[np.int64]:
        return np.asarray([{0: 0, 1: 1, 2: 2}[value] for value in values])


def test_a_client_must_refuse() -> None:
    cases: list[tuple[type[DirectEncoding], str]] = [
        (Accepts, "the client takes a"),
        (Raises, "was raised for invalid values"),
    ]
    for kind, words in cases:
        with pytest.raises(ConformanceError, match=words):
            check_refusals(kind(domain=3, epsilon=1))
