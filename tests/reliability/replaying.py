"""A fit is run on records, and its transcript is replayed on a neighbour of them.

Whoever attacks an adaptive fit sees every noisy number, and what is asked next follows from those. So the second fit
gets the noisy numbers of the first, in the same order, whatever its own exact numbers are. Then in every step the exact
numbers of the two may differ by what the event of that step declares, and by nothing more; the events must be those
that were paid for, and the two models must be the same.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from celosia.core import AddRemove
from celosia.core.events import GaussianEvent, LaplaceEvent
from celosia.core.iterations import PNSGDEvent
from celosia.core.structure import GuaranteedEvent
from celosia.learn.linear_model import logistic
from celosia.learn.model_selection import search
from celosia.learn.model_selection.search_plan import Plan
from celosia.learn.optimize import descent
from celosia.learn.sgd import noisy_descent
from celosia.mechanisms import Gaussian, Laplace
from celosia.mechanisms.repetition import Repetitions
from celosia.noise import Seeded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from numpy.typing import NDArray

    from celosia.core import Event

__all__ = ["Pair", "replay"]


@dataclass(frozen=True)
class Pair:
    """Records, and their neighbour: the row at a place is another one, or is not there (None)."""

    X: NDArray[Any]
    y: NDArray[Any]
    place: int
    other: tuple[NDArray[Any], Any] | None = None

    @property
    def neighbour(self) -> tuple[NDArray[Any], NDArray[Any]]:
        if self.other is None:
            return np.delete(self.X, self.place, axis=0), np.delete(self.y, self.place)
        rows, target = self.X.copy(), self.y.copy()
        rows[self.place], target[self.place] = self.other
        return rows, target


@dataclass
class Step:
    """What one step asked: the event that it declared, the exact numbers in its steps, and the noisy ones."""

    event: Event | None
    exact: NDArray[Any]
    noisy: Any


@dataclass
class Transcript:
    """What was released in a first fit, and is released again in every other one; ``row`` is missing in the second."""

    missing: int | None = None
    steps: list[Step] = field(default_factory=list)
    kept: dict[str, list[Any]] = field(default_factory=dict)
    first: Transcript | None = None

    def next(self, event: Event | None, exact: NDArray[Any], draw: Any) -> Any:
        """Return the noisy numbers of the first fit at this step, or in the first fit new ones."""
        place = len(self.steps)
        if self.first is None:
            noisy = draw()
        else:
            assert place < len(self.first.steps), "The neighbour's fit asks more."
            noisy = self.first.steps[place].noisy
        self.steps.append(Step(event, exact, noisy))
        return noisy

    def same(self, name: str, draw: Any) -> Any:
        """Return what was drawn in the first fit, which does not depend on records: coins, numbers, orders."""
        drawn = self.kept.setdefault(name, [])
        value = draw() if self.first is None else self.first.kept[name][len(drawn)]
        drawn.append(value)
        return value

    @contextlib.contextmanager
    def __call__(self, source: Any) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for patch in (*self._mechanisms(source), *self._search(), *self._descent(), self._objective()):
                stack.enter_context(patch)
            yield

    def _mechanisms(self, source: Any) -> list[Any]:
        def watched(kind: Any) -> Any:
            plain = kind.release

            def release(mechanism: Any, value: Any, /, *, source: Any = None) -> Any:
                # What is tried on nothing before it is paid for, and noise that is drawn to be hidden, is no release.
                if source is not watching or (np.asarray(value).dtype.kind == "f" and not np.any(value)):
                    return plain(mechanism, value, source=source)
                event = mechanism.event
                grid = 1 if np.asarray(value).dtype.kind in "iu" else float(mechanism.grid)
                exact = np.rint(np.asarray(value) / grid).ravel() if grid != 1 else np.ravel(value).astype(object)
                return self.next(event, exact, lambda: plain(mechanism, value, source=source))

            return mock.patch.object(kind, "release", release)

        watching = source
        return [watched(Laplace), watched(Gaussian)]

    def _search(self) -> list[Any]:
        coins, draw, pick = Plan.coins, Repetitions.draw, vars(search)["one_of"]

        def same_coins(plan: Plan, source: Any) -> NDArray[np.bool_]:
            out: NDArray[np.bool_] = self.same("coins", lambda: coins(plan, source))
            return out if len(out) == len(plan.target) else np.delete(out, self.missing)  # type: ignore[arg-type] # then it is known

        return [
            mock.patch.object(Plan, "coins", same_coins),
            mock.patch.object(Repetitions, "draw", lambda law, source: self.same("runs", lambda: draw(law, source))),
            mock.patch.object(search, "one_of", lambda count, source: self.same("chosen", lambda: pick(count, source))),
        ]

    def _descent(self) -> list[Any]:
        """Steps of one record: the noisy gradient is what is seen, and the weights follow from it."""
        permutation: Any = vars(noisy_descent)["secret_permutation"]

        def descend(rows: Any, targets: Any, order: Any, noise: Any, weights: Any, run: Any, **own: Any) -> None:  # noqa: ARG001
            unit = run._replace(step_size=run.most / run.bound if run.most else 1.0)
            for place, drawn in zip(order.tolist(), noise, strict=True):
                slope = descent.slope_of(float(rows[place] @ weights), targets[place], run.loss)
                moved = np.zeros(weights.size)
                descent._move(rows[place], slope, np.zeros(weights.size), moved, unit, np.zeros(weights.size))
                exact = np.rint(-moved) if run.most else -moved
                noisy = self.next(None, exact, lambda exact=exact, drawn=drawn: exact + drawn)
                weights -= run.step_size * (run.bound / run.most if run.most else 1.0) * noisy
                descent.project_onto(weights, run.shape)

        return [
            mock.patch.object(noisy_descent, "descend", descend),
            mock.patch.object(
                noisy_descent,
                "secret_permutation",
                lambda count, source: self.same("order", lambda: permutation(count, source=source)),
            ),
        ]

    def _objective(self) -> Any:
        """Of a perturbed objective: the gradient at the minimum, which is what the random vector was."""
        plain: Any = vars(logistic)["minimiser"]

        def minimiser(rows: Any, codes: Any, stiffness: float, vector: Any) -> Any:
            weights = self.same("minimum", lambda: plain(rows, codes, stiffness, vector))
            chances = 1 / (1 + np.exp(-(rows @ weights)))
            self.steps.append(Step(None, rows.T @ (chances - codes), weights))
            return weights

        return mock.patch.object(logistic, "minimiser", minimiser)


def replay(make: Any, pair: Pair) -> str:
    """Return what is wrong with the fits of an estimator on a pair; nothing if that is ''."""
    told: list[Any] = []
    transcripts: list[Transcript] = []
    for rows, target in ((pair.X, pair.y), pair.neighbour):
        transcript = Transcript(missing=pair.place, first=transcripts[0] if transcripts else None)
        model = make(Seeded(11))
        with transcript(model.source):
            model.fit(rows, target)
        transcripts.append(transcript)
        told.append(model)
    here, there = transcripts
    if len(here.steps) != len(there.steps):
        return "the fits ask different numbers of questions"
    steps = list(zip(here.steps, there.steps, strict=True))
    parts = _parts(told[0].event_)
    wrong = [_wrong(one, other, parts[0]) for one, other in steps]
    found = [f"step {place}: {words}" for place, words in enumerate(wrong) if words]
    found += _unpaid(parts, steps)
    if _attributes(told[0]) != _attributes(told[1]):
        found.append("the models differ")
    return "; ".join(found)


def _wrong(one: Step, other: Step, declared: Any) -> str:
    """Compare one step; those without an event of their own have the ``declared`` one of the whole fit."""
    if one.event != other.event:
        return f"asked with {one.event} and with {other.event}"
    event, apart = declared if one.event is None else one.event, np.asarray(one.exact - other.exact)
    most: Fraction | int
    if isinstance(event, LaplaceEvent):
        size, most = abs(apart).sum(), event.sensitivity
    elif isinstance(event, GaussianEvent):
        size, most = (apart * apart).sum(), event.sensitivity_squared
    elif isinstance(event, PNSGDEvent):
        size, most = (apart * apart).sum(), 4 * event.lipschitz**2
    else:  # a perturbed objective: rows are at most 1 long, and so is the gradient of the logistic loss
        size, most = (apart * apart).sum(), 1 if event.adjacency is AddRemove else 4
    within = size <= most if apart.dtype == object else size <= float(most) * (1 + 1e-9)
    return "" if within else f"{size} apart where {most} is declared"


def _unpaid(parts: list[Any], steps: list[tuple[Step, Step]]) -> list[str]:
    """Steps must be those of the event, one by one; a record may only be used as often as that says."""
    events = [one.event for one, _ in steps]
    used = [one.event for one, other in steps if np.any(one.exact != other.exact)]
    if None in events:
        times = parts[0].epochs if isinstance(parts[0], PNSGDEvent) else len(parts)
        return ["the record is used too often"] if len(used) > times else []
    if isinstance(parts[0], GuaranteedEvent):  # a search: a record is fitted to, or scored, and never both
        return ["the record is fitted to and scored"] if 0 < used.count(parts[1]) < len(used) else []
    return [] if parts == events else ["the event is not what was run"]


def _parts(event: Any) -> list[Any]:
    if hasattr(event, "times"):
        return _parts(event.event) * int(event.times)
    inner = getattr(event, "events", (event.event,) if hasattr(event, "event") else None)
    return [event] if inner is None else [one for part in inner for one in _parts(part)]


def _attributes(model: Any) -> dict[str, Any]:
    shown = {key: value for key, value in vars(model).items() if key not in {"source", "best_estimator_"}}
    best = getattr(model, "best_estimator_", None)
    return {**{key: repr(value) for key, value in shown.items()}, **({} if best is None else _attributes(best))}
