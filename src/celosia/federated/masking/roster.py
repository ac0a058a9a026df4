"""Who takes part in a round, with which public keys, and what follows from them.

The session is a digest of the settings and of all public keys. Keys for masks depend on it, so that masks of another
round, or of parties that saw other keys, do not cancel instead of cancelling wrongly.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError
from celosia.federated.masking.messages import KEYS, SERVER, check_parties, unpack
from celosia.federated.masking.settings import MaskingSettings
from celosia.noise.agreement import KeyAgreement
from celosia.noise.keyed import KEY_BYTES, derive


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The public keys of the parties that take part, by number, and the commitments to their own masks."""

    session: bytes
    mask_keys: dict[int, bytes]
    channel_keys: dict[int, bytes]
    commitments: dict[int, bytes]

    @property
    def parties(self) -> list[int]:
        """The numbers of the parties."""
        return list(self.mask_keys)


def read_roster(message: bytes, settings: MaskingSettings) -> Roster:
    """Return the roster of a message of the server."""
    rows = unpack(message, "roster", settings, SERVER, KEYS)
    parties = check_parties(rows, settings)
    if len(parties) < settings.threshold:
        raise InputError("federated.too_few_survivors", least=settings.threshold, found=len(parties))
    columns = [dict(zip(parties, map(bytes, rows["keys"][:, place]), strict=True)) for place in range(3)]
    return Roster(
        session=hashlib.sha256(message).digest(),
        mask_keys=columns[0],
        channel_keys=columns[1],
        commitments=columns[2],
    )


def make_keys_row(party: int, keys: tuple[bytes, bytes, bytes]) -> NDArray[np.void]:
    """Return a party's row of the roster: its public keys for masks and for messages, and its commitment."""
    return np.array([(party, [list(key) for key in keys])], dtype=KEYS)


def check_keys(row: NDArray[np.void]) -> None:
    """Raise ``InputError`` for public keys with which nobody can agree on a secret: they would stop all others."""
    agreement = KeyAgreement(bytes(KEY_BYTES), b"")
    for key in row["keys"][:2]:
        agreement.derive_key(bytes(key), purpose=b"", ends=(0, 0))


def commit(seed: bytes, party: int) -> bytes:
    """Return the commitment to the seed of a party's own mask, by which a wrong share is noticed."""
    return derive(seed, b"commitment" + party.to_bytes(4, "little"))


def derive_own_mask(seed: bytes) -> bytes:
    """Return the key of a party's own mask; its seed is that of the commitment, too."""
    return derive(seed, b"own mask")


def derive_mask_key(agreement: KeyAgreement, roster: Roster, one: int, other: int) -> bytes:
    """Return the key of the mask that two parties share, from the secret of the one."""
    return agreement.derive_key(roster.mask_keys[other], purpose=b"mask", ends=(min(one, other), max(one, other)))
