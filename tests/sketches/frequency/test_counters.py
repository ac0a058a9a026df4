"""The compiled loops add and read what NumPy adds and reads with the table of columns."""

from __future__ import annotations

from itertools import product

import numpy as np

from celosia.sketches.frequency.counters import add_counts, add_signed, read_counts, read_signed
from celosia.sketches.hashing.digest import digest
from celosia.sketches.hashing.family import HashFamily

ROWS, WIDTH = 3, 50


def test_against_numpy() -> None:
    for independence, each in product((1, 2, 3, 4), (False, True)):
        generator = np.random.default_rng(independence)
        digests = digest(generator.integers(0, 100, 400))
        weights = generator.integers(-9, 9, 400) if each else np.array([3])
        family = HashFamily(ROWS, WIDTH, independence=independence, seed=1)
        signs = HashFamily(ROWS, 2, independence=4, seed=2)
        columns, factors = family.table(digests), signs.sign_table(digests).astype(np.int64)
        rows = np.arange(ROWS)[:, None]

        plain, signed = np.zeros((2, ROWS, WIDTH), dtype=np.int64)
        add_counts(family.coefficients, digests, weights, plain)
        add_signed(family.coefficients, signs.coefficients, digests, weights, signed)
        expected, expected_signed = np.zeros((2, ROWS, WIDTH), dtype=np.int64)
        np.add.at(expected, (rows, columns), weights)
        np.add.at(expected_signed, (rows, columns), weights * factors)
        assert np.array_equal(plain, expected)
        assert np.array_equal(signed, expected_signed)

        out = np.empty((ROWS, 400), dtype=np.int64)
        read_counts(family.coefficients, digests, plain, out)
        assert np.array_equal(out, expected[rows, columns])
        read_signed(family.coefficients, signs.coefficients, digests, signed, out)
        assert np.array_equal(out, expected_signed[rows, columns] * factors)
