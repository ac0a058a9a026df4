"""Events: their parameters, and the texts that never change."""

import copy
import dataclasses
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia.core
from celosia.core import (
    AboveThresholdEvent,
    AddRemove,
    BoundedLaplaceEvent,
    Event,
    ExponentialEvent,
    FormatError,
    GaussianEvent,
    Guarantee,
    LaplaceEvent,
    NoisyMaxEvent,
    ParameterError,
    PermuteAndFlipEvent,
    RandomizedResponseEvent,
    ReplaceOne,
)
from celosia.core.enclosure import log_at_least
from celosia.core.events import KeySelectionEvent, KNormEvent, SummedGaussianEvent
from celosia.core.record import Record

# What version 1 writes. Ledgers keep these texts for years: a change here is a new version, never an edit.
GOLDEN: list[tuple[Event, str]] = [
    (
        LaplaceEvent(scale="2.5", sensitivity=1),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "dimension": 1, "grid": "1", "kind": "LaplaceEvent", '
            '"scale": "5/2", "sensitivity": "1", "unit": "row", "version": 1}'
        ),
    ),
    (
        LaplaceEvent(
            scale=10, sensitivity=2, grid="1/1024", dimension=3, adjacency=ReplaceOne, unit="person", arithmetic="real"
        ),
        (
            '{"adjacency": "replace-one", "arithmetic": "real", "dimension": 3, "grid": "1/1024", '
            '"kind": "LaplaceEvent", "scale": "10", "sensitivity": "2", "unit": "person", "version": 1}'
        ),
    ),
    (
        GaussianEvent(variance=16, sensitivity_squared=2, grid=0.5, dimension=3),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "dimension": 3, "grid": "1/2", '
            '"kind": "GaussianEvent", "sensitivity_squared": "2", "unit": "row", "variance": "16", "version": 1}'
        ),
    ),
    (
        BoundedLaplaceEvent(epsilon=1, scale="2.5", sensitivity=2, reach=100, grid="1/8", dimension=3),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "dimension": 3, "epsilon": "1", "grid": "1/8", '
            '"kind": "BoundedLaplaceEvent", "reach": 100, "scale": "5/2", "sensitivity": 2, "unit": "row", '
            '"version": 1}'
        ),
    ),
    (
        RandomizedResponseEvent(epsilon=1, categories=4),
        (
            '{"adjacency": "replace-one", "arithmetic": "integer", "categories": 4, "coins": null, "epsilon": "1", '
            '"kind": "RandomizedResponseEvent", "unit": "row", "version": 1}'
        ),
    ),
    (
        RandomizedResponseEvent(epsilon="1.1", coins=("3/4", "1/4")),
        (
            '{"adjacency": "replace-one", "arithmetic": "integer", "categories": 2, "coins": ["3/4", "1/4"], '
            '"epsilon": "11/10", "kind": "RandomizedResponseEvent", "unit": "row", "version": 1}'
        ),
    ),
    (
        ExponentialEvent(epsilon="0.1"),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "epsilon": "1/10", "kind": "ExponentialEvent", '
            '"unit": "row", "version": 1}'
        ),
    ),
    (
        PermuteAndFlipEvent(epsilon=1),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "epsilon": "1", "kind": "PermuteAndFlipEvent", '
            '"unit": "row", "version": 1}'
        ),
    ),
    (
        SummedGaussianEvent(parts=5, variance="2.5", sensitivity_squared=2, dimension=3),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "dimension": 3, "grid": "1", '
            '"kind": "SummedGaussianEvent", "parts": 5, "sensitivity_squared": "2", "unit": "row", "variance": "5/2", '
            '"version": 1}'
        ),
    ),
    (
        KNormEvent(scale="2.5", sensitivity=1, width=3, blocks=2),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "blocks": 2, "grid": "1", "kind": "KNormEvent", '
            '"scale": "5/2", "sensitivity": "1", "unit": "row", "version": 1, "width": 3}'
        ),
    ),
    (
        NoisyMaxEvent(epsilon=1, adjacency=ReplaceOne),
        (
            '{"adjacency": "replace-one", "arithmetic": "integer", "epsilon": "1", "kind": "NoisyMaxEvent", '
            '"unit": "row", "version": 1}'
        ),
    ),
    (
        AboveThresholdEvent(epsilon=1, answers=3),
        (
            '{"adjacency": "add-remove", "answers": 3, "arithmetic": "integer", "epsilon": "1", '
            '"kind": "AboveThresholdEvent", "unit": "row", "version": 1}'
        ),
    ),
    (
        KeySelectionEvent(scale="2.5", threshold=35),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "groups": 1, "kind": "KeySelectionEvent", '
            '"scale": "5/2", "threshold": 35, "unit": "row", "version": 1}'
        ),
    ),
    (
        KeySelectionEvent(scale=20, threshold=300, groups=3, adjacency=ReplaceOne, unit="person"),
        (
            '{"adjacency": "replace-one", "arithmetic": "integer", "groups": 3, "kind": "KeySelectionEvent", '
            '"scale": "20", "threshold": 300, "unit": "person", "version": 1}'
        ),
    ),
]
EVENTS = [event for event, _ in GOLDEN]

