"""Write plain values as TOML, which Python itself only reads."""

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_DELETE: Final = "\x7f"  # JSON leaves it as it is, TOML does not


def write_toml(tables: Mapping[str, Any]) -> str:
    r"""Return a TOML text. Dictionaries become tables, and lists of dictionaries become arrays of tables.

    >>> print(write_toml({"plan": {"name": "trial"}, "steps": [{"kind": "Mondrian", "k": 5}]}))
    [plan]
    name = "trial"
    <BLANKLINE>
    [[steps]]
    kind = "Mondrian"
    k = 5
    <BLANKLINE>
    """
    blocks = []
    for name, value in tables.items():
        if isinstance(value, Mapping):
            nested = {key: one for key, one in value.items() if isinstance(one, Mapping)}
            plain = {key: one for key, one in value.items() if key not in nested}
            if plain or not nested:
                blocks.append(_write_table(f"[{_write_key(name)}]", plain))
            blocks += [_write_table(f"[{_write_key(name)}.{_write_key(key)}]", one) for key, one in nested.items()]
        else:
            blocks += [_write_table(f"[[{_write_key(name)}]]", one) for one in value]
    return "\n".join(blocks)


def _write_table(head: str, table: Mapping[str, Any]) -> str:
    return "\n".join([head, *(f"{_write_key(key)} = {_write_value(value)}" for key, value in table.items()), ""])


def _write_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _write_text(name)


def _write_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace(_DELETE, "\\u007F")


def _write_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _write_text(value)
        case int() | float():
            return repr(value)  # TOML too writes nan, inf and -inf
        case date():
            return value.isoformat()
        case Mapping():
            return "{" + ", ".join(f"{_write_key(key)} = {_write_value(one)}" for key, one in value.items()) + "}"
        case _:
            return "[" + ", ".join(map(_write_value, value)) + "]"
