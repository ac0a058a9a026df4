"""More than a thousand requests that nobody honest sends: each must be refused, in clear words and for nothing.

A ``Hostile`` is one request as it would be put on the wire. They are made from one honest question about the table
``deaths``, in which one thing at a time is wrong.
"""

from __future__ import annotations

import copy
import functools
import gzip
import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.reliability.fuzzing import HOSTILE_SQL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["HONEST", "Hostile", "hostile_bodies", "hostile_numbers", "hostile_requests"]

HONEST: Mapping[str, Any] = {"dataset": "deaths", "sql": "SELECT COUNT(*) FROM deaths", "epsilon": "0.1"}
"""What would be answered."""

PLAN: dict[str, Any] = {
    "version": 1,
    "relation": {"kind": "base", "table": "deaths"},
    "filter": {"call": "<", "arguments": [{"column": "age"}, {"literal": 18, "type": "integer"}]},
    "keys": [{"name": "sex", "expression": {"column": "sex"}, "values": None}],
    "aggregates": [{"kind": "sum", "name": "total", "columns": [{"column": "age"}], "parameters": []}],
    "outputs": [{"name": "total", "expression": {"column": "total"}}],
    "cells": None,
    "having": None,
    "order": [],
    "limit": None,
}
"""A plan that would be answered."""

JSON = {"Content-Type": "application/json"}
NO_NUMBERS = (
    "", " ", "0", "-0", "-1", "0.0", "-0.5", "nan", "NaN", "inf", "-inf", "Infinity", "0x1", "0b1", "1e", "e1", "1e1e1",
    "--1", "+-1", "1.2.3", "1,5", "1_000", "1 000", "1/0", "0/1", "-1/2", "1/2/3", "1/", "/1", "1//2", "1/-2", "½",
    "１", "٣", "1\0", "\0", "𝟏", "1e-400", "1e308", "1e400", "1e999999999", "1e-999999999", "9" * 300, "9" * 401,
    "1/" + "9" * 398, "0." + "0" * 390 + "1", "1'; DROP TABLE users; --", "${HOME}", "{{7*7}}", "__import__('os')",
    "True", "None", "null", "epsilon", "\u202e1", "1\u200b", "1" + "\u0300" * 50, "\ud7ff", "🜁",
)  # fmt: skip
"""Texts that are no amount above zero, or one that nobody can afford, or that is too small to be meant."""

NO_PARTS: tuple[Any, ...] = (True, 2**70, "x" * 5_000, "\0", {"kind": "base"}, {"$ref": "#"}, [[[]]], "__class__")
NO_TEXTS: tuple[Any, ...] = (True, False, [], {}, [1], ["a"], {"a": 1}, [[]], [None], 2**70)


@dataclass(frozen=True, slots=True)
class Hostile:
    """One request, and where it is sent."""

    name: str
    content: bytes | None
    method: str = "POST"
    path: str = "/v1/queries"
    who: str | None = "analyst"
    headers: Mapping[str, str | bytes] = field(default_factory=dict)

    @property
    def sent(self) -> dict[str, str | bytes]:
        """The headers of an honest request, but for those that are given."""
        own = hashlib.sha256(repr((self.name, self.content)).encode()).hexdigest()
        usual: dict[str, str | bytes] = {"Idempotency-Key": own, **(JSON if self.content else {})}
        return {name: value for name, value in (usual | dict(self.headers)).items() if value != b"absent"}


def _body(name: str, value: object, **how: Any) -> Hostile:
    return Hostile(name, json.dumps(value).encode(), **how)


def hostile_bodies() -> Iterator[Hostile]:
    """Questions in which something is wrong with the body."""
    yield from _broken_texts()
    yield from _wrong_types()
    yield from hostile_numbers()
    yield from _sql()
    yield from _plans()


def hostile_requests() -> Iterator[Hostile]:
    """Requests in which something is wrong beside the body, or that are about something else than questions."""
    yield from _headers()
    yield from _paths()
    yield from _changes()