_positive = st.fractions(min_value=0, max_value=1000).filter(bool) | st.floats(1e-300, 1e300).map(Fraction)
_numbers = _positive | st.just(Fraction(0))
_wholes = st.integers(1, 2**64)
_scope: dict[str, Any] = {
    "unit": st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=20),
    "arithmetic": st.sampled_from(["integer", "real"]),
}
_adjacency = st.sampled_from([AddRemove, ReplaceOne])
_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        LaplaceEvent,
        scale=_positive,
        sensitivity=_numbers,
        grid=_positive,
        dimension=_wholes,
        adjacency=_adjacency,
        **_scope,
    ),
    st.builds(
        GaussianEvent,
        variance=_positive,
        sensitivity_squared=_numbers,
        grid=_positive,
        dimension=_wholes,
        adjacency=_adjacency,
        **_scope,
    ),
    st.builds(
        BoundedLaplaceEvent,
        epsilon=_positive,
        scale=_positive,
        sensitivity=_wholes,
        reach=_wholes,
        grid=_positive,
        dimension=_wholes,
        adjacency=_adjacency,
        **_scope,
    ),
    st.builds(RandomizedResponseEvent, epsilon=_numbers, categories=st.integers(2, 2**64), **_scope),
    st.builds(
        RandomizedResponseEvent,
        epsilon=st.fractions(5, 9),
        coins=st.tuples(st.fractions("0.01", "0.99"), st.fractions("0.01", "0.99")),
        **_scope,
    ),
    *[
        st.builds(kind, epsilon=_positive, adjacency=_adjacency, **_scope)
        for kind in (ExponentialEvent, PermuteAndFlipEvent, NoisyMaxEvent)
    ],
    st.builds(AboveThresholdEvent, epsilon=_positive, answers=_wholes, adjacency=_adjacency, **_scope),
    st.builds(KeySelectionEvent, scale=_positive, threshold=_wholes, groups=_wholes, adjacency=_adjacency, **_scope),
)


def test_every_kind_of_event_has_a_golden_text() -> None:
    known = {
        kind
        for kind in Record._kinds.values()
        if issubclass(kind, Event) and kind.__module__ == "celosia.core.events" and kind is not Event
    }
    homes = {kind.__module__ for kind in Record._kinds.values() if issubclass(kind, Event)}
    # Each of these has golden texts in its own tests; another home needs them too.
    frozen = {f"celosia.core.{name}" for name in ("events", "iterations", "repetitions", "structure")}
    assert {home for home in homes if home.startswith("celosia.core")} == frozen
    assert known == {type(event) for event in EVENTS}
    assert {kind.__name__ for kind in known} < set(celosia.core.__all__)


def test_the_texts_of_version_1_never_change() -> None:
    for event, text in GOLDEN:
        assert event.to_json() == text
        assert type(event).from_json(text) == Event.from_json(text) == Record.from_json(text) == event
        with pytest.raises(FormatError, match="not a Guarantee"):
            Guarantee.from_json(text)


@given(_events)
def test_json_repr_and_copies_round_trip(event: Event) -> None:
    text = event.to_json()
    for twin in (
        Event.from_json(text),
        eval(repr(event)),
        pickle.loads(pickle.dumps(event)),
        copy.deepcopy(event),
        dataclasses.replace(event),
    ):
        assert twin == event
        assert hash(twin) == hash(event)
        assert twin.to_json() == text


def test_events_are_frozen() -> None:
    for event in EVENTS:
        before = event.to_json()
        for field in dataclasses.fields(event):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(event, field.name, 0)
        with pytest.raises((AttributeError, TypeError)):
            event.note = "cheap"  # type: ignore[attr-defined]
        assert event.to_json() == before


