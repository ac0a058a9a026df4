"""Records: canonical JSON, and that no text whatever hangs, misreads, or raises anything but FormatError."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from celosia.core import (
    ZCDP,
    AboveThresholdEvent,
    ApproxDP,
    Event,
    FormatError,
    GaussianDP,
    Guarantee,
    LaplaceEvent,
    ParameterError,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
)
from celosia.core.exact import exact_text
from celosia.core.record import Record

RECORDS: list[Record] = [
    PureDP(epsilon="0.1"),
    ApproxDP(epsilon=1, delta="1e-6"),
    ZCDP(rho=0.5),
    RenyiDP(orders=(2, 8), epsilons=("0.1", "0.4")),
    GaussianDP(mu=1),
    LaplaceEvent(scale=10, sensitivity=1, dimension=3),
    RandomizedResponseEvent(epsilon=2, coins=("3/4", "1/4")),
    AboveThresholdEvent(epsilon=1, answers=3),
]
PURE = {"adjacency": "add-remove", "epsilon": "1", "kind": "PureDP", "unit": "row", "version": 1}


def _refused(text: Any, *, reader: type[Record] = Record) -> str:
    """Read ``text``, which must be refused with FormatError; return the message."""
    with pytest.raises(FormatError) as caught:
        reader.from_json(text)
    assert len(str(caught.value)) < 600
    return str(caught.value)


def _changed(**fields: object) -> str:
    return json.dumps(PURE | fields)


def test_json_is_canonical() -> None:
    for record in RECORDS:
        text = record.to_json()
        assert text == json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
        assert Record.from_json(text).to_json() == text


def test_order_of_keys_and_white_space_do_not_matter() -> None:
    for record in RECORDS:
        fields = json.loads(record.to_json())
        text = json.dumps(dict(reversed(fields.items())), indent=4)
        assert Record.from_json(text) == record


def test_a_number_may_be_written_in_another_way() -> None:
    for text in ("1", "1.0", "10e-1", "2/2"):
        assert Record.from_json(_changed(epsilon=text)) == PureDP(epsilon=1)


def test_each_field_is_needed_and_no_other_is_known() -> None:
    for record in RECORDS:
        fields = json.loads(record.to_json())
        for name in fields:
            _refused(json.dumps({key: value for key, value in fields.items() if key != name}))
        assert "needs exactly the fields" in _refused(json.dumps(fields | {"epsilon2": "1"}))
        assert "needs exactly the fields" in _refused(json.dumps(fields | {"": "1"}))
        assert "needs exactly the fields" in _refused(json.dumps(fields | {"self": "1"}))


def test_an_unknown_version_is_refused() -> None:
    cases: list[object] = [0, 2, -1, "1", 1.0, True, None, [1], {}, 10**300]
    for version in cases:
        _refused(_changed(version=version))


def test_an_unknown_or_abstract_kind_is_refused() -> None:
    cases: list[object] = [
        "",
        "PureDp",
        "Record",
        "Guarantee",
        "Event",
        "_Selection",
        "object",
        "__class__",
        "x" * 100_000,
        None,
        1,
        True,
        [],
        {},
    ]
    for kind in cases:
        _refused(_changed(kind=kind))
        _refused(
            json.dumps({"kind": kind, "version": 1, "adjacency": "add-remove", "unit": "row", "arithmetic": "integer"})
        )
        selection = {"adjacency": "add-remove", "unit": "row", "arithmetic": "integer", "epsilon": "1"}
        _refused(json.dumps({"kind": kind, "version": 1} | selection))


def test_a_field_of_another_type_is_refused() -> None:
    value_cases: list[object] = [
        None,
        True,
        False,
        0,
        1,
        -1,
        7,
        "x",
        "",
        " ",
        [],
        {},
        [[]],
        ["1"],
        ["1", "2", "3"],
        PURE,
    ]
    for record, value in product(RECORDS, value_cases):
        fields = json.loads(record.to_json())
        for name, good in fields.items():
            if type(value) is not type(good) or value == "":
                accepted = name == "coins" and value is None
                if not accepted:
                    _refused(json.dumps(fields | {name: value}))


def test_a_number_without_a_meaning_is_refused() -> None:
    cases: list[str] = ["nan", "inf", "-1", "1e-400", "1e999999", "1/0", "0x1", "1_0", "١", "1" * 10**6]
    for epsilon in cases:
        assert _refused(_changed(epsilon=epsilon)).startswith("A field of PureDP is not valid: epsilon must be ")


def test_a_text_for_a_list_is_refused() -> None:
    fields = json.loads(RenyiDP(orders=(2, 8), epsilons=(1, 2)).to_json())
    _refused(json.dumps(fields | {"orders": "28", "epsilons": "12"}))
    coins = json.loads(RandomizedResponseEvent(epsilon=1, coins=(1, 1)).to_json())
    _refused(json.dumps(coins | {"coins": "11"}))


def test_json_numbers_do_not_stand_for_exact_ones() -> None:
    cases: list[str] = [
        "1",
        "1.0",
        "0.1",
        "1e0",
        "1e999999",
        "-1e999999",
        "1e-999999",
        "NaN",
        "Infinity",
        "-Infinity",
        "true",
        "1" * 5000,
    ]
    for number in cases:
        _refused(_changed().replace('"1"', number))


def test_whole_numbers_are_whole_and_of_ordinary_size() -> None:
    cases: list[str] = ["3.0", "3e0", "1e999999", "NaN", "Infinity", "true", "null", '"3"', "9" * 401, "1" * 10**6]
    for number in cases:
        text = AboveThresholdEvent(epsilon=1, answers=3).to_json()
        assert '"answers": 3' in text
        _refused(text.replace('"answers": 3', f'"answers": {number}'))


def test_a_field_given_twice_is_refused() -> None:
    for name in list(PURE):
        again = json.dumps({name: PURE[name]})[1:-1]
        assert "twice" in _refused(_changed()[:-1] + f", {again}}}")


@pytest.fixture
def unlimited_digits() -> Iterator[None]:
    """Some programs lift Python's own guard against very long integers; ours must not depend on it."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


