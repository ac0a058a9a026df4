"""Bodies are read as ``json`` reads them, however they are written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from celosia.ledger.log import bodies
from celosia.ledger.log.bodies import read_body
from celosia.ledger.log.chain import canonical_json

if TYPE_CHECKING:
    import pytest

KINDS = ("reserved", "repeated", "committed", "failed", "note")
TEXTS = st.text() | st.sampled_from(["deaths", "José", '"', "\\", "\x7f", "\ud800", "😀", ',"fingerprint":', "null"])
MAYBE = st.none() | TEXTS
EVENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS | st.sampled_from(["fingerprint", "kind"]), inner, max_size=3)
    ),
    max_leaves=6,
)
RESERVED = {
    "analyst": MAYBE,
    "dataset": TEXTS,
    "event": EVENTS,
    "fingerprint": MAYBE,
    "id": TEXTS,
    "question": TEXTS,
    "request": st.none() | st.fixed_dictionaries({"digest": TEXTS, "key": TEXTS}),
}
KIND = {"kind": TEXTS | st.sampled_from(["local", "model"])}
FIELDS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "reserved": st.fixed_dictionaries(RESERVED, optional=KIND),
    "repeated": st.fixed_dictionaries({**RESERVED, "answer": TEXTS, "charged": st.booleans()}, optional=KIND),
    "committed": st.fixed_dictionaries({"answer": MAYBE, "id": TEXTS}),
    "failed": st.fixed_dictionaries({"id": TEXTS}),
    "note": st.dictionaries(TEXTS, EVENTS, max_size=3),
}
WRITTEN = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), FIELDS[kind]))
PIECES = [
    "",
    '"',
    "\\",
    "{",
    "}",
    ",",
    ":",
    " ",
    "0",
    "null",
    "NaN",
    "\\u0041",
    "\\u00E9",
    "\\/",
    "\n",
    '"id":"x",',
    "é",
]


def plainly(kind: str, text: str) -> tuple[dict[str, Any], bool] | None:
    """As ``json`` reads and writes it; None is refused."""
    try:
        fields = json.loads(text)
        if not isinstance(fields, dict):
            return None
        written = _write(fields) == text
        if kind in ("reserved", "repeated"):
            fields["event"] = canonical_json(fields["event"])
    except (ValueError, LookupError):
        return None
    return fields, written


def _write(fields: dict[str, Any]) -> str | None:
    try:
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return None


def read(kind: str, text: str) -> tuple[dict[str, Any], bool] | None:
    try:
        return read_body(kind, text)
    except (ValueError, TypeError, LookupError):
        return None


@given(written=WRITTEN)
def test_what_the_ledger_writes_is_read_as_json_reads_it(written: tuple[str, dict[str, Any]]) -> None:
    kind, fields = written
    text = canonical_json(fields)
    found = read_body(kind, text)
    assert found == plainly(kind, text)
    assert found[1]


@given(written=WRITTEN, other=st.sampled_from(KINDS), data=st.data())
def test_any_other_text_is_read_as_json_reads_it(
    written: tuple[str, dict[str, Any]], other: str, data: st.DataObject
) -> None:
    text = canonical_json(written[1])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(place, min(len(text), place + 12)))
        text = text[:place] + data.draw(st.sampled_from([*PIECES, text[place:end] * 2])) + text[end:]
    for kind in (written[0], other):
        assert read(kind, text) == plainly(kind, text)


def test_each_character_has_one_canonical_form() -> None:
    for code in [*range(0x180), 0x2028, 0xD7FF, 0xD800, 0xDFFF, 0xFFFF]:
        character = chr(code)
        forms = {character, f"\\u{code:04x}", f"\\u{code:04X}", *(f"\\{letter}" for letter in '"\\/bfnrtx')}
        for form in forms:
            text = f'{{"id":"{form}"}}'
            assert read("failed", text) == plainly("failed", text), (code, form)


def test_a_field_that_is_given_twice_is_never_canonical() -> None:
    fields = dict.fromkeys(RESERVED) | {"dataset": "d", "id": "i", "question": "", "event": {"a": 1}}
    text = canonical_json(fields)
    for twice in (
        text.replace('"event":', '"event":{"a":0},"event":'),
        text.replace(',"id":', ',"event":{"a":0},"fingerprint":null,"id":'),
        text.replace('{"a":1}', '{"a":1,"a":2}'),
    ):
        assert read("reserved", twice) == plainly("reserved", twice)
        assert not read_body("reserved", twice)[1]


def test_an_event_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    event = {"kind": "LaplaceEvent", "of": "test_an_event_is_parsed_once"}
    fields: dict[str, Any] = {"analyst": "José", "dataset": "d", "fingerprint": "f", "request": None, "event": event}
    lines = [canonical_json({**fields, "id": str(number), "question": f'"{number}"\n'}) for number in range(5)]
    parsed: list[Any] = []

    def write(value: Any) -> str:
        parsed.append(value)
        return canonical_json(value)

    monkeypatch.setattr(bodies, "canonical_json", write)
    assert [read_body("reserved", line)[0]["id"] for line in lines] == list("01234")
    assert parsed == [event]
