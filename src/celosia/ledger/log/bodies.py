"""Read the bodies of log lines, with the result of ``json.loads`` in a part of the time.

A long log is mostly reservations. Expressions match their canonical JSON, and nothing else; only the event inside is
parsed, once for each distinct text. A body that is written in another way is parsed as a whole.
"""

import json
import re
from functools import lru_cache
from typing import Any, Final, TypeAlias

from celosia.ledger.log.chain import canonical_json

# A string as ``canonical_json`` writes it: ASCII, and of every other character the one escape that it uses.
_TEXT: Final = r'"((?:[ !#-\[\]-~]++|\\(?:["\\bfnrt]|u(?!000[89acd]|00[2-6]|007[0-9a-e])[0-9a-f]{4}))*+)"'
_START: Final = rf'\{{"analyst":(?:null|{_TEXT}),%s"dataset":{_TEXT},"event":'
_AFTER_EVENT: Final = ',"fingerprint":'
_REST: Final = re.compile(
    rf'{_AFTER_EVENT}(?:null|{_TEXT}),"id":{_TEXT},(?:"kind":{_TEXT},)?"question":{_TEXT},'
    rf'"request":(?:null|\{{"digest":{_TEXT},"key":{_TEXT}\}})\}}'
)
_RESERVATIONS: Final = {
    "reserved": re.compile(_START % "()()"),
    "repeated": re.compile(_START % rf'"answer":{_TEXT},"charged":(true|false),'),
}
_ENDS: Final = {
    "committed": re.compile(rf'\{{"answer":(?:null|{_TEXT}),"id":{_TEXT}\}}'),
    "failed": re.compile(rf'()\{{"id":{_TEXT}\}}'),
}
_MAX_CACHED_TEXTS: Final = 1_024  # of events

Body: TypeAlias = tuple[dict[str, Any], bool]
"""The fields of a line, and whether they are written as canonical JSON."""


def read_body(kind: str, text: str) -> Body:
    """Return the fields of a line's body, and whether it is canonical JSON. An ``event`` is left as canonical JSON.

    Raises ``ValueError``, ``TypeError``, ``LookupError`` or ``RecursionError`` for what is no JSON object or no event.
    """
    start = _RESERVATIONS[kind].match(text) if kind in _RESERVATIONS else None
    if start is None:
        return _read_end(kind, text)
    end = text.find(_AFTER_EVENT, start.end())
    event, rest = text[start.end() : end], _REST.fullmatch(text, max(end, 0))
    if rest is None or not _is_canonical(event):  # if it is, there is no other way to read the body
        return _parse(kind, text)
    analyst, answer, charged, dataset = _read_texts(start, text)
    fingerprint, identity, released, question, digest, key = _read_texts(rest, text)
    fields = {
        "analyst": analyst,
        "dataset": dataset,
        "event": event,
        "fingerprint": fingerprint,
        "id": identity,
        "question": question,
        "request": None if key is None else {"digest": digest, "key": key},
    }
    if released is not None:
        fields["kind"] = released
    if kind == "repeated":
        fields |= {"answer": answer, "charged": charged == "true"}
    return fields, True


def _read_end(kind: str, text: str) -> Body:
    match = _ENDS[kind].fullmatch(text) if kind in _ENDS else None
    if match is None:
        return _parse(kind, text)
    answer, identity = _read_texts(match, text)
    return ({"id": identity} if kind == "failed" else {"answer": answer, "id": identity}), True


def _read_texts(match: re.Match[str], text: str) -> tuple[Any, ...]:
    if "\\" not in text:
        return match.groups()  # None for null
    return tuple(None if part is None else json.loads(f'"{part}"') for part in match.groups())


def _parse(kind: str, text: str) -> Body:
    fields = json.loads(text)
    if not isinstance(fields, dict):
        raise TypeError(kind)
    is_canonical = _is_canonical.__wrapped__(text)
    if kind in _RESERVATIONS:
        fields["event"] = canonical_json(fields["event"])
    return fields, is_canonical


@lru_cache(_MAX_CACHED_TEXTS)
def _is_canonical(text: str) -> bool:
    try:
        return canonical_json(json.loads(text)) == text
    except (ValueError, RecursionError):
        return False
