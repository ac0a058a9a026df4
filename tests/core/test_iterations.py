"""Events of iterations: their parameters, and the texts that never change."""

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

from celosia.core import AddRemove, Event, FormatError, ParameterError, ReplaceOne
from celosia.core.iterations import ContractiveIterationEvent, PNSGDEvent
from celosia.core.record import Record

# What version 1 writes. Ledgers keep these texts for years: a change here is a new version, never an edit.
GOLDEN: list[tuple[Event, str]] = [
    (
        ContractiveIterationEvent(steps=[(1, 4, 1), (0, "0.1", 10**6)]),
        (
            '{"adjacency": "add-remove", "arithmetic": "real", "kind": "ContractiveIterationEvent", '
            '"noise": "gaussian", "start": "0", "steps": [["1", "4", 1], ["0", "1/10", 1000000]], "unit": "row", '
            '"version": 1}'
        ),
    ),
    (
        ContractiveIterationEvent(
            steps=[("1/3", 2, 5)], noise="laplace", start="0.5", adjacency=ReplaceOne, unit="person"
        ),
        (
            '{"adjacency": "replace-one", "arithmetic": "real", "kind": "ContractiveIterationEvent", '
            '"noise": "laplace", "start": "1/2", "steps": [["1/3", "2", 5]], "unit": "person", "version": 1}'
        ),
    ),
    (
        PNSGDEvent(records=1000, step_size="0.1", lipschitz=2, smoothness=1, variance=4),
        (
            '{"adjacency": "replace-one", "arithmetic": "real", "diameter": null, "epochs": 1, "kind": "PNSGDEvent", '
            '"lipschitz": "2", "order": "fixed", "records": 1000, "smoothness": "1", "step_size": "1/10", '
            '"stop": "fixed", "unit": "row", "variance": "4", "version": 1}'
        ),
    ),
    (
        PNSGDEvent(
            records=9,
            step_size=1,
            lipschitz=1,
            smoothness=0,
            variance=1,
            epochs=3,
            diameter=2,
            order="secret permutation",
            unit="person",
        ),
        (
            '{"adjacency": "replace-one", "arithmetic": "real", "diameter": "2", "epochs": 3, "kind": "PNSGDEvent", '
            '"lipschitz": "1", "order": "secret permutation", "records": 9, "smoothness": "0", "step_size": "1", '
            '"stop": "fixed", "unit": "person", "variance": "1", "version": 1}'
        ),
    ),
    (
        PNSGDEvent(records=9, step_size=1, lipschitz=1, smoothness=2, variance=1, stop="secret uniform"),
        (
            '{"adjacency": "replace-one", "arithmetic": "real", "diameter": null, "epochs": 1, "kind": "PNSGDEvent", '
            '"lipschitz": "1", "order": "fixed", "records": 9, "smoothness": "2", "step_size": "1", '
            '"stop": "secret uniform", "unit": "row", "variance": "1", "version": 1}'
        ),
    ),
]

_fractions = st.fractions(min_value=0, max_value=1000)
_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        ContractiveIterationEvent,
        steps=st.lists(st.tuples(_fractions, _fractions.filter(bool), st.integers(1, 2**40)), min_size=1, max_size=5),
        noise=st.sampled_from(["gaussian", "laplace"]),
        start=_fractions,
        adjacency=st.sampled_from([AddRemove, ReplaceOne]),
    ),
    st.builds(
        PNSGDEvent,
        records=st.integers(1, 2**30),
        step_size=st.fractions("0.01", 2),
        lipschitz=_fractions.filter(bool),
        smoothness=st.fractions(0, 1),
        variance=_fractions.filter(bool),
        epochs=st.integers(1, 2**20),
        diameter=st.none() | _fractions.filter(bool),
        order=st.sampled_from(["fixed", "secret permutation"]),
    ),
)


def test_every_iteration_has_a_golden_text() -> None:
    known = {kind for kind in Record._kinds.values() if kind.__module__ == "celosia.core.iterations"}
    assert known == {type(event) for event, _ in GOLDEN}


def test_the_texts_of_version_1_never_change() -> None:
    for event, text in GOLDEN:
        assert event.to_json() == text
        assert Event.from_json(text) == event


@given(_events)
def test_json_repr_and_copies_round_trip(event: Event) -> None:
    twins = (
        Event.from_json(event.to_json()),
        eval(repr(event)),
        pickle.loads(pickle.dumps(event)),
        copy.deepcopy(event),
        dataclasses.replace(event),
    )
    for twin in twins:
        assert twin == event
        assert hash(twin) == hash(event)
        assert twin.to_json() == event.to_json()


