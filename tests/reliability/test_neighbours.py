"""Two worlds that differ by one row or one person reply alike to everything: status, words, schema and charge."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from celosia.core import EngineError, ParameterError, QueryError
from celosia.ledger import Policy
from tests.reliability.fuzzing import fuzzed
from tests.reliability.inside import LOCAL, Inside, open_guard, serve_inside
from tests.reliability.neighbourhood import BUDGETS, SCHEMA, UGLY, populate, same, worlds
from tests.reliability.serving import Reply, start_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from celosia.guard.service import Guard
    from tests.reliability.serving import Served

    Both = Sequence[Inside] | Sequence[Served]

QUESTIONS, THOROUGH_QUESTIONS, SERVED_QUESTIONS = 24, 500, 12
COUNT = {"dataset": "rows", "sql": "SELECT COUNT(*) AS n FROM rows", "epsilon": "1"}
REFUSED = (
    {"dataset": "poor", "sql": "SELECT COUNT(*) AS n FROM poor", "epsilon": "3"},
    COUNT | {"dataset": "nowhere"},
)
BY_CATEGORY = {"dataset": "rows", "sql": "SELECT c, SUM(i) AS total FROM rows GROUP BY c", "epsilon": "1"}


FITS: tuple[dict[str, Any], ...] = (
    {"dataset": "rows", "model": "LogisticRegression", "features": ["i", "r"], "target": "b", "where": "i > 3"},
    {"dataset": "persons", "model": "GaussianNB", "features": ["i"], "target": "c"},
    {"dataset": "swapped", "model": "Ridge", "features": ["r"], "target": "i"},
    {"dataset": "rows", "model": "PCA", "features": ["c"]},
    {"dataset": "poor", "model": "PCA", "features": ["i"], "parameters": {"epsilon": "3"}},
)


class Neighbours:
    """The same requests to both worlds, compared one by one."""

    def __init__(self, both: Both) -> None:
        self._analysts = [world.client() for world in both]
        self._owners = [world.client("owner") for world in both]
        self._numbers = itertools.count()
        self.statuses: Counter[int] = Counter()

    def ask(self, body: Mapping[str, Any], *, preview: bool = True) -> None:
        """Preview, ask, and look at the budgets; AssertionError if the worlds can be told apart."""
        if preview:
            same(*(analyst.send("POST", "/v1/previews", body) for analyst in self._analysts))
        headers = {"Idempotency-Key": f"question {next(self._numbers)}", "Prefer": "wait=20"}
        path = "/v1/models" if "model" in body else "/v1/queries"
        replies = [analyst.send("POST", path, body, headers=headers) for analyst in self._analysts]
        # How many private keys there are is noisy, and so is what HAVING leaves; of all else the rows are public.
        unsure = b'"KeySelectionEvent"' in replies[0].body or _has_having(body)
        same(*replies, private_keys=unsure)
        same(*(owner.send("GET", "/v1/budget") for owner in self._owners))
        self.statuses[replies[0].status] += 1

    def read(self, path: str) -> None:
        """Read something that is not an answer."""
        same(*(analyst.send("GET", path) for analyst in self._analysts))


def _has_having(body: Mapping[str, Any]) -> bool:
    plan = body.get("plan")
    return "HAVING" in body.get("sql", "") or (isinstance(plan, dict) and plan.get("having") is not None)


@contextlib.contextmanager
def inside(folder: Path, *, ugly: int = 0, only: Sequence[str] | None = None) -> Iterator[list[Inside]]:
    with contextlib.ExitStack() as stack:
        both = []
        for number, world in enumerate(worlds(ugly)):
            guard, keys = open_guard()
            both.append(stack.enter_context(serve_inside(guard, keys)))
            populate(guard, world, folder / str(number), only=only)
        yield both


def test_questions_are_answered_alike(tmp_path: Path, *, thorough: bool) -> None:
    count = THOROUGH_QUESTIONS if thorough else QUESTIONS
    with inside(tmp_path) as both:
        neighbours = Neighbours(both)
        for path in ("/v1/datasets", "/v1/datasets/rows", "/v1/datasets/alone", "/v1/budget?dataset=persons"):
            neighbours.read(path)
        for place, body in enumerate([*fuzzed(20, count), *REFUSED]):
            neighbours.ask(body, preview=place % 3 == 0)
        assert neighbours.statuses.total() == count + len(REFUSED)
        assert neighbours.statuses[200] > count / 8, neighbours.statuses
        assert neighbours.statuses[422] > count / 5, neighbours.statuses
        assert {403, 404} < neighbours.statuses.keys()
        assert max(neighbours.statuses) < 500, neighbours.statuses
        heads = [world.guard.ledger.head.sequence for world in both]
        assert heads[0] == heads[1]
        assert all(world.guard.ledger.verify().ok for world in both)
        assert _access_log(both[0]) == _access_log(both[1])


def test_models_are_fitted_alike(tmp_path: Path) -> None:
    with inside(tmp_path, only=sorted({body["dataset"] for body in FITS})) as both:
        neighbours = Neighbours(both)
        for body in FITS:
            neighbours.ask({"parameters": {"epsilon": "1"}} | body, preview=False)
        assert neighbours.statuses == {200: 3, 422: 1, 403: 1}
        assert _access_log(both[0]) == _access_log(both[1])


def test_approvals_changes_and_dummy_rows_are_alike(tmp_path: Path) -> None:
    dear, schema = BY_CATEGORY | {"epsilon": "3"}, SCHEMA.to_toml().replace("high = 10\n", "high = 9\n")
    with inside(tmp_path, only=["rows"]) as both:
        for world in both:
            world.guard.set_budget(LOCAL, Policy(limit=BUDGETS["rows"], approval_above=Fraction(2)), dataset="rows")
        found = [[*_curate(world, dear, schema)] for world in both]
        assert [reply.status for reply in found[0]] == [200, 403, 200, 200, 200, 200, 200, 200, 200, 404]
        dummies = [replies.pop(0) for replies in found]
        assert dummies[0].body == dummies[1].body
        for one, two in zip(*found, strict=True):
            same(one, two)
        same(*(world.client("owner").send("GET", "/v1/budget") for world in both))
        assert _access_log(both[0]) == _access_log(both[1])


def _curate(world: Inside, dear: Mapping[str, Any], schema: str) -> Iterator[Reply]:
    """Ask for an approval, use it, cancel too late, narrow a bound and retire; ids and times are not shown."""
    analyst, curator = world.client(), world.client("curator")
    yield analyst.send("GET", "/v1/datasets/rows/dummy?rows=50")
    refused = analyst.ask(dear, "dear")
    approval = refused.json["fields"]["name"]
    yield _hide(refused, approval)
    yield _hide(listed := curator.send("GET", "/v1/approvals"), approval, listed.json["approvals"][0]["at"])
    decided = curator.send("PUT", f"/v1/approvals/{approval}", {"granted": True})
    yield _hide(decided, approval, decided.json["at"])
    yield (answered := analyst.ask(dear, "dear"))
    yield analyst.send("DELETE", f"/v1/queries/{answered.json['id']}")
    yield curator.send("PATCH", "/v1/datasets/rows", {"schema": schema})
    yield analyst.ask(COUNT, "narrower")
    yield curator.send("PATCH", "/v1/datasets/rows", {"retired": True})
    yield analyst.ask(COUNT, "retired")


def _hide(reply: Reply, *texts: str) -> Reply:
    body = reply.body
    for text in texts:
        body = body.replace(text.encode(), b"*" * len(text))
    return Reply(reply.status, reply.headers, body)


def _access_log(world: Inside) -> list[str]:
    """The lines of the server's log without their times and numbers."""
    return [line[20:].rpartition(" ")[0] for line in world.lines]