# ------------------------------------------------------------------------------------------------------------- bodies


def _broken_texts() -> Iterator[Hostile]:
    honest = json.dumps(HONEST).encode()
    yield from (Hostile(f"cut at {end}", honest[:end]) for end in range(1, len(honest)))
    yield from (
        Hostile(f"without byte {at}", honest[:at] + honest[at + 1 :])
        for at, byte in enumerate(honest)
        if byte in b'{}":,'
    )
    texts: dict[str, bytes] = {
        "blank": b" \n\t", "a word": b"deaths", "a number": b"7", "null": b"null", "a text": b'"SELECT"',
        "a list": b"[]",
        "an empty object": b"{}", "a list of one": b"[" + honest + b"]", "two": honest * 2,
        "lines": honest + b"\n" + honest,
        "a comment": honest + b"// more", "single quotes": honest.replace(b'"', b"'"),
        "a comma more": honest[:-1] + b",}",
        "byte order mark": b"\xef\xbb\xbf" + honest, "UTF-16": honest.decode().encode("utf-16"),
        "UTF-32": honest.decode().encode("utf-32"), "UTF-7": honest.decode().encode("utf-7") + b"+AAA-",
        "Latin-1": honest.replace(b"COUNT", b"\xe9"),
        "overlong": honest.replace(b"COUNT", b"\xc0\xaf"), "a surrogate": honest.replace(b"COUNT", b"\xed\xa0\x80"),
        "half a pair": honest.replace(b"deaths", b"\\ud800"), "the other half": honest.replace(b"COUNT", b"\\udc00"),
        "a NUL": honest.replace(b"COUNT", b"\0"), "an escaped NUL": honest.replace(b"deaths", b"deaths\\u0000"),
        "a control character": honest.replace(b"COUNT", b"\x1b"), "zipped": gzip.compress(honest, mtime=0),
        "a pickle": b"\x80\x04\x95\x0f\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93.",
        "a form": b"dataset=deaths&sql=SELECT+COUNT(*)+FROM+deaths&epsilon=0.1",
        "XML": b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM '/etc/passwd'>]><a>&b;</a>",
        "YAML": b"dataset: !!python/object/apply:os.system ['true']", "deep lists": b"[" * 30_000 + b"]" * 30_000,
        "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        "deep and open": b"[" * 60_000, "a long number": honest.replace(b'"0.1"', b"9" * 5_000),
        "a long fraction": honest.replace(b'"0.1"', b"0." + b"1" * 5_000),
        "a huge exponent": honest.replace(b'"0.1"', b"1e" + b"9" * 300), "not whole": honest.replace(b'"0.1"', b"01"),
        "hexadecimal": honest.replace(b'"0.1"', b"0x1"),
        "a plus": honest.replace(b'"0.1"', b"+1"), "a bare point": honest.replace(b'"0.1"', b".1"),
        "too long": b" " * 70_000 + honest, "much too long": b'"' + b"x" * 1_000_000 + b'"',
        "prototype": honest[:-1] + b', "__proto__": {"epsilon": 1}}', "class": honest[:-1] + b', "__class__": "Guard"}',
        "an operator": honest.replace(b'"deaths"', b'{"$ne": ""}'),
        "many fields": json.dumps(dict(HONEST) | {f"f{n}": n for n in range(5_000)}).encode(),
    }  # fmt: skip
    yield from (Hostile(name, content) for name, content in texts.items())
    for word in (
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"nan",
        b"undefined",
        b"None",
        b"True",
        b"'1'",
        b"1.",
        b"1e",
        b"-",
        b"--1",
    ):
        yield Hostile(f"the word {word.decode()}", honest.replace(b'"0.1"', word))
    for name, value in [*HONEST.items(), ("plan", {}), ("rho", "1"), ("delta", "0")]:
        one = json.dumps({name: value}).encode()[1:-1]
        yield Hostile(f"{name} twice", honest[:-1] + b", " + one + b", " + one + b"}")
        yield Hostile(
            f"{name} in capitals",
            json.dumps({key: it for key, it in HONEST.items() if key != name} | {name.upper(): value}).encode(),
        )
    for name in HONEST:
        yield _body(f"without {name}", {key: value for key, value in HONEST.items() if key != name})
        yield _body(f"{name} is null", dict(HONEST) | {name: None})


