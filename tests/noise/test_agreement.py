"""Keys on which two parties agree: the standards' vectors, and what is refused."""

from __future__ import annotations

import itertools

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from celosia.core import InputError
from celosia.noise.agreement import SEAL_BYTES, KeyAgreement, clamp_key, compute_public_key, seal, unseal

# RFC 7748, section 6.1.
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
ALICE_PUBLIC = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
BOB_PUBLIC = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
SHARED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")

ANNA = bytes(range(100, 132))
ANNA_PUBLIC = compute_public_key(ANNA)


def test_the_vectors_of_the_standard() -> None:
    assert compute_public_key(BOB) == BOB_PUBLIC
    assert X25519PrivateKey.from_private_bytes(BOB).exchange(X25519PublicKey.from_public_bytes(ALICE_PUBLIC)) == SHARED
    key = KeyAgreement(BOB, b"session").derive_key(ALICE_PUBLIC, purpose=b"test", ends=(1, 2))
    info = b"test" + bytes([1, 0, 0, 0, 2, 0, 0, 0])
    assert key == HKDF(algorithm=SHA256(), length=32, salt=b"session", info=info).derive(SHARED)


def test_two_parties_derive_the_same_key() -> None:
    one = KeyAgreement(ANNA, b"session").derive_key(BOB_PUBLIC, purpose=b"test", ends=(1, 2))
    assert KeyAgreement(BOB, b"session").derive_key(ANNA_PUBLIC, purpose=b"test", ends=(1, 2)) == one


def test_keys_depend_on_everything() -> None:
    keys = {
        KeyAgreement(secret, session).derive_key(public, purpose=purpose, ends=ends)
        for (secret, public), session, purpose, ends in itertools.product(
            [(ANNA, BOB_PUBLIC), (ANNA, ANNA_PUBLIC)], [b"a", b"b"], [b"c", b"d"], [(1, 2), (2, 1), (1, 3)]
        )
    }
    assert len(keys) == 24


def test_a_clamped_key_is_the_only_one_of_its_public_key() -> None:
    for place, bit in ((0, 1), (0, 4), (31, 64), (31, 128)):
        other = bytes(byte ^ (bit if place == at else 0) for at, byte in enumerate(ANNA))
        assert compute_public_key(other) == ANNA_PUBLIC
        assert clamp_key(other) == clamp_key(ANNA) == clamp_key(clamp_key(ANNA))
    assert compute_public_key(clamp_key(ANNA)) == ANNA_PUBLIC


def test_points_of_small_order_are_refused() -> None:
    for public in (bytes(32), bytes([1, *bytes(31)])):
        with pytest.raises(InputError, match="public key"):
            KeyAgreement(ANNA, b"session").derive_key(public, purpose=b"", ends=(0, 1))


def test_sealed_messages_open_with_their_key_and_context_only() -> None:
    sealed = seal(ANNA, b"message", b"context")
    assert len(sealed) == len(b"message") + SEAL_BYTES
    assert unseal(ANNA, sealed, b"context") == b"message"
    assert unseal(BOB, sealed, b"context") is None
    assert unseal(ANNA, sealed, b"other") is None
    for place in range(len(sealed)):
        changed = sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :]
        assert unseal(ANNA, changed, b"context") is None
