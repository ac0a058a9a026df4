"""The Python client of a guard: ``celosia.connect`` gives what a session gives, and the guard does the asking.

Queries are built, and SQL is read, on this side, with the tables that the guard declares; what travels is a plan. Every
release has an idempotency key of its own, drawn here, and a retry sends the same one: a question whose answer was lost
on the way is answered again, and not paid for again. Nothing private is on this side but the key and the answers.
"""

import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Self, overload
from urllib.parse import quote as quoted

from celosia.core.errors import CelosiaError, EngineError, GuardUnreachableError, LedgerError, ParameterError
from celosia.core.exact import Exact, exact, safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.html_table import draw_table
from celosia.core.record import exact_text
from celosia.guard.client.replies import Budget, PastQuestion, read_budget, read_formats, read_past, read_tables
from celosia.guard.client.transport import Transport
from celosia.noise.source import SYSTEM
from celosia.query.backend import begin, draw_session
from celosia.query.builder import Query
from celosia.query.serial.json_fields import listed
from celosia.query.serial.plan import plan_to_json
from celosia.query.serial.preview import preview_from_json
from celosia.query.serial.release import release_from_json
from celosia.query.sql.parser import parse_sql

if TYPE_CHECKING:
    from celosia.data.table import Table
    from celosia.query.plan.nodes import Plan
    from celosia.query.planning.preview import Preview
    from celosia.query.release import TableRelease

_MOST_LISTED: Final = 1_000
_LONGEST_KEY: Final = 200
_NUMBERS: Final = ("epsilon", "delta", "rho", "confidence", "rows", "level")


def connect(
    url: str, *, key: str, dataset: str | None = None, timeout: float = 300.0, verify: bool | str = True
) -> "Connection":
    """Open a connection to a guard, which has the face of a session.

    Address, key and data set are checked now, within 15 seconds.

    Parameters
    ----------
    url
        The guard's address, such as ``https://guard.example``.
    key
        The key that the guard's owner has given you, or a bearer token of your identity provider.
    dataset
        The data set to ask about; it may be left out if you may see only one.
    timeout
        How many seconds to wait for an answer in all, retries included.
    verify
        Whether the guard's certificate is checked; a path names the certificates that are trusted. With False the
        key is sent to whoever answers, over http:// too: only on a network that you trust.

    Raises
    ------
    GuardUnreachableError
        If nothing listens there, its certificate is not trusted, or what answers is no guard.
    NotAllowedError
        If the guard does not accept the key.
    FormatError
        If the guard is of another version.
    ParameterError
        If there is no such data set that this key may see; the message lists those that there are.

    Examples
    --------
    >>> connect("http://127.0.0.1:1", key="celosia_0123456789ab_0123", dataset="deaths")
    Traceback (most recent call last):
    ...
    celosia.core.errors.GuardUnreachableError: Nothing listens at http://127.0.0.1:1: check the address, or ask ...
    """
    connection = Connection(Transport(url, key=key, timeout=timeout, verify=verify), dataset=dataset)
    try:
        connection.check()
    except BaseException:
        connection.close()
        raise
    return connection