def _wrong_types() -> Iterator[Hostile]:
    for name in ("dataset", "sql", "plan", "epsilon", "delta", "rho", "confidence", "rows", "level"):
        for wrong in NO_TEXTS:
            if not (name in {"confidence", "rows", "level"} and wrong == 2**70):  # a number, at least
                yield _body(f"{name} = {wrong!r}", dict(HONEST) | {name: wrong})
    for wrong in (
        *NO_TEXTS[:-1],
        {"": 1},
        {"count": []},
        {"count": {"count": 1}},
        {"x" * 300: 1},
        {f"n{n}": 1 for n in range(1_001)},
        "",
        0,
        -1,
        {"nobody": 1},
    ):
        yield _body(f"error = {str(wrong)[:40]}", {"dataset": "deaths", "sql": HONEST["sql"], "error": wrong})
    both: list[dict[str, Any]] = [
        {"plan": PLAN},
        {"epsilon": "1", "rho": "1"},
        {"epsilon": "1", "error": 5},
        {"delta": "1"},
        {"delta": "-1"},
        {"delta": "0.5"},
    ]
    yield from (_body(f"and {sorted(one)}", dict(HONEST) | one) for one in both)
    names = [
        "", " ", "Deaths", "DEATHS", "deaths ", " deaths", "death", "deaths\0", "deaths'--", "../deaths", "/etc/passwd",
        "deaths.parquet", "nobody", "x" * 201, "x" * 60_000, "déaths", "deａths", "de\u200baths", "\u202esthaed",
        "sqlite_master", "information_schema.tables", "${HOME}", "%s%n", "deaths;visits",
    ]  # fmt: skip
    for name in names:
        yield _body(f"data set {name[:30]!r}", dict(HONEST) | {"dataset": name})


def hostile_numbers() -> Iterator[Hostile]:
    """Prices that are none."""
    for text in NO_NUMBERS:
        yield _body(f"epsilon {text[:30]!r}", dict(HONEST) | {"epsilon": text})
        if text != "9" * 300:  # nearly nothing buys that
            yield _body(f"error {text[:30]!r}", {"dataset": "deaths", "sql": HONEST["sql"], "error": text})
        yield _body(f"rho {text[:30]!r}", {"dataset": "deaths", "sql": HONEST["sql"], "rho": text})
    for number in (0, -1, 10**300, 1e308, 5e-324, -5e-324, 2**63, -(2**63)):
        yield _body(f"epsilon {number!r}", dict(HONEST) | {"epsilon": number})
    chances: list[Any] = ["", "1", "2", "-1", "nan", "inf", "0x1", "1e400", True, [], "1.0"]
    for wrong in chances:
        yield _body(
            f"confidence {wrong!r}", {"dataset": "deaths", "sql": HONEST["sql"], "error": "50", "confidence": wrong}
        )
        yield _body(f"delta {wrong!r}", dict(HONEST) | {"delta": wrong})


