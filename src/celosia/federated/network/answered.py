"""A party's own record of the rounds that it has answered, so that no round is answered twice.

Two answers of one round would cost twice what was planned, whatever the server says has become of the first. So a round
is claimed on the party's disk before its records are read, and a server that was restarted, or lies, is refused.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from celosia.core.errors import FormatError, InputError
from celosia.core.strict_json import read_json
from celosia.federated.durable_file import lock_file, make_folder, write_durably

_FORMAT: Final = "celosia answered rounds"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredRounds:
    """The rounds of a plan that a party has answered: all up to the last, for rounds only go forward."""

    path: Path
    plan: str
    party: str

    @classmethod
    def of(cls, folder: Path, plan: str, party: str) -> "AnsweredRounds":
        """Return the record of a party for a plan, in a folder."""
        name = hashlib.sha256(json.dumps([plan, party]).encode()).hexdigest()[:32]
        return cls(path=folder / f"answered-{name}.json", plan=plan, party=party)

    @property
    def last(self) -> int:
        """The last round that was answered; 0 before the first."""
        if not self.path.exists():
            return 0
        try:
            found = read_json(self.path.read_bytes(), name="core.the_file")
        except OSError:
            found = None
        wanted = {"format": _FORMAT, "version": _VERSION, "plan": self.plan, "party": self.party}
        last: Any = found.pop("last", None) if isinstance(found, dict) else None
        if found != wanted or type(last) is not int or last < 1:
            raise FormatError("federated.answered_not_readable", path=str(self.path))
        return last

    def claim(self, number: int) -> None:
        """Record that a round is answered; refuse one that was, or that came before one that was."""
        with self._lock():
            if number <= self.last:
                raise InputError("federated.round_answered_already", round=number)
            told = {"format": _FORMAT, "version": _VERSION, "plan": self.plan, "party": self.party, "last": number}
            write_durably(self.path, told)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Keep out other processes of the same party."""
        make_folder(self.path.parent)
        with lock_file(self.path.with_suffix(".lock"), wait=True):
            yield
