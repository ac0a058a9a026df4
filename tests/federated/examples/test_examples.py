"""Records for experiments: they have the stated correlations, sizes and classes, and are always the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import CelosiaError, InputError
from celosia.federated import (
    Federation,
    OneShot,
    make_debt,
    make_synthetic,
    split_by_column,
    split_by_label,
    split_dirichlet,
    split_evenly,
    split_test,
)
from celosia.federated.examples.debt import CORRELATIONS
from celosia.learn import LinearRegression
from celosia.noise import Seeded


def test_the_debt_has_the_correlations_of_the_document() -> None:
    features, balance = make_debt().together()
    found = np.corrcoef(np.column_stack([features, balance]).T)
    assert np.abs(found - np.array(CORRELATIONS)).max() < 0.01  # clipping at three deviations moves them a little
    assert np.abs(features).max() <= 1
    assert np.array_equal(make_debt().together()[0], features)
    assert not np.array_equal(make_debt(seed=1).together()[0], features)


def test_the_debt_can_be_federated() -> None:
    example = make_debt(rows=2000)
    update = OneShot(LinearRegression(bounds=example.bounds, bounds_y=example.bounds_y))
    model = Federation(parties=example.parties, update=update, epsilon=2, delta="1e-6", source=Seeded(3)).run()
    features, balance = example.together()
    best = LinearRegression(epsilon=float("inf")).fit(features, balance).score(features, balance)
    assert best == pytest.approx(0.6236, abs=0.01)  # what the correlations say
    assert model.score(features, balance) > best - 0.02


def test_parties_of_the_paper_differ_as_much_as_they_are_told() -> None:
    for alpha, beta in ((0, 0), (1, 1)):
        example = make_synthetic(alpha, beta, parties=20)
        means = np.array([features.mean() for features, _ in example.parties.values()])
        assert bool(means.std() > 0.5) is (beta == 1)  # without beta only the means of single features differ
        assert all(len(labels) >= 50 for _, labels in example.parties.values())
    again = make_synthetic(1, 1, parties=20)
    assert np.array_equal(again.together()[0], example.together()[0])
    assert set(example.together()[1].tolist()) <= set(range(10))


LABELS = st.lists(st.integers(0, 3), min_size=4, max_size=80)


@given(LABELS, st.integers(2, 5), st.floats(0.01, 100), st.integers(0, 2**20))
def test_every_record_goes_to_one_party(labels: list[int], parties: int, concentration: float, seed: int) -> None:
    y = np.array(labels)
    features = np.column_stack([np.arange(len(y)), y])
    for found in (
        split_evenly(features, y, parties, seed=seed),
        split_dirichlet(features, y, parties, concentration=concentration, seed=seed),
        split_by_label(features, y),
    ):
        rows = np.concatenate([part for part, _ in found.values()])
        assert sorted(rows[:, 0].tolist()) == list(range(len(y)))
        assert all(np.array_equal(part[:, 1], target) for part, target in found.values())
    assert all(len(set(target.tolist())) == 1 for _, target in split_by_label(features, y).values())
    sizes = Counter(len(target) for _, target in split_evenly(features, y, parties, seed=seed).values())
    assert max(sizes) - min(sizes) <= 1


@given(LABELS, st.integers(2, 4), st.fractions(0, 1), st.integers(0, 2**20))
def test_every_record_is_trained_on_or_kept_apart(labels: list[int], parties: int, share: Any, seed: int) -> None:
    y = np.array(labels)
    whole = split_evenly(np.column_stack([np.arange(len(y)), y]), y, parties)
    trained, (rows, targets) = split_test(whole, share=share, seed=seed)
    every = np.concatenate([rows, *(own for own, _ in trained.values())])
    assert sorted(every[:, 0].tolist()) == list(range(len(y)))
    assert np.array_equal(rows[:, 1], targets)
    for name, (_, own) in trained.items():
        assert len(whole[name][1]) - len(own) == int(len(whole[name][1]) * share)


def test_a_small_concentration_gives_a_label_to_few() -> None:
    y = np.repeat(np.arange(10), 100)
    shares = {}
    for concentration in (0.05, 50.0):
        found = split_dirichlet(y[:, None], y, 5, concentration=concentration)
        counts = np.array([np.bincount(target, minlength=10) for _, target in found.values()])
        shares[concentration] = counts.max(axis=0).mean() / 100
    assert shares[0.05] > 0.8
    assert shares[50.0] < 0.35


def test_columns_are_divided() -> None:
    table = np.arange(12).reshape(3, 4)
    assert np.array_equal(np.column_stack(list(split_by_column(table, 3).values())), table)


def test_what_cannot_be_divided_is_named() -> None:
    y = np.zeros(4)
    bad: list[tuple[Any, str]] = [
        (lambda: split_evenly(y, y, 2), "rows and columns"),
        (lambda: split_evenly(y[:, None], y[:3], 2), "one value for each row"),
        (lambda: split_evenly(y[:, None], y, 1), "parties"),
        (lambda: split_dirichlet(y[:, None], y, 2, concentration=0), "concentration"),
        (lambda: split_by_column(y[:, None], 2), "at least one column"),
        (lambda: split_test({"a": (y[:, None], y)}, share=2), "share"),
        (lambda: split_test({"a": (y, y)}), "rows and columns"),
        (lambda: make_debt(parties=1), "parties"),
        (lambda: make_synthetic(-1, 0), "alpha"),
    ]
    for call, words in bad:
        with pytest.raises(CelosiaError, match=words):
            call()
    assert issubclass(InputError, CelosiaError)