def _sql() -> Iterator[Hostile]:
    for place, text in enumerate(HOSTILE_SQL):
        yield _body(f"SQL {place}: {text[:50]!r}", dict(HONEST) | {"sql": text})
    count = HONEST["sql"]
    where = f"{count} WHERE "
    made = [
        f"{count}; DROP TABLE deaths", f"{count} /* */ UNION SELECT 1", "SELECT read_text('/etc/passwd') FROM deaths",
        "SELECT * FROM read_csv('/etc/passwd')", "SELECT COUNT(*) FROM '/etc/passwd'",
        "SELECT COUNT(*) FROM glob('*')", "SELECT getenv('HOME'), COUNT(*) FROM deaths",
        "SELECT COUNT(*) FROM deaths WHERE age = (SELECT MAX(age) FROM deaths)", f"{where}1/0 = 1",
        f"{where}SLEEP(10) = 0",
        f"{where}pg_sleep(10) IS NULL", "SELECT SUM(CAST(note AS INTEGER)) FROM deaths",
        "SELECT MAX(note) FROM deaths", "SELECT note FROM deaths", "SELECT COUNT(*) FROM users",
        "SELECT COUNT(*) FROM keys", "SELECT COUNT(*) FROM answers", "SELECT COUNT(*) FROM visits",
        "SELECT COUNT(*) FROM deaths AS OF 1", "SELECT COUNT(*) FROM deaths TABLESAMPLE 1 ROWS",
        "SELECT COUNT(*) FROM deaths LIMIT ALL OFFSET 1", "SELECT STRING_AGG(note, ',') FROM deaths",
        "SELECT LIST(note) FROM deaths", "SELECT FIRST(note) FROM deaths",
        "SELECT ANY_VALUE(age) FROM deaths", "SELECT ARRAY_AGG(age) FROM deaths", "SELECT HISTOGRAM(age) FROM deaths",
        "SELECT COUNT(*) FROM deaths GROUP BY person_id",
        "SELECT person_id, COUNT(*) FROM deaths GROUP BY person_id", "SELECT MAX(person_id) FROM deaths",
        f"{where}person_id = 1", f"{where}note LIKE note", f"{where}note ~ 'a'",
        "SELECT COUNT(*) FROM deaths GROUP BY RANDOM()", f"{where}RANDOM() < 0.5",
        "SELECT COUNT(*) OVER () FROM deaths", "SELECT COUNT(*) FROM deaths, deaths", "SELECT 1", "SELECT version()",
        "SELECT current_user FROM deaths", "ATTACH 'ledger.db' AS l", "PRAGMA database_list",
        "COPY deaths TO '/tmp/out.csv'", "SET threads = 1", "CALL pragma_version()",
        "CREATE FUNCTION f AS 1", "SELECT f(age) FROM deaths", "INSTALL httpfs", "LOAD 'x.so'", "EXPORT DATABASE 'x'",
        "SELECT COUNT(*) FROM 'https://example.org/x.parquet'",
        where + "(" * 5_000 + "1" + ")" * 5_000, where + "NOT " * 5_000 + "alive",
        where + " OR ".join(["age < 18"] * 4_000), "SELECT " + ", ".join(["COUNT(*)"] * 5_000) + " FROM deaths",
        where + "age IN (" + ",".join(["1"] * 20_000) + ")", "\0", count + "\0",
        "SELECT\u00a0*\u00a0FROM\u00a0deaths", "\ufeff", "💣", "SELECT COUNT(*) FROM de\u200baths",
        f"{where}sex = '\u202eF'", "(" * 60_000, "'" * 9_999, "SELECT COUNT(*) FROM deaths " * 500, "/*" * 5_000,
        "{{7*7}}", "${jndi:ldap://x}", "<script>alert(1)</script>",
        "SELECT day, cause, age, COUNT(*) FROM deaths GROUP BY day, cause, age",
        "SELECT note, COUNT(*) FROM deaths GROUP BY note",
    ]  # fmt: skip
    yield from (_body(f"SQL {text[:60]!r}", dict(HONEST) | {"sql": text}) for text in made)