_HOSTILE = {
    "nothing": "",
    "white space": " \n\t",
    "a word": "PureDP",
    "half": _changed()[:-1],
    "a tail": _changed() + "x",
    "two": _changed() * 2,
    "a list of one": f"[{_changed()}]",
    "single quotes": str(PURE),
    "a comment": _changed() + "// comment",
    "a byte order mark": "\ufeff" + _changed(),
    "null": "null",
    "true": "true",
    "a text": '"PureDP"',
    "a number": "1",
    "NaN": "NaN",
    "empty": "{}",
    "a control character": _changed(unit="row").replace("row", "r\now"),
    "a lone surrogate": _changed(unit="row").replace("row", "\\ud800"),
    "an escaped zero": _changed(unit="row").replace("row", "\\u0000"),
    "a long unit": _changed(unit="x" * 10**6),
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "deep lists, unfinished": "[" * 1_000_000,
    "rather deep lists": "[" * 40 + "]" * 40,
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a deep kind": _changed(kind="@").replace('"@"', "[" * 900 + "]" * 900),
    "a deep field": _changed(epsilon="@").replace('"@"', "[" * 900 + "]" * 900),
    "a wide list": f"[{'0,' * 400_000}0]",
    "a wide object": "{" + ",".join(f'"{i}":0' for i in range(100_000)) + "}",
    "a wide curve": json.dumps(
        {
            "adjacency": "add-remove",
            "epsilons": ["1"] * 200_000,
            "kind": "RenyiDP",
            "orders": [str(i + 2) for i in range(200_000)],
            "unit": "row",
            "version": 1,
        }
    ),
    "a long integer": "9" * 1_000_000,
    "a long fraction": "0." + "9" * 1_000_000,
    "a huge exponent": "1e" + "9" * 1_000_000,
    "a long text": f'"{"9" * 1_000_000}"',
    "a record in a record": _changed(epsilon=PURE),
    "records, deep": '{"kind":"PureDP","version":1,"unit":"row","adjacency":"add-remove","epsilon":' * 50
    + "1"
    + "}" * 50,
    "too long": " " * 5_000_000 + _changed(),
}


