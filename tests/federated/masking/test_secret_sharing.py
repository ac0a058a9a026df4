"""Shares give a secret back, and one share fewer is compatible with every secret."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celosia.federated.masking.secret_sharing import DIGITS, PRIME, _weigh, join_shares, split_secrets
from celosia.noise import Seeded

SECRETS = st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=3)


@given(SECRETS, st.integers(1, 7), st.integers(0, 6), st.data())
def test_any_threshold_of_shares_gives_secrets_back(
    secrets: list[bytes], threshold: int, more: int, data: st.DataObject
) -> None:
    shares = split_secrets(secrets, threshold=threshold, parties=threshold + more, source=Seeded(7))
    assert (shares < PRIME).all()
    assert shares.shape == (threshold + more, len(secrets), DIGITS)
    holders = data.draw(st.permutations(range(threshold + more)))[:threshold]
    assert join_shares(shares[holders], holders) == secrets


def test_extreme_secrets() -> None:
    secrets = [bytes(32), b"\xff" * 32, bytes([1, *bytes(31)]), bytes([*bytes(31), 128])]
    shares = split_secrets(secrets, threshold=5, parties=8, source=Seeded(1))
    for holders in itertools.combinations(range(8), 5):
        assert join_shares(shares[list(holders)], holders) == secrets


def test_too_few_shares_do_not_decide() -> None:
    shares = split_secrets([bytes(range(32))], threshold=3, parties=5, source=Seeded(1))
    for holders in itertools.combinations(range(5), 2):
        assert join_shares(shares[list(holders)], holders) != [bytes(range(32))]
        # A third share of any value gives another secret, so every secret is possible: the weights are units.
        for third in set(range(5)) - set(holders):
            assert all(0 < weight < PRIME for weight in _weigh([*holders, third]))


def test_the_polynomials_are_uniform() -> None:
    # Of one party's share of zero, with one random coefficient: the coefficient itself.
    shares = np.concatenate(
        [split_secrets([bytes(32)] * 50, threshold=2, parties=1, source=Seeded(seed)).ravel() for seed in range(20)]
    )
    counts = np.bincount((shares.astype(np.uint64) * 16 // PRIME).astype(int), minlength=16)
    expected = len(shares) / 16
    assert ((counts - expected) ** 2 / expected).sum() < 60  # chi-squared, 15 degrees: above with probability 2e-7


def test_a_changed_share_changes_the_secret() -> None:
    secret = bytes(range(32))
    shares = split_secrets([secret], threshold=3, parties=3, source=Seeded(1))
    for holder, digit in itertools.product(range(3), range(DIGITS)):
        changed = shares.copy()
        changed[holder, 0, digit] ^= 1
        assert join_shares(changed, [0, 1, 2]) != [secret]
    huge = shares.copy()
    huge[:] = PRIME - 1  # a constant polynomial, whose digits have more than 30 bits
    assert join_shares(huge, [0, 1, 2]) == [None]
    assert join_shares(shares | np.uint32(2**31), [0, 1, 2]) != [secret]