@pytest.mark.parametrize("ugly", range(len(UGLY)))
@pytest.mark.sampled(3)
def test_a_line_that_is_no_row_is_not_noticed(ugly: int, tmp_path: Path) -> None:
    numbers, others = ["COUNT(*)", "SUM(i)", "AVG(r)", "COUNT(b)"], ["MODE(c)", "MEDIAN(d)", "MAX(s)", "MODE(n)"]
    with inside(tmp_path, ugly=ugly, only=["lines"]) as both:
        neighbours = Neighbours(both)
        for columns in (numbers, others):
            asked = ", ".join(f"{column} AS a{place}" for place, column in enumerate(columns))
            neighbours.ask({"dataset": "lines", "sql": f"SELECT {asked} FROM lines", "epsilon": "1"})
        grouped = "SELECT t, COUNT(*) AS a FROM lines GROUP BY t"
        neighbours.ask({"dataset": "lines", "sql": grouped, "epsilon": "1", "delta": "1e-6"})
        assert neighbours.statuses == {200: 3}


def test_servers_answer_alike(tmp_path: Path, *, thorough: bool) -> None:
    asked = [*fuzzed(21, SERVED_QUESTIONS)] if thorough else [BY_CATEGORY, COUNT | {"sql": "SELECT i FROM rows"}]
    with contextlib.ExitStack() as stack:
        both = []
        for number, world in enumerate(worlds()):
            served = stack.enter_context(start_server(tmp_path / str(number), workers=1))
            with served.guard() as guard:
                populate(guard, world, tmp_path / f"world {number}", only=None if thorough else ["rows"])
            both.append(served)
        neighbours = Neighbours(both)
        for body in asked:
            neighbours.ask(body)
        assert neighbours.statuses.total() == len(asked)
        assert {200, 422} <= neighbours.statuses.keys()