def test_events_of_different_kinds_are_never_equal() -> None:
    selections = {ExponentialEvent(epsilon=1), PermuteAndFlipEvent(epsilon=1), NoisyMaxEvent(epsilon=1)}
    assert len(selections) == 3
    assert len(set(EVENTS)) == len(EVENTS)


def test_repr_shows_what_is_not_the_default() -> None:
    assert [repr(event) for event in EVENTS[:2]] == [
        "LaplaceEvent(scale=2.5, sensitivity=1)",
        (
            "LaplaceEvent(scale=10, sensitivity=2, grid=0.0009765625, dimension=3, "
            "adjacency=ReplaceOne, unit='person', arithmetic='real')"
        ),
    ]


def test_numpy_values_are_stored_as_python_values() -> None:
    event = LaplaceEvent(
        scale=np.float32(2.5),  # type: ignore[arg-type]
        sensitivity=np.int8(1),  # type: ignore[arg-type]
        dimension=np.int64(1),  # type: ignore[arg-type]
        unit=np.str_("row"),
        arithmetic=np.str_("integer"),  # type: ignore[arg-type]
    )
    assert event == EVENTS[0]
    assert repr(event) == repr(EVENTS[0])
    assert event.to_json() == GOLDEN[0][1]


# ---- parameters

_NEGATIVE = [-1, math.nan, math.inf, 5e-324, "1e-400", True, None, "", 1j]
_NOT_POSITIVE = [0, "0", -0.0, *_NEGATIVE]
_NOT_WHOLE = [0, -1, 1.0, "1", True, None, Fraction(1)]
_CASES: list[tuple[str, Callable[..., Event], list[Any]]] = [
    ("scale", lambda v: LaplaceEvent(scale=v, sensitivity=1), _NOT_POSITIVE),
    ("sensitivity", lambda v: LaplaceEvent(scale=1, sensitivity=v), _NEGATIVE),
    ("grid", lambda v: LaplaceEvent(scale=1, sensitivity=1, grid=v), _NOT_POSITIVE),
    ("dimension", lambda v: LaplaceEvent(scale=1, sensitivity=1, dimension=v), _NOT_WHOLE),
    ("epsilon", lambda v: BoundedLaplaceEvent(epsilon=v, scale=1, sensitivity=1, reach=1), _NOT_POSITIVE),
    ("scale", lambda v: BoundedLaplaceEvent(epsilon=1, scale=v, sensitivity=1, reach=1), _NOT_POSITIVE),
    ("sensitivity", lambda v: BoundedLaplaceEvent(epsilon=1, scale=1, sensitivity=v, reach=1), _NOT_WHOLE),
    ("reach", lambda v: BoundedLaplaceEvent(epsilon=1, scale=1, sensitivity=1, reach=v), _NOT_WHOLE),
    ("scale", lambda v: KNormEvent(scale=v, sensitivity=1, width=2), _NOT_POSITIVE),
    ("sensitivity", lambda v: KNormEvent(scale=1, sensitivity=v, width=2), _NEGATIVE),
    ("width", lambda v: KNormEvent(scale=1, sensitivity=1, width=v), _NOT_WHOLE),
    ("blocks", lambda v: KNormEvent(scale=1, sensitivity=1, width=2, blocks=v), _NOT_WHOLE),
    ("variance", lambda v: GaussianEvent(variance=v, sensitivity_squared=1), _NOT_POSITIVE),
    ("sensitivity_squared", lambda v: GaussianEvent(variance=1, sensitivity_squared=v), _NEGATIVE),
    ("grid", lambda v: GaussianEvent(variance=1, sensitivity_squared=1, grid=v), _NOT_POSITIVE),
    ("dimension", lambda v: GaussianEvent(variance=1, sensitivity_squared=1, dimension=v), _NOT_WHOLE),
    ("parts", lambda v: SummedGaussianEvent(parts=v, variance=1, sensitivity_squared=1), _NOT_WHOLE),
    ("variance", lambda v: SummedGaussianEvent(parts=2, variance=v, sensitivity_squared=1), _NOT_POSITIVE),
    ("sensitivity_squared", lambda v: SummedGaussianEvent(parts=2, variance=1, sensitivity_squared=v), _NEGATIVE),
    ("epsilon", lambda v: RandomizedResponseEvent(epsilon=v), _NEGATIVE),
    ("categories", lambda v: RandomizedResponseEvent(epsilon=1, categories=v), [1, *_NOT_WHOLE]),
    ("epsilon", lambda v: ExponentialEvent(epsilon=v), _NOT_POSITIVE),
    ("epsilon", lambda v: PermuteAndFlipEvent(epsilon=v), _NOT_POSITIVE),
    ("epsilon", lambda v: NoisyMaxEvent(epsilon=v), _NOT_POSITIVE),
    ("epsilon", lambda v: AboveThresholdEvent(epsilon=v), _NOT_POSITIVE),
    ("answers", lambda v: AboveThresholdEvent(epsilon=1, answers=v), _NOT_WHOLE),
    ("scale", lambda v: KeySelectionEvent(scale=v, threshold=1), _NOT_POSITIVE),
    ("threshold", lambda v: KeySelectionEvent(scale=1, threshold=v), _NOT_WHOLE),
    ("groups", lambda v: KeySelectionEvent(scale=1, threshold=1, groups=v), _NOT_WHOLE),
    ("unit", lambda v: ExponentialEvent(epsilon=1, unit=v), ["", "\n", "x" * 201, None, 1, b"row"]),
    ("adjacency", lambda v: ExponentialEvent(epsilon=1, adjacency=v), ["", "bounded", None, 1, []]),
    ("arithmetic", lambda v: ExponentialEvent(epsilon=1, arithmetic=v), ["", "float", None, 1, [], np.array([1, 2])]),
]


