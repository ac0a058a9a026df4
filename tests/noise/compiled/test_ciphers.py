"""The compiled ciphers give the published values and the libraries' bits, for messages of every length."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from celosia.noise.compiled.ciphers import _ROUND, _START, chacha20, hmac_sha256


def authenticated(secret: bytes, message: bytes) -> str:
    out = np.empty((1, 32), dtype=np.uint8)
    hmac_sha256(np.frombuffer(secret, dtype=np.uint8)[None], np.frombuffer(message, dtype=np.uint8)[None], out)
    return bytes(out[0]).hex()


def stream(key: bytes, counter: int, nonce: bytes, words: int) -> bytes:
    out = np.empty((1, words), dtype=np.uint64)
    begin = np.frombuffer(counter.to_bytes(4, "little") + nonce, dtype="<u4").astype(np.uint32)
    chacha20(np.frombuffer(key, dtype=np.uint8)[None], begin, out)
    return out.astype("<u8").tobytes()


def test_constants_are_those_of_fips_180() -> None:
    assert [hex(word) for word in _START[[0, 7]].tolist()] == ["0x6a09e667", "0x5be0cd19"]
    assert [hex(word) for word in _ROUND[[0, 1, 63]].tolist()] == ["0x428a2f98", "0x71374491", "0xc67178f2"]


@pytest.mark.parametrize(
    ("secret", "message", "wanted"),
    [
        (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (b"\xaa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        (bytes(range(1, 26)), b"\xcd" * 50, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    ],
)
def test_hmac_gives_the_values_of_rfc_4231(secret: bytes, message: bytes, wanted: str) -> None:
    assert authenticated(secret, message) == wanted


def test_messages_of_every_length() -> None:
    cases: list[int] = [*range(70), 119, 120, 127, 128, 129, 1000]
    for length in cases:
        message = hashlib.shake_128(bytes([length % 256])).digest(length)
        secret = hashlib.sha256(message).digest()
        assert authenticated(secret, message) == hmac.new(secret, message, hashlib.sha256).hexdigest()


def test_the_block_of_rfc_8439() -> None:
    """Section 2.3.2: key 00:01:…:1f, nonce 00:00:00:09:00:00:00:4a:00:00:00:00, counter 1."""
    wanted = "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
    wanted += "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    assert stream(bytes(range(32)), 1, bytes.fromhex("000000090000004a00000000"), 8).hex() == wanted


def test_streams_are_the_librarys() -> None:
    for words in (0, 1, 7, 8, 9, 64, 100):
        key = hashlib.sha256(bytes([words])).digest()
        library = Cipher(ChaCha20(key, (5).to_bytes(4, "little") + bytes(12)), mode=None).encryptor()
        assert stream(key, 5, bytes(12), words) == library.update(bytes(8 * words))
