"""Keys on which two parties agree, for streams that both can draw, and messages that only they can read.

Two parties agree on a secret by X25519 (RFC 7748) and derive keys from it by HKDF (RFC 5869). The salt is a session,
which both must know: parties that were told different things do not understand each other. Messages are sealed with
ChaCha20-Poly1305 (RFC 8439); a key serves for one message.
"""

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from celosia.core.errors import InputError
from celosia.noise.keyed import derive

SEAL_BYTES: Final = 16
"""By how much a sealed message is longer."""

_NONCE: Final = bytes(12)  # a key serves for one message


def clamp_key(secret: bytes) -> bytes:
    """Return a secret key with the bits set that X25519 ignores, so that one public key has one secret key."""
    return bytes([secret[0] & 248, *secret[1:31], secret[31] & 127 | 64])


def compute_public_key(secret: bytes) -> bytes:
    """Return the public key of a secret key of 32 bytes.

    >>> compute_public_key(bytes(32)).hex()[:16]
    '2fe57da347cd6243'
    """
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


class KeyAgreement:
    """One party's secret key, from which it derives the keys that it shares with others.

    >>> one, other = (KeyAgreement(bytes([number]) * 32, session=b"today") for number in (1, 2))
    >>> publics = [compute_public_key(bytes([number]) * 32) for number in (1, 2)]
    >>> ends = {"purpose": b"greeting", "ends": (1, 2)}
    >>> one.derive_key(publics[1], **ends) == other.derive_key(publics[0], **ends)
    True
    """

    __slots__ = ("_agreed", "_secret", "_session")

    def __init__(self, secret: bytes, session: bytes) -> None:
        self._secret = X25519PrivateKey.from_private_bytes(secret)
        self._session = session
        self._agreed: dict[bytes, bytes] = {}

    def derive_key(self, public: bytes, *, purpose: bytes, ends: tuple[int, int]) -> bytes:
        """Return the key shared with the owner of a public key, for a purpose and two parties in this order."""
        if public not in self._agreed:
            self._agreed[public] = derive(self._session, self._exchange(public))  # HKDF: extract, salted
        info = purpose + b"".join(end.to_bytes(4, "little") for end in ends)
        return derive(self._agreed[public], info + b"\1")  # HKDF: expand to one block

    def _exchange(self, public: bytes) -> bytes:
        try:
            return self._secret.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:  # a public key that gives every party the same secret
            pass
        raise InputError("noise.public_key_unusable")


def seal(key: bytes, message: bytes, context: bytes) -> bytes:
    """Encrypt and authenticate the only message of a key."""
    return ChaCha20Poly1305(key).encrypt(_NONCE, message, context)


def unseal(key: bytes, sealed: bytes, context: bytes) -> bytes | None:
    """Return the message; None if it was not sealed with this key in this context."""
    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, sealed, context)
    except InvalidTag:
        return None
