"""Structures of events: whose scope they take, what they refuse, and the texts that never change."""

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia.core
from celosia.core import (
    ApproxDP,
    CelosiaError,
    CertifiedEvent,
    ComposedEvent,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    FormatError,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    GuaranteeMismatchError,
    LaplaceEvent,
    ParallelEvent,
    ParameterError,
    PoissonSampledEvent,
    PostProcessedEvent,
    PureDP,
    RandomizedResponseEvent,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
    SameChanges,
    ShuffledEvent,
)
from celosia.core.record import Record

COUNT = LaplaceEvent(scale=10, sensitivity=1)
CHOICE = ExponentialEvent(epsilon=1)
ANSWER = RandomizedResponseEvent(epsilon=1)
PERSON = GaussianEvent(variance=4, sensitivity_squared=1, adjacency=ReplaceOne, unit="person")
REAL = GaussianEvent(variance=4, sensitivity_squared=1, arithmetic="real")

_TEXT = {
    "COUNT": (
        '{"adjacency": "add-remove", "arithmetic": "integer", "dimension": 1, "grid": "1", "kind": "LaplaceEvent", '
        '"scale": "10", "sensitivity": "1", "unit": "row", "version": 1}'
    ),
    "CHOICE": (
        '{"adjacency": "add-remove", "arithmetic": "integer", "epsilon": "1", "kind": "ExponentialEvent", '
        '"unit": "row", "version": 1}'
    ),
    "ANSWER": (
        '{"adjacency": "replace-one", "arithmetic": "integer", "categories": 2, "coins": null, "epsilon": "1", '
        '"kind": "RandomizedResponseEvent", "unit": "row", "version": 1}'
    ),
    "PERSON": (
        '{"adjacency": "replace-one", "arithmetic": "integer", "dimension": 1, "grid": "1", "kind": "GaussianEvent", '
        '"sensitivity_squared": "1", "unit": "person", "variance": "4", "version": 1}'
    ),
}
_SCOPE = '"adjacency": "add-remove", "arithmetic": "integer"'
_REPLACED = '"adjacency": "replace-one", "arithmetic": "integer"'
_ROW = '"unit": "row", "version": 1'
_ONE = '"unit": "person", "version": 1'

# What version 1 writes, with the parts' own texts by name. A change here is a new version, never an edit.
GOLDEN: list[tuple[Event, str]] = [
    (
        ComposedEvent(events=(COUNT, CHOICE)),
        f'{{{_SCOPE}, "events": [<COUNT>, <CHOICE>], "kind": "ComposedEvent", {_ROW}}}',
    ),
    (
        RepeatedEvent(event=COUNT, times=1000),
        f'{{{_SCOPE}, "event": <COUNT>, "kind": "RepeatedEvent", "times": 1000, {_ROW}}}',
    ),
    (
        ParallelEvent(events=(COUNT, COUNT)),
        f'{{{_SCOPE}, "events": [<COUNT>, <COUNT>], "fixed": false, "kind": "ParallelEvent", {_ROW}}}',
    ),
    (
        ParallelEvent(events=(PERSON,), fixed=True),
        f'{{{_REPLACED}, "events": [<PERSON>], "fixed": true, "kind": "ParallelEvent", {_ONE}}}',
    ),
    (GroupEvent(event=COUNT, size=3), f'{{{_SCOPE}, "event": <COUNT>, "kind": "GroupEvent", "size": 3, {_ROW}}}'),
    (ReplacedEvent(event=COUNT), f'{{{_REPLACED}, "event": <COUNT>, "kind": "ReplacedEvent", {_ROW}}}'),
    (
        CertifiedEvent(event=COUNT, epsilon=1, delta="1e-6"),
        f'{{{_SCOPE}, "delta": "1/1000000", "epsilon": "1", "event": <COUNT>, "kind": "CertifiedEvent", {_ROW}}}',
    ),
    (
        PostProcessedEvent(event=COUNT, by="rounding"),
        f'{{{_SCOPE}, "by": "rounding", "event": <COUNT>, "kind": "PostProcessedEvent", {_ROW}}}',
    ),
    (
        GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6", unit="person"), arithmetic="real"),
        (
            '{"adjacency": "add-remove", "arithmetic": "real", "guarantee": {"adjacency": "add-remove", '
            f'"delta": "1/1000000", "epsilon": "1", "kind": "ApproxDP", {_ONE}}}, "kind": "GuaranteedEvent", {_ONE}}}'
        ),
    ),
    (
        GuaranteedEvent(guarantee=PureDP(epsilon=2, adjacency=SameChanges, unit="person")),
        (
            '{"adjacency": "same-changes", "arithmetic": "integer", "guarantee": {"adjacency": "same-changes", '
            f'"epsilon": "2", "kind": "PureDP", {_ONE}}}, "kind": "GuaranteedEvent", {_ONE}}}'
        ),
    ),
    (
        PoissonSampledEvent(event=COUNT, probability="0.01"),
        f'{{{_SCOPE}, "event": <COUNT>, "kind": "PoissonSampledEvent", "probability": "1/100", {_ROW}}}',
    ),
    (
        FixedSampledEvent(event=PERSON, size=1, population=100),
        f'{{{_REPLACED}, "event": <PERSON>, "kind": "FixedSampledEvent", "population": 100, "size": 1, {_ONE}}}',
    ),
    (
        ShuffledEvent(event=ANSWER, reports=10_000),
        f'{{{_REPLACED}, "event": <ANSWER>, "kind": "ShuffledEvent", "reports": 10000, {_ROW}}}',
    ),
]


