"""What a party must keep between two messages of a round, in a form that can be stored.

It is small: everything that a party draws comes from one secret, and the rest are messages that it received. It is
secret, and there must be one copy: two could answer two lists of survivors, which together reveal a contribution.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Self

from celosia.core.errors import FormatError
from celosia.core.strict_json import read_json
from celosia.noise.keyed import KEY_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyState:
    """The state of a party: its name, its secret, and what it received and sent."""

    name: str
    secret: bytes = field(repr=False)
    roster: bytes | None = field(default=None, repr=False)
    boxes: bytes | None = field(default=None, repr=False)
    survivors: bytes | None = field(default=None, repr=False)

    def to_bytes(self) -> bytes:
        """Return the state as JSON."""
        return json.dumps({name: _write(value) for name, value in asdict(self).items()}).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> Self:
        """Return a stored state, or raise ``FormatError``."""
        fields = read_json(text)
        names = ("secret", "roster", "boxes", "survivors")
        if not isinstance(fields, dict) or fields.keys() != {"name", *names} or not isinstance(fields["name"], str):
            raise FormatError("federated.not_a_mask_state")
        try:
            parts = {name: None if fields[name] is None else bytes.fromhex(fields[name]) for name in names}
        except (TypeError, ValueError):
            parts = {"secret": None}
        secret = parts.pop("secret")
        if secret is None or len(secret) != KEY_BYTES:
            raise FormatError("federated.not_a_mask_state")
        return cls(name=fields["name"], secret=secret, **parts)


def _write(value: str | bytes | None) -> str | None:
    return value.hex() if isinstance(value, bytes) else value