class Connection:
    """Ask a guard about a data set. Made by ``connect``; see ``celosia.Session`` for what the methods do."""

    def __init__(self, wire: Transport, *, dataset: str | None = None) -> None:
        self._wire = wire
        self._name = None if dataset is None else exact_text(dataset, name="dataset")
        self._tables: Mapping[str, Table] | None = None

    def check(self) -> None:
        """Check that the guard answers, accepts the key, is of this version and has the data set."""
        reply = self._wire.open("/v1/datasets")
        read_formats(reply, self._wire.url)
        names = tuple([str(card.get("name")) for card in _cards(reply)])
        if self._name is not None and self._name not in names:
            seen = f"there are {', '.join(names)}" if names else "there is none: ask the guard's owner"
            raise ParameterError(
                f"dataset: there is no data set {safe_repr(self._name)} that this key may see; {seen}."
            )
        if self._name is None and len(names) == 1:
            self._name = names[0]

    # ---------------------------------------------------------------------------------------------------- data sets

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the data sets that you may see."""
        return tuple([str(card.get("name")) for card in _cards(self._wire.get("/v1/datasets"))])

    def dataset(self, name: str) -> "Connection":
        """Return a connection for another data set, over the same wire and with the same key."""
        return Connection(self._wire, dataset=exact_text(name, name="name"))

    @property
    def tables(self) -> "Mapping[str, Table]":
        """The tables of the data set by name, with their schemas and without rows."""
        if self._tables is None:
            card = self._wire.get(f"/v1/datasets/{quoted(self._chosen(), safe='')}")
            self._tables = types.MappingProxyType(read_tables(card))
        return self._tables

    def _chosen(self) -> str:
        if self._name is None:
            names = self.datasets
            if len(names) != 1:
                several = f"there are {', '.join(names)}" if names else "there is none that you may see"
                raise ParameterError(f"Say which data set is meant, connect(..., dataset=...): {several}.")
            self._name = names[0]
        return self._name

    # ---------------------------------------------------------------------------------------------------- questions

    def query(self, table: str | None = None) -> Query:
        """Begin a question about a table; the name may be left out if there is only one private table."""
        return begin(self, table)

    @overload
    def sql(self, text: str) -> Query: ...
    @overload
    def sql(
        self,
        text: str,
        *,
        epsilon: Exact | None = ...,
        delta: Exact | None = ...,
        rho: Exact | None = ...,
        error: "Exact | Mapping[str, Exact] | None" = ...,
        confidence: Exact = ...,
        rows: float | None = ...,
    ) -> "TableRelease": ...
    def sql(self, text: str, **target: Any) -> "Query | TableRelease":
        """Ask in SQL. With a target the answer is released; without one a query is returned, to preview or release."""
        query = Query(session=self, draft=parse_sql(text, self.tables))
        return query.release(**target) if target else query

    def preview(self, plan: "Plan", *, rows: float | None = None, level: Exact = 0.95, **target: Any) -> "Preview":
        """Tell what a plan would cost and how far off it would be. Spends nothing."""
        body = self._body(plan, {**target, "rows": rows, "level": level})
        return preview_from_json(self._wire.post("/v1/previews", body))

    def release(  # noqa: PLR0913 - all that a question can be given, by name
        self,
        plan: "Plan",
        *,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        rho: Exact | None = None,
        error: "Exact | Mapping[str, Exact] | None" = None,
        confidence: Exact = 0.95,
        rows: float | None = None,
        key: str | None = None,
    ) -> "TableRelease":
        """Pay for a plan and answer; the parameters are those of a session.

        ``key`` is the idempotency key; left out, a new one is drawn. If the guard could not be reached, the error says
        which key it was: the same question with that key is answered, and paid for, once.
        """
        target = {"epsilon": epsilon, "delta": delta, "rho": rho, "error": error, "rows": rows}
        if error is not None:
            target["confidence"] = confidence
        body = self._body(plan, target)
        drawn = _idempotency_key(key)
        try:
            reply = self._wire.post("/v1/queries", body, key=drawn)
        except (GuardUnreachableError, LedgerError) as failure:
            raise type(failure)(
                f"{failure} The question may have been paid for: to go on with it, release(..., key={drawn!r})."
            ) from None
        return _release_of(reply)

    def answer(self, id: str) -> "TableRelease":  # noqa: A002 - the name that it has everywhere else
        """Return an answer that was given before, by its id in ``history``. Costs nothing."""
        return _release_of(self._wire.get(f"/v1/queries/{quoted(exact_text(id, name='id'), safe='')}"))

    def _body(self, plan: "Plan", target: Mapping[str, Any]) -> dict[str, Any]:
        unknown = [name for name in target if name not in (*_NUMBERS, "error")]
        if unknown:
            raise ParameterError(f"A question takes {', '.join(_NUMBERS)} and error, not {safe_repr(unknown[0])}.")
        numbers: dict[str, Any] = {
            name: _number(target[name], name) for name in _NUMBERS if target.get(name) is not None
        }
        error = target.get("error")
        if isinstance(error, Mapping):
            numbers["error"] = {
                exact_text(name, name="error"): _number(value, "error") for name, value in error.items()
            }
        elif error is not None:
            numbers["error"] = _number(error, "error")
        return {"dataset": self._chosen(), "plan": plan_to_json(plan), **numbers}

    # ------------------------------------------------------------------------------------------------------ budgets

    @property
    def budget(self) -> Guarantee:
        """What may be spent on the data set in all, by everybody."""
        return self._budget().limit

    @property
    def spent(self) -> Guarantee:
        """What was spent on the data set, by everybody."""
        return self._budget().spent

    @property
    def remaining(self) -> Guarantee:
        """What you may still spend: the least of what the data set, you, and you on the data set have left."""
        return self._budget().remaining

    def _budget(self) -> Budget:
        name = self._chosen()
        return read_budget(self._wire.get("/v1/budget", dataset=name), name)

    @property
    def history(self) -> tuple[PastQuestion, ...]:
        """Your questions about the data set, the earliest of the last thousand first."""
        name = self._chosen()
        reply = self._wire.get("/v1/queries", limit=_MOST_LISTED)
        asked = [
            read_past(item) for item in listed(reply.get("queries") if isinstance(reply, dict) else None, "queries")
        ]
        return tuple([past for past in reversed(asked) if past.dataset == name])

    # ---------------------------------------------------------------------------------------------------------- end

    def close(self) -> None:
        """Let go of the connections, also of those for other data sets that were made from this one."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """Show the data set as the guard declares it, and what is left; a guard that does not answer is no error."""
        try:
            own = self._budget()
            budgets = {"budget": own.limit, "spent by all": own.spent, "left to you": own.remaining}
            return draw_session(f"{self._chosen()} at {self._wire.url}", budgets, self.tables.values())
        except (CelosiaError, RuntimeError):  # httpx raises a RuntimeError once it is closed
            return draw_table((), [(repr(self),)])

    def __repr__(self) -> str:
        named = "" if self._name is None else f", data set {self._name}"
        return f"<Connection to {self._wire.url}{named}>"


def _cards(reply: object) -> list[dict[str, Any]]:
    cards = listed(reply.get("datasets") if isinstance(reply, dict) else None, "datasets")
    return [card for card in cards if isinstance(card, dict)]


def _idempotency_key(key: object) -> str:
    if key is None:
        return "".join(f"{int(word):016x}" for word in SYSTEM.words(2))
    if isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY and all("!" <= letter <= "~" for letter in key):
        return key
    raise ParameterError(f"key must be 1 to {_LONGEST_KEY} letters, digits or signs of ASCII, not {safe_repr(key)}.")


def _number(value: Any, name: str) -> str:
    """A number as the exact text of what it is here: the float 0.1 is not quite a tenth, there as here."""
    return str(exact(value, name=name))


def _release_of(reply: object) -> "TableRelease":
    past = read_past(reply)
    released = reply.get("release") if isinstance(reply, dict) else None
    if released is None:
        raise EngineError(f"The question was {past.state} and has no answer. It stays paid for.")
    return release_from_json(released)
