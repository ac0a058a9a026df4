"""A hash chain: every line of the log carries the hash of the one before.

An edit, a deletion or a swap anywhere changes every hash from there on, so that the last hash, the *head*, stands for
the whole history. A copy stored elsewhere (on paper, in a mail) proves that the log was not rewritten. The hash is
SHA-256 over canonical JSON ``[sequence, at, kind, body, previous]``: sorted keys, no spaces, ASCII. Haber and Stornetta
1991.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from celosia.core.errors import LedgerError, ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
"""The JSON values that the body of a line may hold."""

GENESIS: Final = "0" * 64
"""The previous hash of the first line."""

_WRITER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_encode_string: Final = json.encoder.encode_basestring_ascii  # as _WRITER encodes a string, but quicker
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d\.\d{6}Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHead:
    """The last line of a log: its number and its hash, which stands for all lines before.

    >>> head = LogHead(sequence=12, hash="ab" * 32)
    >>> LogHead.parse(str(head)) == head
    True
    """

    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> "LogHead":
        """Parse the string of a head.

        >>> LogHead.parse("twelve")
        Traceback (most recent call last):
        ...
        celosia.core.errors.ParameterError: head must be written as a number, a colon and 64 hexadecimal digits, ...
        """
        given: object = text
        number, _, digest = given.strip().partition(":") if isinstance(given, str) else ("", "", "")
        if not (number.isascii() and number.isdigit() and len(number) <= 18 and _HASH.fullmatch(digest)):
            raise ParameterError("ledger.malformed_head", value=safe_repr(text))
        return cls(sequence=int(number), hash=digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of the log.

    >>> line = LogLine(sequence=1, at=datetime(2026, 1, 1, tzinfo=UTC), kind="note", body={}, previous=GENESIS, hash="")
    >>> line.to_json()
    '{"at":"2026-01-01T00:00:00.000000Z","body":{},"hash":"","kind":"note","previous":"0000...","sequence":1}'
    """

    sequence: int
    at: datetime
    kind: str
    body: dict[str, JSON]
    previous: str
    hash: str

    def to_json(self) -> str:
        """Return the line as canonical JSON, as it is exported.

        >>> LogLine(
        ...     sequence=1, at=datetime(2026, 1, 1, tzinfo=UTC), kind="note", body={}, previous=GENESIS, hash="ab"
        ... ).to_json()[-14:]
        ',"sequence":1}'
        """
        return canonical_json(
            {
                "sequence": self.sequence,
                "at": format_timestamp(self.at),
                "kind": self.kind,
                "body": self.body,
                "previous": self.previous,
                "hash": self.hash,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Result of a verification: how many lines are intact, up to which head, and the problem.

    >>> import celosia as cl
    >>> cl.open_ledger("memory://").verify().ok
    True
    """

    ok: bool
    lines: int
    head: LogHead | None
    problem: str | None = None


def canonical_json(value: JSON) -> str:
    """Return a value as canonical JSON: sorted keys, no spaces, ASCII, no NaN."""
    try:
        return _WRITER.encode(value)
    except (TypeError, ValueError, RecursionError):
        pass
    raise ParameterError("ledger.line_body_not_json")


def line_hash(*, sequence: int, at: str, kind: str, body: str, previous: str) -> str:
    """Return the hash of a line whose ``body`` is canonical JSON already."""
    text = f"[{sequence:d},{_encode_string(at)},{_encode_string(kind)},{body},{_encode_string(previous)}]"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def format_timestamp(at: datetime) -> str:
    """Format a timestamp to the microsecond, in UTC; the strings sort as the timestamps do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> datetime:
    """Parse a timestamp; refuse a string that ``format_timestamp`` does not write."""
    try:
        if _TIMESTAMP.fullmatch(text):
            return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        pass
    raise LedgerError("ledger.malformed_log_time")
