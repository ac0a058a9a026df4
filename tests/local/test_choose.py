"""Choosing a protocol: by variance, within the bits that are allowed, and saying why."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from celosia.core import ParameterError
from celosia.local.choose import Choice, choose
from celosia.local.frequency.direct_encoding import DirectEncoding
from celosia.local.frequency.hadamard_response import HadamardResponse
from celosia.local.frequency.local_hashing import LocalHashing
from celosia.local.frequency.subset_selection import SubsetSelection
from celosia.local.longitudinal.loloha import LOLOHA


def test_no_alternative_is_better() -> None:
    epsilon_cases: list[Any] = ["0.1", 1, 2, 4, 9]
    size_cases: list[int] = [2, 3, 30, 1000, 65536]
    longitudinal_cases: list[bool] = [False, True]
    for epsilon in epsilon_cases:
        for size in size_cases:
            for longitudinal in longitudinal_cases:
                choice = choose(size, epsilon, longitudinal=longitudinal)
                chosen = _chosen(choice)
                least = choice.alternatives[0].variance
                assert [one.variance for one in choice.alternatives] == pytest.approx(
                    sorted(one.variance for one in choice.alternatives)
                )
                assert chosen.variance <= 1.01 * least
                assert all(one.bits >= chosen.bits for one in choice.alternatives if one.variance <= 1.01 * least)
                assert all(one.protocol.guarantee.epsilon <= Fraction(epsilon) for one in choice.alternatives)
                assert all((one.lifetime is not None) == longitudinal for one in choice.alternatives)
                for one in choice.alternatives:
                    if one.lifetime is not None and one.plain_lifetime is not None:
                        assert one.plain_lifetime > one.lifetime
                        assert math.isinf(one.plain_lifetime) == one.name.startswith("DBitFlip")


def _chosen(choice: Choice) -> Any:
    (chosen,) = [one for one in choice.alternatives if one.protocol == choice.protocol and one.fits]
    return chosen


def test_the_well_known_cases() -> None:
    assert choose(2, 1).protocol == DirectEncoding(domain=2, epsilon=1)
    assert choose(100, 4).protocol == DirectEncoding(domain=100, epsilon=4)
    assert choose(100, 1).protocol == SubsetSelection(domain=100, epsilon=1)
    assert choose(65536, 1).protocol == LocalHashing(domain=65536, epsilon=1)
    assert choose(65536, 1, bits=20).protocol == HadamardResponse(domain=65536, epsilon=1, blocks=1)
    assert choose(1000, 1, longitudinal=True).protocol == LOLOHA(domain=1000, epsilon=1, epsilon_infinity=2)
    assert choose(["a", "b"], 1).protocol == DirectEncoding(domain=["a", "b"], epsilon=1)


def test_the_report_is_short_enough() -> None:
    for bits in (10, 11, 12, 21, 33, 34, 999, 1000, 5000):
        choice = choose(1000, 1, bits=bits)
        chosen = _chosen(choice)
        assert chosen.bits == choice.protocol.bits <= bits
        assert all(one.fits == (one.bits <= bits) for one in choice.alternatives)


def test_the_table_is_that_of_the_documentation() -> None:
    known = {one.name: f"{one.variance:.3g}" for one in choose(1000, 2).alternatives}
    assert known == {
        "SubsetSelection": "0.721",
        "OptimizedUnary": "0.724",
        "LocalHashing": "0.725",
        "OptimizedUnary, symmetric": "0.921",
        "CountMeanSketch": "0.923",
        "HadamardResponse": "1.27",
        "HadamardCountMeanSketch": "1.73",
        "DirectEncoding": "24.6",
    }


def test_the_reason_names_the_figures() -> None:
    assert choose(100, 1).reason == (
        "SubsetSelection, with a variance of 3.59 for each person: the least of all, in 100 bits."
    )
    reason = choose(1000, 1).reason
    for word in ("LocalHashing", "3.69", "3.67", "SubsetSelection", "34 instead of 1000 bits"):
        assert word in reason
    assert "at most 12 bits" in choose(1000, 1, bits=12).reason
    reason = choose(100, 1, longitudinal=True).reason
    assert "100,000 reports of one person spend an epsilon of 8 at most, but only between histories whose" in reason
    assert "between any two histories they spend up to 117,997." in reason
    assert "(too long)" in str(choose(1000, 1, bits=12))
    assert "lifetime" in str(choose(1000, 1, longitudinal=True))


def test_domains_that_no_client_would_put_in_order() -> None:
    names = [one.name for one in choose(65_537, 1, longitudinal=True).alternatives]
    assert "LOLOHA" in names
    assert not any(name.startswith("DBitFlip") for name in names)


def test_too_few_bits_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"bits must be at least 10, the report of .*, not 3"):
        choose(1000, 1, bits=3)


def test_bad_parameters_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"domain_size": 1, "epsilon": 1}, "domain_size"),
        ({"domain_size": 2.5, "epsilon": 1}, "domain_size"),
        ({"domain_size": True, "epsilon": 1}, "domain_size"),
        ({"domain_size": 10, "epsilon": 0}, "epsilon"),
        ({"domain_size": 10, "epsilon": float("nan")}, "epsilon"),
        ({"domain_size": 10, "epsilon": 1, "bits": 0}, "bits"),
        ({"domain_size": 10, "epsilon": 1, "bits": 1.5}, "bits"),
        ({"domain_size": 10, "epsilon": 1, "longitudinal": 1}, "longitudinal"),
        ({"domain_size": 10, "epsilon": 50, "longitudinal": True}, "epsilon"),
    ]
    for arguments, name in cases:
        with pytest.raises(ParameterError, match=name):
            choose(**arguments)
