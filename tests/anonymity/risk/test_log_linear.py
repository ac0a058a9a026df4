"""Log-linear models against closed forms, their margins, and populations drawn from them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity import Microdata, Roles, read_microdata
from celosia.anonymity.risk import estimate_population_uniques
from celosia.anonymity.risk.log_linear import _fit, _use_labels
from celosia.core.errors import CelosiaError

tables = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 2))] * 3), min_size=2, max_size=40)


def read(records: Any, **more: Any) -> Microdata:
    columns = {
        name: pa.array(list(column), pa.int64())
        for name, column in zip("abcd", zip(*records, strict=True), strict=False)
    }
    roles = Roles(quasi_identifiers=list(columns), weight="w" if more else None)
    return read_microdata(pa.table({**columns, **more}), roles=roles)


@given(tables)
def test_independence_is_the_product_of_margins(records: Any) -> None:
    found = estimate_population_uniques(read(records), interactions=1, fraction=0.25)
    alone = [row for row, record in enumerate(records) if records.count(record) == 1]
    assert found.uniques.tolist() == alone
    for place, row in enumerate(alone):
        shares = [sum(other[c] == records[row][c] for other in records) / len(records) for c in range(3)]
        outside = len(records) * np.prod(shares) * 3
        assert found.unique_probabilities[place] == pytest.approx(np.exp(-outside))
        assert found.match_probabilities[place] == pytest.approx((1 - np.exp(-outside)) / outside)
    assert found.population_uniques <= found.right_matches + 1e-12 <= len(alone) + 1e-9


@given(tables)
def test_two_way_models_keep_all_margins_of_two_columns(records: Any) -> None:
    fitted, counts = _fit(_use_labels(read(records).encode_quasi_identifiers()), 2)
    for axis in range(3):
        assert np.allclose(fitted.sum(axis=axis), counts.sum(axis=axis), atol=1e-2 * len(records))
    dense = np.random.default_rng(0).integers(0, 3, (400, 3))
    fitted, counts = _fit(_use_labels(read(dense.tolist()).encode_quasi_identifiers()), 2)
    assert all(np.allclose(fitted.sum(axis=axis), counts.sum(axis=axis), atol=1e-6) for axis in range(3))
    # Without an interaction of three columns, odds ratios of two do not depend on the third.
    logs = np.log(fitted)
    for i, j in itertools.product((1, 2), repeat=2):
        ratios = logs[0, 0] - logs[i, 0] - logs[0, j] + logs[i, j]
        assert np.allclose(ratios, ratios[0], atol=1e-6)


def test_a_saturated_model_has_its_counts() -> None:
    found = estimate_population_uniques(read([(0, 0), (0, 0), (0, 1), (1, 1), (1, 1)]), fraction=0.5)
    assert found.uniques.tolist() == [2]
    assert found.population_uniques == pytest.approx(np.exp(-1))
    assert found.right_matches == pytest.approx(1 - np.exp(-1))


def test_a_census_knows_its_uniques() -> None:
    found = estimate_population_uniques(read([(0, 0), (0, 1), (1, 1), (1, 1)]), fraction=1, interactions=1)
    assert (found.population_uniques, found.right_matches) == (2, 2)
    weighted = estimate_population_uniques(read([(0, 0), (0, 1), (1, 1), (1, 1)], w=[1.0, 1.0, 4.0, 4.0]))
    assert weighted.population_uniques == 2


def draw_population(lot: np.random.Generator, *, linked: bool) -> np.ndarray[Any, Any]:
    """Persons with four columns, which depend on each other in pairs if ``linked``."""
    size = 40_000
    first = lot.choice(12, size, p=np.arange(1, 13) / 78)
    second = (first + lot.choice(12, size, p=np.arange(12, 0, -1) / 78)) % 12 if linked else lot.integers(0, 12, size)
    third = (second + lot.geometric(0.3, size)) % 12 if linked else lot.geometric(0.3, size) % 12
    return np.column_stack([first, second, third, lot.geometric(0.4, size) % 12])


@pytest.mark.parametrize(("linked", "interactions"), [(False, 1), (False, 2), (True, 2)])
def test_expected_uniques_and_matches_are_those_of_a_drawn_population(linked: bool, interactions: int) -> None:  # noqa: FBT001
    lot = np.random.default_rng(7)
    population = draw_population(lot, linked=linked)
    codes = np.ravel_multi_index(tuple(population.T), (12,) * 4)
    sizes = np.bincount(codes, minlength=12**4)
    chosen = lot.random(len(codes)) < 0.1
    sample = codes[chosen]
    alone = np.bincount(sample, minlength=12**4)[sample] == 1
    right = (1 / sizes[sample[alone]]).sum()
    unique = (sizes[sample[alone]] == 1).sum()
    found = estimate_population_uniques(read(population[chosen].tolist()), interactions=interactions, fraction=0.1)
    assert len(found.uniques) == alone.sum()
    assert found.right_matches == pytest.approx(right, rel=0.2)
    assert found.population_uniques == pytest.approx(unique, rel=0.25)
    assert abs(found.dispersion) < 0.2


def test_independence_overstates_the_risk_where_columns_depend_on_each_other() -> None:
    lot = np.random.default_rng(7)
    population = draw_population(lot, linked=True)
    sample = read(population[lot.random(len(population)) < 0.1].tolist())
    plain, paired = (estimate_population_uniques(sample, interactions=each, fraction=0.1) for each in (1, 2))
    assert plain.right_matches > 1.1 * paired.right_matches
    assert plain.dispersion > 0.5 > paired.dispersion
    assert "Sample uniques" in str(plain)
    assert "Únicos en la muestra" in plain.describe("es")


def test_bad_requests_are_refused() -> None:
    data = read([(0, 0), (0, 1)])
    lot = np.random.default_rng(0)
    wide = read(lot.integers(0, 10**6, (200, 4)).tolist())
    bad: list[tuple[Any, dict[str, Any], str]] = [
        (data, {}, "anonymity_risk.fraction_missing"),
        (data, {"fraction": 0}, "anonymity_risk.not_a_fraction"),
        (data, {"fraction": 2}, "anonymity_risk.not_a_fraction"),
        (data, {"interactions": 3, "fraction": 0.5}, "anonymity_risk.wrong_interactions"),
        (data, {"interactions": True, "fraction": 0.5}, "anonymity_risk.wrong_interactions"),
        (wide, {"fraction": 0.5}, "anonymity_risk.table_too_large"),
    ]
    for given_data, options, code in bad:
        with pytest.raises(CelosiaError) as caught:
            estimate_population_uniques(given_data, **options)
        assert caught.value.code == code