def test_equal_steps_are_stored_once() -> None:
    one = ContractiveIterationEvent(steps=[(0, 1, 1)] * 3 + [(1, 1, 1)])
    assert one.steps == ((Fraction(0), Fraction(1), 3), (Fraction(1), Fraction(1), 1))
    assert one == ContractiveIterationEvent(steps=[(0, 1, 2), (0, 1, 1), (1, 1, 1)])


def test_numpy_values_are_stored_as_python_values() -> None:
    event = ContractiveIterationEvent(steps=[(np.float64(1), np.int8(4), np.int64(1))])  # type: ignore[list-item]
    assert event == ContractiveIterationEvent(steps=[(1, 4, 1)])
    assert type(event.steps[0][2]) is int


# ---- parameters


def _pnsgd(**changes: Any) -> PNSGDEvent:
    given = {"records": 10, "step_size": 1, "lipschitz": 1, "smoothness": 1, "variance": 1}
    return PNSGDEvent(**(given | changes))


_NEGATIVE = [-1, math.nan, math.inf, True, None, "", 1j]
_NOT_POSITIVE = [0, *_NEGATIVE]
_NOT_WHOLE = [0, -1, 1.0, "1", True, None]
_CASES: list[tuple[str, Callable[..., Event], list[Any]]] = [
    ("steps", lambda v: ContractiveIterationEvent(steps=v), [(), [], "111", None, 3, [1], [(1, 2)], ["abc"], [None]]),
    ("steps", lambda v: ContractiveIterationEvent(steps=v), [[(1, 1, 2**53), (0, 1, 1)], [(1, 1, 1)] * 10_001]),
    ("shift", lambda v: ContractiveIterationEvent(steps=[(v, 1, 1)]), _NEGATIVE),
    ("size", lambda v: ContractiveIterationEvent(steps=[(1, v, 1)]), _NOT_POSITIVE),
    ("count", lambda v: ContractiveIterationEvent(steps=[(1, 1, v)]), _NOT_WHOLE),
    ("noise", lambda v: ContractiveIterationEvent(steps=[(1, 1, 1)], noise=v), ["cauchy", "", None, 1]),
    ("start", lambda v: ContractiveIterationEvent(steps=[(1, 1, 1)], start=v), _NEGATIVE),
    ("records", lambda v: _pnsgd(records=v), _NOT_WHOLE),
    ("epochs", lambda v: _pnsgd(epochs=v), _NOT_WHOLE),
    ("records times epochs", lambda v: _pnsgd(records=v, epochs=2**30), [2**30]),
    ("step_size", lambda v: _pnsgd(step_size=v), [*_NOT_POSITIVE, "2.0001", 3]),
    ("lipschitz", lambda v: _pnsgd(lipschitz=v), _NOT_POSITIVE),
    ("smoothness", lambda v: _pnsgd(smoothness=v), _NEGATIVE),
    ("variance", lambda v: _pnsgd(variance=v), _NOT_POSITIVE),
    ("diameter", lambda v: _pnsgd(diameter=v), [0, -1, math.nan, True, ""]),
    ("order", lambda v: _pnsgd(order=v), ["random", "", None, 1]),
    ("stop", lambda v: _pnsgd(stop=v), ["random", "", None, 1]),
    ("adjacency", lambda v: _pnsgd(adjacency=v), [AddRemove, "bounded", None]),
    ("unit", lambda v: _pnsgd(unit=v), ["", "\n", None]),
    ("arithmetic", lambda v: _pnsgd(arithmetic=v), ["integer", "float", None]),
    ("arithmetic", lambda v: ContractiveIterationEvent(steps=[(1, 1, 1)], arithmetic=v), ["integer", "float", None]),
]


def test_parameters_without_a_meaning_are_refused_by_name() -> None:
    cases: list[tuple[str, Callable[..., Event], object]] = [
        (name, make, value) for name, make, values in _CASES for value in values
    ]
    for name, make, value in cases:
        with pytest.raises(ParameterError, match=rf"^{name} must be "):
            make(value)


def test_a_step_that_is_no_contraction_is_refused_with_the_reason() -> None:
    assert _pnsgd(step_size=2).step_size == 2
    assert _pnsgd(step_size=10**6, smoothness=0).smoothness == 0
    with pytest.raises(ParameterError, match=r"at most 2 / smoothness = 2, not 2\.5: a longer step is no contraction"):
        _pnsgd(step_size="2.5")


def test_a_secret_stop_goes_with_one_epoch() -> None:
    with pytest.raises(ParameterError, match="needs epochs=1"):
        _pnsgd(stop="secret uniform", epochs=2)


def test_a_ledger_cannot_be_told_that_the_noise_was_on_a_grid() -> None:
    for event, text in GOLDEN:
        assert event.arithmetic == "real"
        with pytest.raises(FormatError, match="does not hold for noise"):
            Event.from_json(text.replace('"real"', '"integer"'))
