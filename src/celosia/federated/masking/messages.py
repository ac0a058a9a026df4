"""The messages of a round, as bytes: a kind, the digest of the settings, the sender, and rows of fixed size.

Rows are read strictly: another length, kind, round or sender is refused with an error that names what was wrong, and
numbers of parties must exist and increase.
"""

import hashlib
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from celosia.core.errors import InputError
from celosia.federated.masking.secret_sharing import DIGITS
from celosia.federated.masking.settings import MaskingSettings
from celosia.noise.agreement import SEAL_BYTES

SERVER: Final = 2**32 - 1
"""The number of the server as a sender."""

KEYS: Final = np.dtype([("party", "<u4"), ("keys", "u1", (3, 32))])
"""A party's public keys, for masks and for messages, and the commitment to its own mask."""

BOXES: Final = np.dtype([("party", "<u4"), ("box", "u1", (2 * 4 * DIGITS + SEAL_BYTES,))])
"""A sealed pair of shares, and who it is for or from."""

SURVIVORS: Final = np.dtype([("party", "<u4")])
"""A party whose masked numbers arrived."""

SHARES: Final = np.dtype([("party", "<u4"), ("share", "<u4", (DIGITS,))])
"""A share of a party's secret."""

_KINDS: Final = {"keys": 1, "roster": 2, "shares": 3, "boxes": 4, "numbers": 5, "survivors": 6, "reveal": 7}
_MAGIC: Final = b"CLM1"
_HEADER: Final = len(_MAGIC) + 1 + hashlib.sha256().digest_size + 4


def pack(kind: str, settings: MaskingSettings, sender: int, rows: NDArray[Any]) -> bytes:
    """Return a message."""
    header = _MAGIC + bytes([_KINDS[kind]]) + settings.digest + sender.to_bytes(4, "little")
    return header + np.ascontiguousarray(rows).tobytes()


def unpack(message: object, kind: str, settings: MaskingSettings, sender: int, rows: DTypeLike) -> NDArray[Any]:
    """Return the rows of a message, or raise ``InputError``."""
    size = np.dtype(rows).itemsize
    if not isinstance(message, bytes) or len(message) < _HEADER or not message.startswith(_MAGIC):
        raise InputError("federated.not_a_mask_message")
    found, digest = message[len(_MAGIC)], message[len(_MAGIC) + 1 : _HEADER - 4]
    if digest != settings.digest:
        raise InputError("federated.mask_message_of_other_round")
    if found != _KINDS[kind] or int.from_bytes(message[_HEADER - 4 : _HEADER], "little") != sender:
        raise InputError("federated.mask_message_of_other_step", wanted=kind)
    if (len(message) - _HEADER) % size:
        raise InputError("federated.not_a_mask_message")
    return np.frombuffer(message[_HEADER:], dtype=rows) if len(message) > _HEADER else np.empty(0, dtype=rows)


def check_parties(rows: NDArray[Any], settings: MaskingSettings) -> list[int]:
    """Return the numbers of the parties of rows, which must exist and increase."""
    parties = rows["party"].astype(np.int64)
    if (np.diff(parties) <= 0).any() or (parties >= len(settings.parties)).any():
        raise InputError("federated.not_a_mask_message")
    return [int(party) for party in parties]


def pack_numbers(words: NDArray[np.uint64], settings: MaskingSettings, sender: int) -> bytes:
    """Return the message of masked numbers, each in as few whole bytes as the modulus needs."""
    digits = words.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : settings.bytes_per_number]
    return pack("numbers", settings, sender, digits)


def unpack_numbers(message: object, settings: MaskingSettings, sender: int) -> NDArray[np.uint64]:
    """Return the masked numbers of a message."""
    digits = unpack(message, "numbers", settings, sender, np.uint8)
    if digits.size != settings.width * settings.bytes_per_number:
        raise InputError("federated.not_a_mask_message")
    words = np.zeros((settings.width, 8), dtype=np.uint8)
    words[:, : settings.bytes_per_number] = digits.reshape(settings.width, -1)
    return words.view("<u8").ravel().astype(np.uint64)


def count_masking_bytes(settings: MaskingSettings) -> tuple[int, int]:
    """Return how many bytes a party sends, and how many it receives, in a round in which no party is silent.

    >>> parties = ("north", "south", "west")
    >>> count_masking_bytes(MaskingSettings(federation="try", number=1, parties=parties, width=10, threshold=2))
    (648, 619)
    """
    parties, boxes = len(settings.parties), (len(settings.parties) - 1) * BOXES.itemsize
    numbers = settings.width * settings.bytes_per_number
    sent = 4 * _HEADER + KEYS.itemsize + boxes + numbers + parties * SHARES.itemsize
    return sent, 3 * _HEADER + parties * (KEYS.itemsize + SURVIVORS.itemsize) + boxes