def test_an_empty_answer_has_the_types_of_a_full_one(tmp_path: Path) -> None:
    sql = "SELECT c, t, COUNT(*) AS n, AVG(r) AS mean, MODE(o) AS mode FROM lines GROUP BY c, t HAVING n > {}"
    with inside(tmp_path, only=["lines"]) as both:
        types = []
        for most in (-(10**9), 10**9):
            body = {"dataset": "lines", "sql": sql.format(most), "epsilon": "100", "delta": "0.1"}
            columns = both[0].client().ask(body, str(most)).json["release"]["columns"]
            types.append([(column["name"], column["type"]) for column in columns])
        assert columns[0]["values"] == []
        assert types[0] == types[1]


# ------------------------------------------------------------------------------------------- leaks that must be found


def _rows(guard: Guard) -> int:
    import pyarrow.parquet as pq

    dataset = guard.catalogue.find("rows")
    assert dataset is not None
    return int(pq.read_metadata(dataset.source).num_rows)


def _in_words(guard: Guard) -> None:
    message = f"There are only {_rows(guard)} rows."
    raise QueryError(message)


def _in_the_status(guard: Guard) -> None:
    message = "It does not work."
    raise (EngineError if _rows(guard) % 2 else ParameterError)(message)


def _in_the_charge(guard: Guard) -> None:
    event = guard.ledger.reservations(limit=1)[0].event
    for _ in range(_rows(guard)):
        guard.ledger.reserve(event, dataset="rows")


def _leaking(guard: Guard, leak: Callable[[Guard], None]) -> Callable[..., Any]:
    ask = guard.ask

    def leaking(*args: Any, **kwargs: Any) -> Any:
        leak(guard)
        return ask(*args, **kwargs)

    return leaking


def _fewer_rows(release: dict[str, Any], rows: int) -> None:
    for column in release["columns"]:
        del column["values"][rows % 2 :]


def _another_type(release: dict[str, Any], rows: int) -> None:
    release["columns"][1]["type"] = ("int64", "double")[rows % 2]


def _a_note(release: dict[str, Any], rows: int) -> None:
    release["notes"].append(f"{rows} rows were read.")


def _an_event(release: dict[str, Any], rows: int) -> None:
    release["event"]["scale"] = str(rows)


TOLD_BEFORE = (_in_words, _in_the_status)
TOLD_IN_RELEASES = (_fewer_rows, _another_type, _a_note, _an_event)


def test_what_depends_on_the_rows_is_found(tmp_path: Path) -> None:
    faults = [
        *(functools.partial(_leaking, leak=leak) for leak in TOLD_BEFORE),
        *(functools.partial(_spoilt, leak=leak) for leak in TOLD_IN_RELEASES),
        functools.partial(_leaking, leak=_in_the_charge),  # sets the worlds apart for good
    ]
    with inside(tmp_path, only=["rows"]) as both:
        neighbours = Neighbours(both)
        for place, fault in enumerate(faults):
            neighbours.ask(BY_CATEGORY | {"epsilon": str(10 + place)}, preview=False)
            with contextlib.ExitStack() as stack:
                for world in both:
                    stack.enter_context(mock.patch.object(world.guard, "ask", fault(world.guard)))
                with pytest.raises(AssertionError):
                    neighbours.ask(BY_CATEGORY | {"epsilon": str(1 + place)}, preview=False)


def _spoilt(guard: Guard, leak: Callable[[dict[str, Any], int], None]) -> Callable[..., Any]:
    ask = guard.ask

    def spoilt(*args: Any, **kwargs: Any) -> Any:
        answer = ask(*args, **kwargs)
        assert isinstance(answer.release, dict)
        leak(answer.release, _rows(guard))
        return answer.model_copy(update={"stored": None})  # so that the release is told, and not the stored text

    return spoilt
