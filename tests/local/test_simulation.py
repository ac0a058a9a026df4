"""Simulations: every protocol of the catalogue, with the true counts beside what it estimates."""

from __future__ import annotations

import json
import string
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.core.errors import InputError, ParameterError
from celosia.local import CountMeanSketch, DirectEncoding, Duchi, HierarchicalHistogram, PrefixExtension
from celosia.local.catalogue import build, load_catalogue
from celosia.local.simulation import simulate
from celosia.noise import Seeded

CATALOGUE = load_catalogue()

VALUES = np.repeat(np.arange(6), [4000, 2000, 1000, 500, 250, 250])
WORDS = ["sunshine"] * 4000 + ["rain"] * 3000 + ["fog"] * 3


def test_counts_are_near_the_truth_and_the_errors_are_as_stated() -> None:
    for name in [name for name, entry in CATALOGUE.items() if entry.task in ("counts", "ranges")]:
        entry = CATALOGUE[name]
        small: dict[str, Any] = {"hashes": 64, "width": 128} if "width" in entry.options else {}
        options = {"domain": 6} if entry.requires == "domain" else small
        protocol = build(name, epsilon=None if name == "rappor" else 4, **options)
        found = simulate(protocol, VALUES, task=entry.task, source=Seeded(7))
        assert dict(zip(found.keys, found.true, strict=True)) == {0: 4000, 1: 2000, 2: 1000, 3: 500, 4: 250, 5: 250}
        assert found.metrics is not None
        assert found.expected_rmse is not None
        assert found.metrics.rmse < 3 * found.expected_rmse
        assert found.coverage >= 0.5
        assert found.found == 6
        assert found.reports == 8000
        assert found.seeded
        assert min(found.seconds.client, found.seconds.update, found.seconds.estimate) >= 0


def test_means() -> None:
    for name in ("duchi", "piecewise", "hybrid", "laplace", "onebit"):
        numbers = np.random.default_rng(1).uniform(0, 10, 20_000)
        found = simulate(build(name, epsilon=4, low=0, high=10), numbers, task="mean", source=Seeded(7))
        assert found.keys == ["mean"]
        assert found.true[0] == pytest.approx(numbers.mean())
        assert abs(found.estimated[0] - found.true[0]) < 2 * (found.high[0] - found.low[0])
        assert found.metrics is None
        assert "rmse" not in repr(found)


def test_words_that_were_missed_come_after_those_that_were_found() -> None:
    protocol = PrefixExtension(epsilon=6, alphabet=string.ascii_lowercase, length=6)
    found = simulate(protocol, WORDS, task="words", source=Seeded(7))
    assert found.keys[:2] == ["sunshi", "rain"]  # cut, as the protocol cuts them
    assert found.keys[found.found :] == ["fog"]
    assert dict(zip(found.keys, found.true.tolist(), strict=True)).items() >= {"sunshi": 4000, "fog": 3}.items()
    assert found.estimated[-1] == 0
    assert found.expected_rmse is None
    assert found.metrics is not None
    assert found.metrics.keys == len(found.keys)
    assert found.statement


def test_distinct_values() -> None:
    found = simulate(build("distinct", epsilon=4, buckets=256), WORDS, task="distinct", source=Seeded(7))
    assert found.true.tolist() == [2.0]
    assert found.estimated[0] == pytest.approx(2, abs=0.5)
    assert found.coverage == 1.0


def test_distinct_values_that_fewer_hold_are_told_apart() -> None:
    values = np.repeat(np.arange(30), np.arange(20, 620, 20))  # of all frequencies
    found = simulate(build("distinct", epsilon=4), values, task="distinct", source=Seeded(7))
    assert found.coverage == 1.0
    assert found.statement
    assert f"In truth {found.true[0]:.0f} are held by as many, and 30 by anybody." in found.statement


def test_the_clock_runs_after_a_report_that_nobody_counts() -> None:
    protocol = DirectEncoding(domain=6, epsilon=4)
    first, again = (simulate(protocol, VALUES, source=Seeded(7)) for _ in range(2))
    reports = protocol.aggregate().absorb(protocol.privatize(VALUES, source=Seeded(7)))
    assert first.estimated.tolist() == again.estimated.tolist() == reports.estimate().counts.tolist()
    assert first.reports == len(VALUES)


def test_ranges_have_quantiles() -> None:
    protocol = HierarchicalHistogram(domain=6, epsilon=4, fanout=2)
    found = simulate(protocol, VALUES, task="ranges", source=Seeded(7))
    assert [one.true for one in found.quantiles] == [0, 0, 1]
    assert all(one.low <= one.estimated <= one.high for one in found.quantiles)
    assert not simulate(DirectEncoding(domain=6, epsilon=4), VALUES).quantiles


def test_seeds_repeat_and_the_system_is_not_seeded() -> None:
    protocol = DirectEncoding(domain=6, epsilon=1)
    one, two = (simulate(protocol, VALUES, source=Seeded(3)) for _ in range(2))
    assert one.estimated.tolist() == two.estimated.tolist()
    assert not simulate(protocol, VALUES).seeded


def test_values_of_a_known_domain_that_nobody_has_are_shown() -> None:
    found = simulate(DirectEncoding(domain=["a", "b", "c"], epsilon=4), ["a", "b"])
    assert found.keys == ["a", "b", "c"]
    assert found.true.tolist() == [1, 1, 0]
    assert simulate(CountMeanSketch(epsilon=4, hashes=4, width=16), ["a", "b", "b"]).keys == ["b", "a"]


def test_columns_of_all_kinds_and_watching() -> None:
    seen: list[int] = []
    protocol = DirectEncoding(domain=6, epsilon=1)
    for values in (VALUES, VALUES.tolist(), pa.array(VALUES)):
        simulate(protocol, values, watch=seen.append)
    assert seen == [8000] * 3


def test_postprocessing_and_levels() -> None:
    protocol = DirectEncoding(domain=6, epsilon="0.1")
    found = simulate(protocol, VALUES, postprocess="norm-sub", source=Seeded(1), level=0.5)
    assert found.estimated.min() >= 0
    assert found.estimated.sum() == pytest.approx(8000)
    wide = simulate(protocol, VALUES, source=Seeded(1), level=0.99)
    assert (wide.high - wide.low).sum() > (found.high - found.low).sum()


def test_rows_travel() -> None:
    found = simulate(DirectEncoding(domain=6, epsilon=1), VALUES, source=Seeded(1))
    rows = found.to_arrow().to_pylist()
    assert rows[0] == {"value": 0, "true": 4000.0, **{key: rows[0][key] for key in ("estimated", "low", "high")}}
    assert found.metrics is not None
    json.dumps(found.metrics.to_dict(), allow_nan=False)


def test_bad_input() -> None:
    cases: list[tuple[Any, Any, dict[str, Any]]] = [
        (DirectEncoding(domain=6, epsilon=1), [], {}),
        (DirectEncoding(domain=6, epsilon=1), [6], {}),
        (DirectEncoding(domain=6, epsilon=1), [0.5], {}),
        (Duchi(low=0, high=1, epsilon=1), [2.0], {"task": "mean"}),
        (Duchi(low=0, high=1, epsilon=1), 0.5, {"task": "mean"}),
        (Duchi(low=0, high=1, epsilon=1), [], {"task": "mean"}),
        (Duchi(low=0, high=1, epsilon=1), [0.5], {"task": "mean", "postprocess": "clip"}),
        (DirectEncoding(domain=6, epsilon=1), [1], {"level": 2}),
    ]
    for protocol, values, options in cases:
        with pytest.raises((InputError, ParameterError)):
            simulate(protocol, values, **options)