def test_parameters_without_a_meaning_are_refused_by_name() -> None:
    cases: list[tuple[str, Callable[..., Event], object]] = [
        (name, make, value) for name, make, values in _CASES for value in values
    ]
    for name, make, value in cases:
        with pytest.raises(ParameterError, match=rf"^{name} must be "):
            make(value)


def test_a_sensitivity_of_zero_is_a_constant_query() -> None:
    assert LaplaceEvent(scale=1, sensitivity=0).sensitivity == 0
    assert GaussianEvent(variance=1, sensitivity_squared=0).sensitivity_squared == 0


def test_a_replaced_unit_reaches_twice_as_many_keys() -> None:
    assert KeySelectionEvent(scale=1, threshold=9, groups=3).affected_keys == 3
    assert KeySelectionEvent(scale=1, threshold=9, groups=3, adjacency=ReplaceOne).affected_keys == 6


# ---- randomized response


def test_a_randomized_answer_is_replace_one() -> None:
    assert RandomizedResponseEvent(epsilon=1).adjacency is ReplaceOne
    with pytest.raises(ParameterError, match="adjacency must be ReplaceOne"):
        RandomizedResponseEvent(epsilon=1, adjacency=AddRemove)


def test_coins_are_two_probabilities() -> None:
    cases: list[Any] = ["11", (), (1,), (0.5, 0.5, 0.5), 5, {0.5: 1, 0.6: 2}, (2, 0), (-0.1, 0), (None, 1)]
    for coins in cases:
        with pytest.raises(ParameterError, match=r"^coins must be "):
            RandomizedResponseEvent(epsilon=9, coins=coins)


def test_coins_need_two_categories() -> None:
    with pytest.raises(ParameterError, match="coins need categories=2, not 3"):
        RandomizedResponseEvent(epsilon=9, categories=3, coins=(0.5, 0.5))


@given(st.fractions("0.01", "0.99"), st.fractions("0.01", "0.99"))
def test_coins_give_away_no_more_than_epsilon(yes: Fraction, no: Fraction) -> None:
    ratio = max(yes / no, no / yes, (1 - yes) / (1 - no), (1 - no) / (1 - yes))
    least = log_at_least(ratio)
    assert RandomizedResponseEvent(epsilon=least, coins=(yes, no)).coins == (yes, no)
    if least > Fraction(1, 10**9):
        with pytest.raises(ParameterError, match="less than what the coins"):
            RandomizedResponseEvent(epsilon=least * (1 - Fraction(1, 10**12)), coins=(yes, no))


def test_coins_that_can_prove_the_truth_have_no_epsilon() -> None:
    cases: list[tuple[Any, Any]] = [(1, 0), (0, 1), (1, "1/2"), (0, "1/2"), ("1/2", 1), ("1/2", 0)]
    for coins in cases:
        with pytest.raises(ParameterError, match="less than what the coins"):
            RandomizedResponseEvent(epsilon=2**1023, coins=coins)


def test_coins_that_ignore_the_truth_are_free() -> None:
    cases: list[tuple[Any, Any]] = [(0, 0), (1, 1), ("1/3", "1/3")]
    for coins in cases:
        assert RandomizedResponseEvent(epsilon=0, coins=coins).epsilon == 0