def _whole(text: str) -> str:
    for name, part in _TEXT.items():
        text = text.replace(f"<{name}>", part)
    return text


def test_the_texts_of_version_1_never_change() -> None:
    for event, text in GOLDEN:
        assert event.to_json() == _whole(text)
        assert Event.from_json(_whole(text)) == event
        assert type(event).from_json(_whole(text)) == event


def test_every_structure_has_a_golden_text() -> None:
    known = {kind for kind in Record._kinds.values() if kind.__module__ == "celosia.core.structure"}
    assert known == {type(event) for event, _ in GOLDEN}
    assert {kind.__name__ for kind in known} < set(celosia.core.__all__)


def test_copies_and_reprs_are_the_event_again() -> None:
    for event in [event for event, _ in GOLDEN]:
        assert copy.deepcopy(event) == event
        assert pickle.loads(pickle.dumps(event)) == event
        assert eval(repr(event), vars(celosia.core)) == event
        assert hash(copy.copy(event)) == hash(event)


def test_a_structure_has_the_scope_of_its_parts() -> None:
    assert RepeatedEvent(event=PERSON, times=2).adjacency is ReplaceOne
    assert RepeatedEvent(event=PERSON, times=2).unit == "person"
    assert ComposedEvent(events=(COUNT, REAL)).arithmetic == "real"
    assert ComposedEvent(events=(COUNT, COUNT)).arithmetic == "integer"
    assert ReplacedEvent(event=REAL).arithmetic == "real"
    assert ReplacedEvent(event=COUNT).adjacency is ReplaceOne


def test_real_arithmetic_cannot_be_hidden_in_a_structure() -> None:
    text = RepeatedEvent(event=REAL, times=2).to_json()
    hidden = text.replace(
        '"adjacency": "add-remove", "arithmetic": "real", "event"',
        '"adjacency": "add-remove", "arithmetic": "integer", "event"',
    )
    assert hidden != text
    with pytest.raises(FormatError, match="arithmetic"):
        Event.from_json(hidden)


def test_mixed_scopes_are_refused() -> None:
    cases: list[Callable[..., Event]] = [ComposedEvent, ParallelEvent]
    for kind in cases:
        with pytest.raises(GuaranteeMismatchError, match="adjacency"):
            kind(events=(COUNT, ANSWER))
        with pytest.raises(GuaranteeMismatchError, match="unit"):
            kind(events=(ANSWER, PERSON))


