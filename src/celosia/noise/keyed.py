"""Randomness from a secret: the same secret and message give the same draws, unpredictable without the secret.

A client that must always give the same answer (memoised responses) stores a secret and draws again instead of storing
its answers. A key is HMAC-SHA256 of the question and value (RFC 2104, RFC 4231), and the draws are the ChaCha20
keystream of that key (RFC 8439). Without the secret this is indistinguishable from fresh coins; the guarantee is
computational. The arrays are the same bits, row by row.
"""

import hmac
import threading
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.noise.source import _Keystream

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY_BYTES = 32
"""The length of a secret and of a key."""

_POOL = 64  # words at a time: a client draws few from each key


class Keyed:
    """A source whose words are the ChaCha20 keystream of a key (nonce 0, counter from 0), little-endian.

    ``word`` and ``words`` read one and the same stream, so that a client in another language can follow it.
    """

    __slots__ = ("_keystream", "_lock", "_pool")

    def __init__(self, key: bytes) -> None:
        if len(_octets(key, "key")) != KEY_BYTES:
            raise ParameterError("noise.key_of_wrong_length", wanted=KEY_BYTES)  # it is secret, so it is not shown
        self._keystream = _Keystream(key)
        self._pool = np.empty(0, dtype=np.uint64)
        self._lock = threading.Lock()

    @property
    def seeded(self) -> bool:
        """True: the key determines the draws."""
        return True

    def word(self) -> int:
        """Return the next 64 bits of the stream."""
        return int(self.words(1)[0])

    def words(self, count: int) -> "NDArray[np.uint64]":
        """Return the next ``count`` words of the stream."""
        count = exact_integer(count, name="count", least=0)
        with self._lock:
            if count > self._pool.size:
                missing = count - self._pool.size
                self._pool = np.concatenate([self._pool, self._draw(-(-missing // _POOL) * _POOL)])
            drawn, self._pool = self._pool[:count], self._pool[count:]
        return drawn.copy()

    def _draw(self, count: int) -> "NDArray[np.uint64]":
        words = np.empty(count, dtype="<u8")
        self._keystream.fill(words.view(np.uint8).data)
        return words.astype(np.uint64, copy=False)

    def __reduce__(self) -> NoReturn:
        raise ParameterError("noise.keyed_stream_copied")

    def __repr__(self) -> str:
        return "Keyed(...)"


def derive(secret: bytes, message: bytes) -> bytes:
    """Return HMAC-SHA256 of a message under a secret: 32 bytes, the key of a ``Keyed`` source."""
    return hmac.digest(_octets(secret, "secret"), _octets(message, "message"), "sha256")


def derive_keys(secrets: "NDArray[np.uint8]", messages: "NDArray[np.uint8]") -> "NDArray[np.uint8]":
    r"""Return ``derive`` of each row: secrets of 32 bytes, messages of one length."""
    from celosia.noise.compiled.ciphers import hmac_sha256

    secrets, messages = _bytes(secrets, "secrets"), _bytes(messages, "messages")
    if secrets.shape[1] != KEY_BYTES or len(secrets) != len(messages):
        raise InputError("noise.secrets_shape_mismatch", length=KEY_BYTES, shape=safe_repr(secrets.shape))
    keys = np.empty((len(secrets), KEY_BYTES), dtype=np.uint8)
    hmac_sha256(secrets, messages, keys)
    return keys


def keyed_words(keys: "NDArray[np.uint8]", count: int) -> "NDArray[np.uint64]":
    """Return the first ``count`` words of ``Keyed`` for each row of ``keys``."""
    from celosia.noise.compiled.ciphers import chacha20

    keys = _bytes(keys, "keys")
    if keys.shape[1] != KEY_BYTES:
        raise InputError("noise.key_length_mismatch", wanted=KEY_BYTES, found=keys.shape[1])
    words = np.empty((len(keys), exact_integer(count, name="count", least=0)), dtype=np.uint64)
    chacha20(keys, np.zeros(4, dtype=np.uint32), words)
    return words


def _octets(given: object, name: str) -> bytes:
    if not isinstance(given, bytes):
        raise ParameterError("noise.not_bytes", name=name, kind=type(given).__name__)
    return given


def _bytes(rows: object, name: str) -> "NDArray[np.uint8]":
    if not isinstance(rows, np.ndarray) or rows.dtype != np.uint8 or rows.ndim != 2:
        raise InputError("noise.not_a_byte_array", name=name)
    return np.ascontiguousarray(rows)