@pytest.mark.parametrize("text", _HOSTILE.values(), ids=_HOSTILE.keys())
@pytest.mark.sampled(3)
def test_a_hostile_text_is_refused_at_once(text: str) -> None:
    for reader in (Record, Event, Guarantee, PureDP):
        _refused(text, reader=reader)


@pytest.mark.usefixtures("unlimited_digits")
def test_long_numbers_are_refused_before_they_are_read() -> None:
    cases: list[str] = [
        "9" * 2_000_000,
        _changed(epsilon="9" * 2_000_000),
        _changed(version=0)[:-2] + "9" * 2_000_000 + "}",
    ]
    for text in cases:
        _refused(text)


def test_what_is_not_a_text_is_refused() -> None:
    cases: list[object] = [None, 1, b"{}", bytearray(b"{}"), PURE, [], _changed().encode()]
    for text in cases:
        _refused(text)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*PURE, "orders"]), inner, max_size=6),
    max_leaves=20,
)


@given(_json)
@example(PURE)
def test_any_json_is_a_record_or_a_format_error(value: object) -> None:
    try:
        record = Record.from_json(json.dumps(value))
    except FormatError:
        return
    assert Record.from_json(record.to_json()) == record


@given(st.sampled_from(RECORDS), st.data())
@settings(max_examples=300)
def test_any_mutation_of_one_field_is_a_record_or_a_format_error(record: Record, data: st.DataObject) -> None:
    fields = json.loads(record.to_json())
    name = data.draw(st.sampled_from(sorted(fields)))
    mutated = json.dumps(fields | {name: data.draw(_json)})
    try:
        read = Record.from_json(mutated)
    except FormatError:
        return
    assert type(read) is type(record)
    assert Record.from_json(read.to_json()) == read


@given(st.text(max_size=200))
def test_any_text_is_a_format_error(text: str) -> None:
    with pytest.raises(FormatError):
        Record.from_json(text)


# ---- third parties


def test_a_third_party_may_add_a_kind_but_not_take_a_name() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
    class CelosiaTestEvent(Event):
        version: ClassVar[int] = 7
        size: int

        def __init__(self, *, size: int, **scope: Any) -> None:
            self._set_scope(
                scope.get("adjacency", "add-remove"), scope.get("unit", "row"), scope.get("arithmetic", "real")
            )
            self._set(size=size)

    try:
        event = CelosiaTestEvent(size=3)
        assert '"version": 7' in event.to_json()
        assert Event.from_json(event.to_json()) == event
        _refused(event.to_json().replace('"version": 7', '"version": 1'))
    finally:
        del Record._kinds["CelosiaTestEvent"]

    with pytest.raises(ParameterError, match=r"kind PureDP exists in celosia\.core\.guarantees"):
        type("PureDP", (Event,), {})
    assert Record.from_json(_changed()) == PureDP(epsilon=1)


# ---- texts


def test_a_short_printable_text_is_kept() -> None:
    cases: list[str] = ["row", "x" * 200, "niña", "persona física", "病人", '"quoted"', "\\"]
    for text in cases:
        assert exact_text(text, name="unit") == text
        assert PureDP.from_json(PureDP(epsilon=1, unit=text).to_json()).unit == text


def test_a_text_is_a_plain_one() -> None:
    assert type(exact_text(np.str_("row"), name="unit")) is str


def test_any_other_text_is_refused_by_name() -> None:
    cases: list[object] = ["", "\n", "a\tb", "\x7f", "\u202e", "\ud800", "x" * 201, None, 1, b"row", ["row"]]
    for text in cases:
        with pytest.raises(ParameterError, match=r"^unit must be a text of 1 to 200 printable characters"):
            exact_text(text, name="unit")
