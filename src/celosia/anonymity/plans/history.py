"""Steps applied one by one, each logged with what it did to risk and utility, and each undoable.

A history is a value: ``apply`` and ``undo`` return another one. Every step draws from a stream of its own, which the
seed and the step's place determine, so that a step that is undone and applied again gives the same file.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from celosia.anonymity.microdata import Microdata, check_microdata
from celosia.anonymity.plans.facts import Facts, collect_facts
from celosia.anonymity.plans.private_step import AnyStep, PrivateStep, check_order
from celosia.anonymity.plans.sections import describe
from celosia.core.exact import exact_integer
from celosia.core.guarantees import Guarantee
from celosia.noise import Seeded, System

if TYPE_CHECKING:
    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """What one step did: its parameters, and the facts about the file before and after it."""

    step: Mapping[str, Any]
    before: Facts
    after: Facts

    def __str__(self) -> str:
        changes = [
            f"{name} {_write(old)} -> {_write(new)}"
            for (name, old), new in zip(self.before.list_items(), self.after.list_values(), strict=True)
            if old != new
        ]
        return f"{self.step['kind']}: {'; '.join(changes) or 'no change in these facts'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain values, for JSON."""
        return {"step": dict(self.step), "before": self.before.to_dict(), "after": self.after.to_dict()}


@dataclass(frozen=True, kw_only=True)
class History:
    """A file, the steps applied to it, and every state between. ``History.of`` makes one.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Mondrian, Roles, read_microdata
    >>> frame = pa.table({"age": [30, 31, 58, 60], "illness": ["flu", "flu", "none", "asthma"]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    >>> history = History.of(data).apply(Mondrian(k=2))
    >>> history.data.get_column("age").to_pylist()
    ['30-31', '30-31', '58-60', '58-60']
    >>> history.undo().data.get_column("age").to_pylist()
    [30, 31, 58, 60]
    """

    states: tuple[Microdata, ...] = field(repr=False)
    steps: tuple[AnyStep, ...] = ()
    seed: int | None = field(default=None, repr=False)
    guarantees: tuple[Guarantee, ...] = ()

    @classmethod
    def of(cls, data: Microdata, *, seed: int | None = None) -> Self:
        """Start a history. Keep the seed as secret as the data: whoever knows it can take the noise out again."""
        check_microdata(data)
        return cls(states=(data,), seed=None if seed is None else exact_integer(seed, name="seed", least=0))

    @property
    def original(self) -> Microdata:
        """The file before all steps."""
        return self.states[0]

    @property
    def data(self) -> Microdata:
        """The file after all steps."""
        return self.states[-1]

    def apply(self, step: AnyStep, *, budget: object = None) -> "History":
        """Return the history with one more step. If the step fails, nothing has changed.

        A private step is paid by ``budget``, a ledger's account or an ``InMemoryBudget``. Noise that can be repeated
        hides nobody, so a private step never uses the seed. It must be the first step, because it needs the true
        records.
        """
        check_order(step, self.steps)
        guarantees = self.guarantees
        if isinstance(step, PrivateStep):
            made = step.release(self.data, budget=budget)
            masked, guarantees = made.data, (*guarantees, made.guarantee)
        else:
            masked = step.apply(self.data, source=self.make_source(len(self.steps)))
        return History(states=(*self.states, masked), steps=(*self.steps, step), seed=self.seed, guarantees=guarantees)

    def undo(self) -> "History":
        """Return the history without its last step; one without steps stays as it is. What was paid stays paid."""
        return History(
            states=self.states[:-1] or self.states, steps=self.steps[:-1], seed=self.seed, guarantees=self.guarantees
        )

    def make_source(self, place: int | str) -> "Source":
        """Return the stream of the step at a place, or of something else with a name."""
        if self.seed is None:
            return System()
        name = f"celosia.anonymity.plans/1/{self.seed}/{place}"
        return Seeded(int.from_bytes(hashlib.sha256(name.encode()).digest()[:16]))

    @cached_property
    def log(self) -> tuple[LogEntry, ...]:
        """What each step did. The facts are computed when they are first asked for."""
        facts = [collect_facts(self.original, state) for state in self.states]
        return tuple(
            LogEntry(step=describe(step), before=facts[place], after=facts[place + 1])
            for place, step in enumerate(self.steps)
        )


def _write(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