BAD: list[tuple[str, Callable[[], object]]] = [
    ("events", lambda: ComposedEvent(events=())),
    ("events", lambda: ComposedEvent(events=COUNT)),  # type: ignore[arg-type]
    ("events", lambda: ComposedEvent(events=(COUNT, 1))),  # type: ignore[arg-type]
    ("events", lambda: ParallelEvent(events="ab")),  # type: ignore[arg-type]
    ("event", lambda: RepeatedEvent(event=None, times=1)),  # type: ignore[arg-type]
    ("event", lambda: RepeatedEvent(event=PureDP(epsilon=1), times=1)),  # type: ignore[arg-type]
    ("times", lambda: RepeatedEvent(event=COUNT, times=0)),
    ("times", lambda: RepeatedEvent(event=COUNT, times=1.5)),  # type: ignore[arg-type]
    ("times", lambda: RepeatedEvent(event=COUNT, times=True)),
    ("fixed", lambda: ParallelEvent(events=(COUNT,), fixed=1)),  # type: ignore[arg-type]
    ("size", lambda: GroupEvent(event=COUNT, size=0)),
    ("adjacency", lambda: ReplacedEvent(event=ANSWER)),
    ("adjacency", lambda: ReplacedEvent(event=COUNT, adjacency=celosia.core.AddRemove)),
    ("by", lambda: PostProcessedEvent(event=COUNT, by="")),
    ("epsilon", lambda: CertifiedEvent(event=COUNT, epsilon=0, delta="1e-6")),
    ("delta", lambda: CertifiedEvent(event=COUNT, epsilon=1, delta=2)),
    ("guarantee", lambda: GuaranteedEvent(guarantee=1)),  # type: ignore[arg-type]
    ("unit", lambda: GuaranteedEvent(guarantee=PureDP(epsilon=1), unit="person")),
    ("probability", lambda: PoissonSampledEvent(event=COUNT, probability="1.5")),
    ("probability", lambda: PoissonSampledEvent(event=COUNT, probability=-0.1)),
    ("probability", lambda: PoissonSampledEvent(event=COUNT, probability=float("nan"))),
    ("adjacency", lambda: PoissonSampledEvent(event=ANSWER, probability="0.5")),
    ("size", lambda: FixedSampledEvent(event=PERSON, size=3, population=2)),
    ("size", lambda: FixedSampledEvent(event=ShuffledEvent(event=ANSWER, reports=9), size=8, population=10)),
    ("population", lambda: FixedSampledEvent(event=PERSON, size=0, population=0)),
    ("adjacency", lambda: FixedSampledEvent(event=COUNT, size=1, population=2)),
    ("reports", lambda: ShuffledEvent(event=ANSWER, reports=0)),
    ("adjacency", lambda: ShuffledEvent(event=COUNT, reports=2)),
    ("adjacency", lambda: RepeatedEvent(event=COUNT, times=2, adjacency=ReplaceOne)),
    ("unit", lambda: RepeatedEvent(event=COUNT, times=2, unit="person")),
]


def test_bad_parameters_are_named() -> None:
    for name, make in BAD:
        with pytest.raises(CelosiaError, match=rf"\b{name}\b"):
            make()


def test_a_long_list_is_told_of_repetition() -> None:
    with pytest.raises(ParameterError, match="RepeatedEvent"):
        ComposedEvent(events=[COUNT] * 10_001)


@given(st.integers(0, 50), st.integers(1, 50))
def test_the_share_of_a_fixed_sample(size: int, more: int) -> None:
    event = FixedSampledEvent(event=PERSON, size=size, population=size + more)
    assert event.probability == Fraction(size, size + more)
    assert Event.from_json(event.to_json()) == event


@given(
    st.recursive(
        st.sampled_from([COUNT, CHOICE]),
        lambda parts: st.one_of(
            st.lists(parts, min_size=1, max_size=3).map(lambda events: ComposedEvent(events=events)),
            st.builds(lambda event, times: RepeatedEvent(event=event, times=times), parts, st.integers(1, 10**6)),
            st.builds(lambda event, size: GroupEvent(event=event, size=size), parts, st.integers(1, 9)),
            st.lists(parts, min_size=1, max_size=3).map(lambda events: ParallelEvent(events=events)),
        ),
        max_leaves=6,
    )
)
def test_nested_structures_survive_their_json(event: Event) -> None:
    assert Event.from_json(event.to_json()) == event


_LIFE = GuaranteedEvent(guarantee=PureDP(epsilon=2, adjacency=SameChanges, unit="person"))
_AROUND: list[Callable[[], Event]] = [
    lambda: ComposedEvent(events=(_LIFE, _LIFE)),
    lambda: RepeatedEvent(event=_LIFE, times=2),
    lambda: ParallelEvent(events=(_LIFE,), fixed=True),
    lambda: GroupEvent(event=_LIFE, size=2),
    lambda: ReplacedEvent(event=_LIFE),
    lambda: PostProcessedEvent(event=_LIFE, by="rounding"),
    lambda: CertifiedEvent(event=_LIFE, epsilon=2, delta="1e-6"),
    lambda: PoissonSampledEvent(event=_LIFE, probability="0.1"),
    lambda: FixedSampledEvent(event=_LIFE, size=1, population=2),
    lambda: ShuffledEvent(event=_LIFE, reports=10),
]


def test_no_structure_contains_what_holds_between_some_histories_only() -> None:
    for make in _AROUND:
        with pytest.raises(GuaranteeMismatchError, match="SameChanges"):
            make()


def test_only_a_stated_guarantee_may_hold_between_some_histories_only() -> None:
    with pytest.raises(ParameterError, match="SameChanges"):
        LaplaceEvent(scale=1, sensitivity=1, adjacency=SameChanges)
    with pytest.raises(GuaranteeMismatchError, match="adjacency"):
        GuaranteedEvent(guarantee=PureDP(epsilon=2, adjacency=SameChanges), adjacency=ReplaceOne)
