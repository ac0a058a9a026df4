"""Values that stand in the data, in keys and in passwords and nowhere else; whoever finds one has found a leak.

``RecordingClient`` sends requests as a program or as a browser does, and keeps every byte that came back. ``leaks``
looks for the canaries in any text, numbers in all the ways in which people write them.
"""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.reliability.serving import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["FOLDER", "NUMBERS", "PASSWORD", "SCHEMA", "TEXTS", "Exchange", "RecordingClient", "leaks", "write_rows"]

ROWS, WOMEN = 104_729, 50_021
NUMBERS = (ROWS, WOMEN, ROWS - WOMEN)
"""The number of rows and of those in each group: primes, or what primes leave."""

TEXTS = ("8191.731", "Eulalia-9f31", "770123987")
"""An income, a name and a person."""

FOLDER, PASSWORD = "place-77b1", "Passw0rd-c4n4ry"
TRACES = ("Traceback", 'File "', ".py:", "site-packages", "duckdb.", "psycopg", "sqlalchemy", "sqlite3.")
SCHEMA = """
[table]
person = "who"
max_groups_per_person = 1
max_rows_per_group = 1

[columns.income]
kind = "real"
low = 0
high = 10000
grid = "0.001"

[columns.name]
kind = "text"

[columns.sex]
kind = "category"
values = ["F", "M"]
"""


def write_rows(path: Path) -> None:
    """Write the rows; the canary is one of them."""
    who = np.arange(ROWS) + 1
    income = (np.arange(ROWS) % 9_000) + 0.25
    names = np.array(["Ana", "Eva", "Leo"])[np.arange(ROWS) % 3].astype(object)
    who[77], income[77], names[77] = int(TEXTS[2]), float(TEXTS[0]), TEXTS[1]
    sex = np.where(np.arange(ROWS) < WOMEN, "F", "M")
    pq.write_table(pa.table({"who": who, "income": income, "name": list(names), "sex": sex}), path)


# ------------------------------------------------------------------------------------------------------------ finding


def leaks(text: str, *, secrets: Sequence[str] = (), traces: bool = True, pictures: bool = False) -> Iterator[str]:
    """What of all that nobody may know stands in a text. In ``pictures`` 104.729 is a coordinate."""
    for canary in (*TEXTS, PASSWORD, *secrets, *(TRACES if traces else ())):
        if canary in text:
            yield canary
    for number in NUMBERS:
        digits = f"{number:_}".replace("_", f"[,_'\u00a0\u202f {'' if pictures else '.'}]?")
        found = re.search(rf"(?<![0-9A-Za-z.,_]){digits}(?![0-9A-Za-z]|[.,][0-9])", text)
        if found:
            yield found[0]


# ------------------------------------------------------------------------------------------------------------- asking


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and all that came back."""

    who: str
    method: str
    route: str
    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        """All that came back, as a text."""
        return (
            "\n".join(f"{name}: {value}" for name, value in self.headers)
            + "\n\n"
            + self.body.decode("utf-8", "replace")
        )

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_picture(self) -> bool:
        return any(value.startswith("image/") for _, value in self.headers)


@dataclass(slots=True)
class RecordingClient:
    """Somebody who sends requests to a server, and keeps what comes back."""

    url: str
    who: str
    key: str | None = None
    kept: list[Exchange] = field(default_factory=list)
    cookies: dict[str, str] = field(default_factory=dict)
    page: str = ""

    def send(
        self,
        method: str,
        route: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **names: str,
    ) -> Exchange:
        """Send one request; ``names`` stand for the parts in braces of the route, and for ``query``."""
        query = names.pop("query", "")
        place = urlsplit(self.url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE)
        path = route.format(**names) if names else route
        connection.request(method, path + (f"?{query}" if query else ""), content, dict(headers or {}))
        response = connection.getresponse()
        exchange = Exchange(self.who, method, route, response.status, response.getheaders(), response.read())
        connection.close()
        self.kept.append(exchange)
        for name, value in exchange.headers:
            if name.lower() == "set-cookie":
                cookie, _, rest = value.partition(";")[0].partition("=")
                self.cookies[cookie] = rest
        return exchange

    def api(self, method: str, route: str, body: object = None, *, key: str = "", **names: str) -> Exchange:
        """Send a request as a program does."""
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        content = None
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        return self.send(method, route, content=content, headers=headers, **names)

    # ---------------------------------------------------------------------------------------------------- as a browser

    def _cookies(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}

    def look(self, route: str, **names: str) -> Exchange:
        """Open a page."""
        exchange = self.send("GET", route, content=None, headers=self._cookies(), **names)
        self.page = exchange.body.decode("utf-8", "replace")
        return exchange

    def fill(self, route: str, form: Mapping[str, str], *, fragment: bool = False, **names: str) -> Exchange:
        """Send a form of the page that is open."""
        fields = {"token": self.hidden("token"), **form}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.url, **self._cookies()}
        headers |= {"HX-Request": "true"} if fragment else {}
        return self.send("POST", route, content=urlencode(fields).encode(), headers=headers, **names)

    def hidden(self, name: str) -> str:
        """A field that the page carries along."""
        found = re.search(rf'name="{name}" value="([0-9a-f]+)"', self.page)
        return found[1] if found else ""

    def sign_in(self, language: str) -> None:
        """Sign in with the key."""
        self.look("/sign-in", query=f"lang={language}")
        self.fill("/sign-in", {"key": f"{self.key}0"})
        self.fill("/sign-in", {"key": self.key or ""})
        self.look("/datasets")
