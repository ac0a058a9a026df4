"""What one client of the race does, in a process of its own: it imports little, so that the race is the server's."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

__all__ = ["race"]


def race(url: str, key: str, racer: str, requests: str) -> dict[str, Any]:
    """Ask questions and fit models that nobody else asks, one after the other; return what came back."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=600)
    replies, ids = [], []
    for number in range(int(requests)):
        path, asked = _make_request(racer, number)
        headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Idempotency-Key": f"racer {racer} request {number}",
        }
        connection.request("POST", path, json.dumps(asked).encode(), headers)
        response = connection.getresponse()
        told = json.loads(response.read())
        replies.append((response.status, told.get("error")))
        if response.status == 200:
            ids.append(told["id"])
    connection.close()
    return {"replies": replies, "ids": ids}


def _make_request(racer: str, number: int) -> tuple[str, dict[str, Any]]:
    if number % 5 == 4:
        where = f"income < {1 + 1000 * int(racer) + number}"
        return "/v1/models", {
            "dataset": "people",
            "model": "PCA",
            "features": ["age"],
            "where": where,
            "parameters": {"epsilon": "0.001"},
        }
    condition = f" WHERE income < {1 + number}" if number % 10 == 0 else ""
    sql = f"SELECT COUNT(*) AS by_{racer}_{number} FROM people{condition}"
    return "/v1/queries", {"dataset": "people", "sql": sql, "epsilon": "0.001"}
