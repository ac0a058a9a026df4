"""A training's progress in a file, so that it goes on after a crash, pays once, and repeats no noise.

A round is marked as begun before any party is asked. After a crash that round is lost: its messages may have left the
parties, so it is not repeated, and the training goes on with the next one. The cost of all rounds was reserved before
the first, and the ledger still has that reservation; a file that names none, or that of another training, is refused.
Everything in the file is public: noisy weights, and which parties answered.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self

import numpy as np

from celosia.core.errors import FormatError, InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.strict_json import read_json
from celosia.federated.durable_file import lock_file, write_durably
from celosia.ledger.budget_account import as_account

if TYPE_CHECKING:
    from celosia.federated.updates.plan import State, UpdatePlan
    from celosia.ledger.reservations.reservation import Reservation

_FORMAT: Final = "celosia federation"
_VERSION: Final = 1
_OWN: Final = {"budget", "source"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Progress:
    """How far a training is: the states after its rounds, the last round that was begun, and what each received."""

    plan: str
    begun: int = 0
    states: "tuple[State, ...]" = ()
    history: tuple[Mapping[str, Any], ...] = ()
    reservation: str | None = None

    @property
    def lost(self) -> bool:
        """Whether the last round was begun and not completed."""
        return self.begun > len(self.history)

    def begin(self) -> Self:
        """Return the progress with one more round begun."""
        return replace(self, begun=self.begun + 1)

    def complete(self, state: "State", told: Mapping[str, Any]) -> Self:
        """Return the progress with the begun round completed."""
        return replace(self, states=(*self.states, state), history=(*self.history, told))


def fingerprint(plan: "UpdatePlan", names: Sequence[str], update: object) -> str:
    """Return a digest of what a training is: its parties, what they compute, and what it costs."""
    told = json.dumps([list(names), describe(update), plan.rounds, plan.width, json.loads(plan.event.to_json())])
    return hashlib.sha256(told.encode()).hexdigest()


@dataclass(slots=True, eq=False)
class Checkpoint:
    """The file of a training; None where none is wanted. As a context it keeps other processes out."""

    path: Path | None
    _lock: "IO[bytes] | None" = field(default=None, init=False, repr=False)

    def __enter__(self) -> Self:
        if self.path is not None:
            try:
                self._lock = lock_file(self.path.with_name(self.path.name + ".lock"), wait=False)
            except BlockingIOError:
                raise InputError("federated.checkpoint_in_use", path=str(self.path)) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()  # the operating system does it too when a process ends

    def load(self, plan: str) -> Progress:
        """Return the stored progress of the training with this fingerprint, or that of one not begun."""
        if self.path is None or not self.path.exists():
            return Progress(plan=plan)
        found = read_json(self.path.read_bytes(), name="core.the_file")
        try:
            stored = _read(found)
        except (KeyError, TypeError, ValueError):
            raise FormatError("federated.not_a_checkpoint", path=str(self.path)) from None
        if stored.plan != plan:
            raise InputError("federated.checkpoint_of_another_training", path=str(self.path))
        return stored

    def save(self, progress: Progress) -> None:
        """Store the progress; the file is whole, and on the disk, before this returns."""
        if self.path is None:
            return
        stored = {
            "format": _FORMAT,
            "version": _VERSION,
            "plan": progress.plan,
            "begun": progress.begun,
            "reservation": progress.reservation,
            "states": [state.tolist() for state in progress.states],
            "history": list(progress.history),
        }
        write_durably(self.path, stored)

    def remove(self) -> None:
        """Remove the file of a training that has ended."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path.with_name(self.path.name + ".lock").unlink(missing_ok=True)


def find_reservation(budget: object, progress: Progress, plan: "UpdatePlan") -> "Reservation | None":
    """Return the open reservation that a begun training has paid with; None before it begins, or without a budget."""
    if progress.begun == 0 or (budget is None and progress.reservation is None):
        return None
    history = () if budget is None else as_account(budget).history
    for one in history:
        if one.id == progress.reservation and one.state == "reserved" and one.event == plan.event:
            return one
    raise InputError("federated.checkpoint_not_paid")


def _read(found: Any) -> Progress:
    if found["format"] != _FORMAT or found["version"] != _VERSION:
        raise ValueError
    begun, history = found["begun"], tuple(found["history"])
    states = tuple(np.array(state) for state in found["states"])
    whole = type(begun) is int and len(history) <= begun <= len(history) + 1 and len(states) == len(history)
    if not whole or not all(state.dtype.kind in "if" and np.isfinite(state).all() for state in states):
        raise ValueError
    return Progress(plan=found["plan"], begun=begun, states=states, history=history, reservation=found["reservation"])


def describe(value: Any) -> Any:  # noqa: PLR0911 - one return for each kind of value
    """Return a value as JSON holds it, the same in every process; without budgets and sources."""
    if value is None or isinstance(value, bool | int | str | float):
        return value
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if hasattr(value, "get_params"):
        return [type(value).__name__, _describe_named(value.get_params(deep=False))]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, _describe_named({one.name: getattr(value, one.name) for one in fields(value)})]
    if isinstance(value, Mapping):
        return [[describe(key), describe(part)] for key, part in value.items()]
    if isinstance(value, AbstractSet):
        return sorted(json.dumps(describe(part)) for part in value)
    if isinstance(value, Sequence):
        return [describe(part) for part in value]
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    raise ParameterError("federated.not_comparable", value=safe_repr(value))


def _describe_named(given: Mapping[str, Any]) -> Any:
    return {name: describe(value) for name, value in given.items() if name not in _OWN}
