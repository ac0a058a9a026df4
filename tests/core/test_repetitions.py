"""The event of a private search: its parameters, its scope, and the texts that never change."""

import copy
import math
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia.core
from celosia.core import (
    Event,
    FormatError,
    GaussianEvent,
    GuaranteeMismatchError,
    LaplaceEvent,
    ParameterError,
    PrivateSelectionEvent,
    ReplaceOne,
)
from celosia.core.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = LaplaceEvent(scale=10, sensitivity=1)
PERSON = GaussianEvent(variance=4, sensitivity_squared=1, adjacency=ReplaceOne, unit="person", arithmetic="real")

_COUNT = COUNT.to_json()  # frozen by the tests of that event
_PERSON = PERSON.to_json()

# What version 1 writes. Ledgers keep these texts for years: a change here is a new version, never an edit.
GOLDEN: list[tuple[Event, str]] = [
    (
        PrivateSelectionEvent(event=COUNT, gamma="0.1"),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "distribution": "negative binomial", "eta": "1", '
            f'"event": {_COUNT}, "gamma": "1/10", "kind": "PrivateSelectionEvent", "mean": null, "unit": "row", '
            '"version": 1}'
        ),
    ),
    (
        PrivateSelectionEvent(event=PERSON, eta="-1/2", gamma="1/3"),
        (
            '{"adjacency": "replace-one", "arithmetic": "real", "distribution": "negative binomial", "eta": "-1/2", '
            f'"event": {_PERSON}, "gamma": "1/3", "kind": "PrivateSelectionEvent", "mean": null, "unit": "person", '
            '"version": 1}'
        ),
    ),
    (
        PrivateSelectionEvent(event=COUNT, distribution="poisson", mean="2.5"),
        (
            '{"adjacency": "add-remove", "arithmetic": "integer", "distribution": "poisson", "eta": null, '
            f'"event": {_COUNT}, "gamma": null, "kind": "PrivateSelectionEvent", "mean": "5/2", "unit": "row", '
            '"version": 1}'
        ),
    ),
]

_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        PrivateSelectionEvent,
        event=st.sampled_from([COUNT, PERSON]),
        eta=st.fractions("-0.99", 100),
        gamma=st.fractions("0.001", "0.999"),
    ),
    st.builds(
        PrivateSelectionEvent,
        event=st.sampled_from([COUNT, PERSON]),
        distribution=st.just("poisson"),
        mean=st.fractions("0.001", 10**6),
    ),
)


def test_every_repetition_has_a_golden_text() -> None:
    known = {kind for kind in Record._kinds.values() if kind.__module__ == "celosia.core.repetitions"}
    assert known == {type(event) for event, _ in GOLDEN}
    assert {kind.__name__ for kind in known} < set(celosia.core.__all__)


def test_the_texts_of_version_1_never_change() -> None:
    for event, text in GOLDEN:
        assert event.to_json() == text
        assert Event.from_json(text) == event


@given(_events)
def test_json_repr_and_copies_round_trip(event: Event) -> None:
    for twin in (
        Event.from_json(event.to_json()),
        eval(repr(event), vars(celosia.core)),
        pickle.loads(pickle.dumps(event)),
        copy.deepcopy(event),
    ):
        assert twin == event
        assert hash(twin) == hash(event)
        assert twin.to_json() == event.to_json()


def test_a_search_has_the_scope_of_one_run() -> None:
    event = PrivateSelectionEvent(event=PERSON, gamma="0.1")
    assert (event.adjacency, event.unit, event.arithmetic) == (ReplaceOne, "person", "real")
    hidden = event.to_json().replace('"arithmetic": "real", "distribution"', '"arithmetic": "integer", "distribution"')
    assert hidden != event.to_json()
    with pytest.raises(FormatError, match="arithmetic"):
        Event.from_json(hidden)
    scopes: list[dict[str, Any]] = [{"adjacency": ReplaceOne}, {"unit": "person"}, {"arithmetic": "real"}]
    for scope in scopes:
        with pytest.raises(GuaranteeMismatchError):
            PrivateSelectionEvent(event=COUNT, gamma="0.1", **scope)


def _binomial(**changes: Any) -> PrivateSelectionEvent:
    plain: dict[str, Any] = {"event": COUNT, "gamma": "0.1"}
    return PrivateSelectionEvent(**(plain | changes))


def _poisson(**changes: Any) -> PrivateSelectionEvent:
    plain: dict[str, Any] = {"event": COUNT, "distribution": "poisson", "mean": 1}
    return PrivateSelectionEvent(**(plain | changes))


_NO_NUMBER = [math.nan, math.inf, True, "", 1j]


def test_bad_parameters_are_refused_by_name() -> None:
    cases: list[tuple[str, Callable[..., Event], list[Any]]] = [
        ("event", lambda v: _binomial(event=v), [None, 1, "COUNT"]),
        ("distribution", lambda v: _binomial(distribution=v), ["", "Poisson", None, 1, ["poisson"]]),
        ("gamma", lambda v: _binomial(gamma=v), [None, 0, 1, "1.5", -1, "1e-10", *_NO_NUMBER]),
        ("eta", lambda v: _binomial(eta=v), [-1, -2, 10**10, *_NO_NUMBER]),
        ("mean", lambda v: _binomial(mean=v), [1, "2"]),
        ("mean", lambda v: _poisson(mean=v), [None, 0, -1, 10**10, *_NO_NUMBER]),
        ("eta", lambda v: _poisson(eta=v), [1]),
        ("gamma", lambda v: _poisson(gamma=v), ["0.1"]),
    ]
    for name, make, values in cases:
        for value in values:
            with pytest.raises(ParameterError, match=name):
                make(value)