def _plans() -> Iterator[Hostile]:
    asked = {"dataset": "deaths", "epsilon": "0.1"}
    yield from (
        _body(f"plan {wrong!r}", {**asked, "plan": wrong})
        for wrong in ({}, [], [PLAN], {"version": 2}, {"version": 1}, {**PLAN, "version": "1"})
    )
    for path in _paths_in(PLAN):
        place = functools.reduce(lambda at, step: at[step], path, PLAN)
        if isinstance(place, dict):
            yield _body(f"plan more in {path}", {**asked, "plan": _put(path, {**place, "surprise": 1})})
        if path and isinstance(path[-1], str) and path[-1] not in {"values", "cells", "having", "limit"}:
            for wrong in NO_PARTS:
                if not (path[-1] in {"name", "literal"} and isinstance(wrong, str | int)):  # another word may be right
                    yield _body(f"plan {path} = {str(wrong)[:20]!r}", {**asked, "plan": _put(path, wrong)})
    inner: dict[str, Any] = {"column": "alive"}
    for depth in range(290):
        inner = {"call": "not", "arguments": [inner]}
        if depth in {110, 289}:
            yield _body(f"plan {depth} deep", {**asked, "plan": _put(("filter",), inner)})
    cells = [[{"literal": "F", "type": "text"}]] * 1_500
    yield _body("plan with many cells", {**asked, "plan": _put(("cells",), cells)})
    for table in (
        "visits",
        "users",
        "read_csv('/etc/passwd')",
        "../deaths",
        "deaths; DROP TABLE deaths",
        "",
        "celosia_deaths",
    ):
        yield _body(f"plan of {table!r}", {**asked, "plan": _put(("relation", "table"), table)})
    for call in ("read_text", "eval", "__import__", "getenv", "sleep", "", "SELECT", "random"):
        yield _body(f"plan calls {call!r}", {**asked, "plan": _put(("filter", "call"), call)})


def _paths_in(value: object, *before: Any) -> Iterator[tuple[Any, ...]]:
    yield before
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from _paths_in(inner, *before, name)


def _put(path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.deepcopy(PLAN)
    place: Any = functools.reduce(lambda at, step: at[step], path[:-1], changed)
    place[path[-1]] = new
    return changed


# ------------------------------------------------------------------------------------------------- beside the bodies


def _headers() -> Iterator[Hostile]:
    honest = json.dumps(HONEST).encode()
    keys: list[str | bytes] = [
        b"absent", "", " ", "\t", "x" * 201, "x" * 9_000, "ключ".encode(), b"\xff", b"a\0b", b"a\x7f", b"a\x1bb",
        b" a\tb",
        b"caf\xe9", b"a\r\nSet-Cookie: x=1", b"a\nb", "\u00a0",
    ]  # fmt: skip
    yield from (Hostile(f"key {key[:20]!r}", honest, headers={"Idempotency-Key": key}) for key in keys)
    kinds = [
        "absent", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json",
        "application/jsonp", "application/xml", "application/octet-stream", "application/json-patch+json", "*/*",
        "json", "", "application/json\0", "application/ json",
    ]  # fmt: skip
    for kind in kinds:
        yield Hostile(f"content type {kind!r}", honest, headers={"Content-Type": kind.encode()})
    yield from (
        Hostile(f"content length {length!r}", honest, headers={"Content-Length": length})
        for length in ("-1", "x", "9" * 30, "1e3", "0x10", "+5", "", "70000")
    )
    tokens: list[str | bytes] = [
        b"absent", "", "Bearer", "Bearer ", "Bearer null", "Basic YWRtaW46YWRtaW4=", "bearer celosia_",
        "Bearer celosia_" + "0" * 12 + "_" + "0" * 64, "Bearer " + "a" * 20_000,
        "Bearer a.b.c", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJvd25lciJ9.", b"Bearer \xff\xfe", "Bearer ' OR 1=1 --",
        "Bearer celosia_%_%", "Bearer *", "Bearer ../../etc/passwd", b"Bearer a\0b",
    ]  # fmt: skip
    yield from (
        Hostile(f"token {token[:30]!r}", honest, headers={"Authorization": token}, who=None) for token in tokens
    )
    for who in ("owner", "curator", "auditor"):
        yield Hostile(f"asked by {who}", honest, who=who)
        yield Hostile(f"previewed by {who}" if who == "auditor" else f"asked again by {who}", honest, who=who)


def _paths() -> Iterator[Hostile]:
    names = ["../../etc/passwd", "%2e%2e", "deaths/../../users", "deaths\0", "x" * 201, "x" * 5_000, "nobody",
    "Deaths", "' OR 1=1 --", "<script>", "\r\nSet-Cookie: a=b",
             "deaths%0d%0aX: y", "ñ", "\u202e", "sqlite_master", "C:\\x", "*", "%", "_", "{name}",
             "${HOME}"]  # fmt: skip
    for name in names:
        part = quote(name, safe="")
        yield Hostile(f"data set {name[:20]!r}", None, "GET", f"/v1/datasets/{part}")
        yield Hostile(f"answer {name[:20]!r}", None, "GET", f"/v1/queries/{part}")
        yield Hostile(f"budget of {name[:20]!r}", None, "GET", f"/v1/budget?dataset={part}")
        yield Hostile(f"revoke {name[:20]!r}", None, "DELETE", f"/v1/users/{part}", "owner")
        yield Hostile(
            f"bounds of {name[:20]!r}",
            b'{"low": 0, "high": 1}',
            "PUT",
            f"/v1/datasets/deaths/columns/{part}/bounds",
            "curator",
        )
        yield Hostile(f"version of {name[:20]!r}", None, "POST", f"/v1/datasets/{part}/versions", "curator")
        yield Hostile(f"change of {name[:20]!r}", b'{"retired": "yes"}', "PATCH", f"/v1/datasets/{part}", "curator")
    for query in (
        "limit=0",
        "limit=-1",
        "limit=x",
        "limit=1e3",
        "limit=99999999999999999999",
        "limit=",
        "limit=1001",
        "limit=true",
        "limit=%00",
    ):
        yield Hostile(f"answers {query}", None, "GET", f"/v1/queries?{query}")
        yield Hostile(f"log {query}", None, "GET", f"/v1/log?{query}", "auditor")
    for query in ("format=xml", "format=", "since=2026-13-01", "until=99999-01-01", "until=%00", "text=", "kind=%0a"):
        yield Hostile(f"log {query}", None, "GET", f"/v1/log?{query}", "auditor")
    for query in ("after=-1", "after=x", "after=9" + "9" * 30, "after=0.5", "after=nan"):
        yield Hostile(f"log {query}", None, "GET", f"/v1/log?{query}", "auditor")
    for head in (
        "x",
        "1",
        "1:x",
        ":",
        "1:" + "0" * 63,
        "1:" + "g" * 64,
        "-1:" + "0" * 64,
        "9" * 19 + ":" + "0" * 64,
        "1:" + "0" * 64 + "%0a",
    ):
        yield Hostile(f"head {head[:12]}", None, "GET", f"/v1/log/verify?head={head}", "auditor")
    places = [
        ("DELETE", "/v1/queries"), ("PATCH", "/v1/queries"), ("TRACE", "/v1/health"), ("POST", "/v1/health"),
        ("PUT", "/v1/users"), ("BREW", "/v1/queries"), ("GET", "/v1"), ("GET", "/v1/"), ("GET", "/v2/queries"),
        ("GET", "/v1/queries/"), ("GET", "//v1/queries"), ("POST", "/v1/Queries"), ("GET", "/.env"),
        ("OPTIONS", "/v1/queries"), ("CONNECT", "/v1/queries"),
    ]  # fmt: skip
    for method, path in places:
        yield Hostile(f"{method} {path}", None, method, path)


def _changes() -> Iterator[Hostile]:
    """What owners and curators send, by those who may and with something wrong, or by those who may not."""
    budgets: list[dict[str, Any]] = [
        {}, {"epsilon": "1"}, {"dataset": "deaths"}, {"dataset": "deaths", "epsilon": "1", "rho": "1"},
        {"dataset": "nobody", "epsilon": "1"}, {"analyst": "nobody", "epsilon": "1"},
        {"dataset": "deaths", "delta": "1e-6"}, {"dataset": "deaths", "epsilon": "1", "accountant": "guess"},
        {"dataset": "deaths", "epsilon": "1", "window": {"seconds": 0, "epsilon": "1"}},
        {"dataset": "deaths", "epsilon": "1", "window": {"seconds": 1.5, "epsilon": "1"}},
        {"dataset": "deaths", "epsilon": "1", "window": {"seconds": 60, "rho": "1"}},
        {"dataset": "deaths", "epsilon": "1", "window": {"seconds": 10**30, "epsilon": "1"}},
        {"dataset": "deaths", "epsilon": "1", "window": []},
        {"dataset": "deaths", "epsilon": "1", "allow_real": "yes"},
        {"dataset": "deaths", "epsilon": "1", "surprise": 1}, {"dataset": "deaths", "epsilon": "1", "delta": "2"},
        {"dataset": "deaths", "mu": "nan"}, {"dataset": ["deaths"], "epsilon": "1"},
    ]  # fmt: skip
    numbers = [
        text
        for text in NO_NUMBERS
        if text not in {"0", "-0", "0.0", "0/1", "9" * 300, "1/" + "9" * 398, "1e-400", "0." + "0" * 390 + "1"}
    ]
    others: list[Any] = [*numbers, True, [], {}, None]
    budgets += [{"dataset": "deaths", "epsilon": one} for one in others]
    for place, budget in enumerate(budgets):
        yield _body(f"budget {place}: {str(budget)[:60]}", budget, method="PUT", path="/v1/budget", who="curator")
    for who in ("analyst", "auditor"):
        yield _body(
            f"budget set by {who}", {"dataset": "deaths", "epsilon": "9"}, method="PUT", path="/v1/budget", who=who
        )
        yield _body(
            f"bounds set by {who}",
            {"low": 0, "high": 9},
            method="PUT",
            path="/v1/datasets/deaths/columns/age/bounds",
            who=who,
        )
        yield _body(f"user added by {who}", {"name": "eva", "role": "owner"}, path="/v1/users", who=who)
    yield _body("user added by curator", {"name": "eva", "role": "owner"}, path="/v1/users", who="curator")
    bounds: list[Any] = [{}, [], {"low": 1}, {"high": 1}, {"low": 2, "high": 1}, {"low": "nan", "high": 1},
    {"low": 0, "high": "inf"}, {"low": True, "high": 2}, {"low": [], "high": 2},
                         {"low": 0, "high": 10**300}, {"low": "a", "high": "b"}, {"low": 0, "high": 1, "more": 1},
                         {"low": "0x1", "high": 20}, {"low": "1/0", "high": 2}]  # fmt: skip
    yield from (
        _body(
            f"bounds {str(one)[:40]}", one, method="PUT", path="/v1/datasets/deaths/columns/age/bounds", who="curator"
        )
        for one in bounds
    )
    users: list[Any] = [{}, [], {"name": "eva"}, {"role": "analyst"}, {"name": "", "role": "analyst"},
    {"name": "Eva", "role": "analyst"}, {"name": "../eva", "role": "analyst"},
                        {"name": "eva\n", "role": "analyst"}, {"name": "eva\0", "role": "analyst"},
                        {"name": "x" * 65, "role": "analyst"}, {"name": "eva", "role": "root"},
                        {"name": "eva", "role": None},
                        {"name": "eva", "role": "analyst", "days": 0}, {"name": "eva", "role": "analyst", "days": -1},
                        {"name": "eva", "role": "analyst", "days": 1.5},
                        {"name": "eva", "role": "analyst", "days": "7"},
                        {"name": "eva", "role": "analyst", "days": 10**9},
                        {"name": "eva", "role": "analyst", "days": True},
                        {"name": "eva", "role": "analyst", "key": "celosia_x"}, {"name": "analyst", "role": "owner"},
                        {"name": "éva", "role": "analyst"}, {"name": ["eva"], "role": "analyst"}]  # fmt: skip
    yield from (_body(f"user {str(one)[:50]}", one, path="/v1/users", who="owner") for one in users)
