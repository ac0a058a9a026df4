"""Python client of a guard: ``celosia.connect`` returns a connection with the interface of a session.

The client builds queries and parses SQL with the tables that the guard declares, and sends plans. Each release has its
own idempotency key, drawn here, and retries send the same key: a query whose answer was lost is answered again and paid
for once. The client holds nothing private but the key and the answers.
"""

import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, overload
from urllib.parse import quote

from celosia.core.closing import Closing
from celosia.core.errors import CelosiaError, GuardUnreachableError, LedgerError, ParameterError
from celosia.core.exact import Exact, exact, exact_text, safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.html_table import draw_table
from celosia.data.dummy import draw_dummy_rows
from celosia.data.schema.columns import MAX_KEYS
from celosia.data.sources.classify import Frame
from celosia.guard.client.replies import (
    Budget,
    PastQuery,
    read_answer,
    read_budget,
    read_formats,
    read_past_query,
    read_tables,
)
from celosia.guard.client.transport import Transport
from celosia.guard.schema.replies import Answer, AnswersReply, DatasetsReply
from celosia.guard.schema.requests import FitRequest, QueryRequest
from celosia.noise.source import SYSTEM, Seeded
from celosia.query.backend import QueryOptions, begin, choose_table, draw_session
from celosia.query.builder import Query
from celosia.query.plan.relations import tables_of
from celosia.query.plan.to_sql import render
from celosia.query.serial.plan import plan_to_json
from celosia.query.serial.preview import preview_from_json
from celosia.query.serial.release import release_from_json
from celosia.query.session import Session
from celosia.query.sql.parser import parse_sql

if TYPE_CHECKING:
    import pyarrow as pa

    from celosia.data.table import Table
    from celosia.query.builder import Scalar
    from celosia.query.plan.nodes import Plan
    from celosia.query.planning.preview import Preview
    from celosia.query.release import TableRelease

L = TypeVar("L")

_MAX_LISTED: Final = 1_000
_MAX_KEY_LENGTH: Final = 200
_NUMBERS: Final = ("epsilon", "delta", "rho", "confidence", "rows", "level")


def connect(
    url: str, *, key: str, dataset: str | None = None, timeout: float = 300.0, verify: bool | str = True
) -> "Connection":
    """Open a connection to a guard, with the interface of a session.

    Checks the address, the key and the data set within 15 seconds.

    Parameters
    ----------
    url
        The guard's address, such as ``https://guard.example``.
    key
        Your key, from the guard's owner, or a bearer token of your identity provider.
    dataset
        The data set to query; optional if you can see only one.
    timeout
        Seconds to wait for an answer, retries included.
    verify
        Whether to check the guard's certificate; a path names a file of trusted certificates. With False the key is
        sent to any server at the address, also over http://: use it only on a network that you trust.

    Raises
    ------
    GuardUnreachableError
        If nothing listens at the address, its certificate is not trusted, or it is not a guard.
    NotAllowedError
        If the guard does not accept the key.
    FormatError
        If the guard is of another version.
    ParameterError
        If this key cannot see the data set; the message lists those that it can see.

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


class Connection(Closing):
    """A connection to a data set of a guard. ``connect`` makes one; ``celosia.Session`` documents the methods."""

    def __init__(self, transport: Transport, *, dataset: str | None = None) -> None:
        self._transport = transport
        self._name = None if dataset is None else exact_text(dataset, name="dataset")
        self._tables: Mapping[str, Table] | None = None

    def check(self) -> None:
        """Check that the guard answers, accepts the key, is of this version and has the data set."""
        reply = self._transport.open("/v1/datasets")
        read_formats(reply, self._transport.url)
        names = tuple([card.name for card in DatasetsReply.read(reply).datasets])
        if self._name is not None and self._name not in names:
            if not names:
                raise ParameterError("guard.no_dataset_visible", name=safe_repr(self._name))
            raise ParameterError("guard.dataset_not_visible", name=safe_repr(self._name), known=", ".join(names))
        if self._name is None and len(names) == 1:
            self._name = names[0]

    # ---------------------------------------------------------------------------------------------------- data sets

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the data sets that you may see."""
        return tuple([card.name for card in DatasetsReply.read(self._transport.get("/v1/datasets")).datasets])

    def dataset(self, name: str) -> "Connection":
        """Return a connection to another data set, with the same transport and key."""
        return Connection(self._transport, dataset=exact_text(name, name="name"))

    @property
    def tables(self) -> "Mapping[str, Table]":
        """The tables of the data set by name, with their schemas and without rows."""
        if self._tables is None:
            card = self._transport.get(f"/v1/datasets/{quote(self._dataset_name(), safe='')}")
            self._tables = types.MappingProxyType(read_tables(card))
        return self._tables

    def _dataset_name(self) -> str:
        if self._name is None:
            names = self.datasets
            if not names:
                raise ParameterError("guard.no_dataset_to_choose")
            if len(names) > 1:
                raise ParameterError("guard.dataset_not_chosen", known=", ".join(names))
            self._name = names[0]
        return self._name

    # --------------------------------------------------------------------------------------------------- dummy rows

    def dummy(self, table: str | None = None, *, rows: int = 1000, seed: int = 0) -> "pa.Table":
        """Draw dummy rows of a table from its declarations, on this machine; see ``celosia.data.draw_dummy_rows``."""
        return draw_dummy_rows(self.tables[choose_table(self, table)], rows=rows, seed=seed)

    def dummy_session(self, *, rows: int = 1000, seed: int = 0, budget: Guarantee | None = None) -> Session:
        """Open a session on dummy rows, to try code on: it takes the same queries, and spends nothing of the guard's.

        It has the tables of the data set and, unless another ``budget`` is given, a new budget as large as that of the
        data set. Its noise comes from the ``seed``, which its releases show. A public table has a row for each key.
        """
        tables = [
            replace(table, source=Frame(self.dummy(name, rows=MAX_KEYS if table.public else rows, seed=seed)))
            for name, table in self.tables.items()
        ]
        return Session(tables, budget=self.budget if budget is None else budget, source=Seeded(seed))

    # ---------------------------------------------------------------------------------------------------- questions

    def query(self, table: str | None = None) -> Query:
        """Begin a query of a table; the name is optional if there is only one private table."""
        return begin(self, table)

    @overload
    def sql(self, text: str) -> Query: ...
    @overload
    def sql(self, text: str, **target: Unpack[QueryOptions]) -> "TableRelease": ...
    def sql(self, text: str, **target: Any) -> "Query | TableRelease":
        """Query in SQL. With a privacy target, release the answer; without one, return the query."""
        query = Query(session=self, draft=parse_sql(text, self.tables))
        return query.release(**target) if target else query

    def preview(self, plan: "Plan", *, rows: float | None = None, level: Exact = 0.95, **target: Any) -> "Preview":
        """Return the cost and the expected error of a plan. Spends nothing."""
        body = self._body(plan, {**target, "rows": rows, "level": level})
        return preview_from_json(self._transport.post("/v1/previews", body))

    def release(  # noqa: PLR0913 - the keyword arguments of a session
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
        """Spend budget and return the answer of a plan; the parameters are those of a session.

        ``key`` is the idempotency key; by default a new one is drawn. If the guard cannot be reached, the error
        contains the key: the same query with that key is answered, and paid for, once.
        """
        target = {"epsilon": epsilon, "delta": delta, "rho": rho, "error": error, "rows": rows}
        if error is not None:
            target["confidence"] = confidence
        reply = self._post_paid("/v1/queries", self._body(plan, target), key, unsure="guard.question_perhaps_paid")
        return release_from_json(read_answer(reply))

    def fit(
        self,
        estimator: L,
        features: Sequence[str],
        target: str | None = None,
        *,
        table: str | None = None,
        where: "Scalar | None" = None,
        key: str | None = None,
    ) -> L:
        """Fit an estimator of ``celosia.learn`` at the guard, and return it; the parameters are those of a session.

        The guard is sent the name and the parameters of the estimator, and returns noisy numbers. ``key`` is the
        idempotency key, as in ``release``.
        """
        from celosia.learn.io.specification import restore, specify
        from celosia.query.answering.fitting import check_columns

        rows = begin(self, table)
        rows = rows if where is None else rows.where(where)
        [name] = tables_of(rows.draft.relation)
        check_columns(self.tables[name], features, target)
        condition = None if rows.draft.filter is None else render(rows.draft.filter)
        given: dict[str, Any] = {**specify(estimator), "features": list(features), "target": target, "table": name}
        body = FitRequest(dataset=self._dataset_name(), **given, where=condition).to_json()
        restore(estimator, read_answer(self._post_paid("/v1/models", body, key, unsure="guard.fit_perhaps_paid")))
        return estimator

    def _post_paid(self, path: str, body: Mapping[str, Any], key: str | None, *, unsure: str) -> Any:
        """Send what is paid for, with a key; an error that leaves unsure whether it was carries the key."""
        drawn = _idempotency_key(key)
        try:
            return self._transport.post(path, body, key=drawn)
        except (GuardUnreachableError, LedgerError) as failure:
            raise type(failure)(unsure, error=failure, key=repr(drawn)) from None

    def answer(self, id: str) -> "TableRelease":  # noqa: A002 - its name in the API
        """Return an earlier answer, by its id in ``history``. Costs nothing."""
        found = self._find_answer(id)
        if "model" in found:
            raise ParameterError("guard.answer_is_a_model", id=repr(id))
        return release_from_json(found)

    def model(self, id: str) -> Any:  # noqa: A002 - its name in the API
        """Return the model of an earlier fit, by its id in ``history``. Costs nothing."""
        from celosia.learn.io.model_file import model_from_json

        found = self._find_answer(id)
        if "model" not in found:
            raise ParameterError("guard.answer_is_no_model", id=repr(id))
        return model_from_json(found)

    def cancel(self, id: str) -> PastQuery:  # noqa: A002 - its name in the API
        """Interrupt a query of yours while its data are read, by its id in ``history``; its cost stays spent.

        Returns its state, which changes soon. A query whose data were read already is still answered.
        """
        return read_past_query(Answer.read(self._transport.delete(_query_path(id))))

    def _find_answer(self, id: str) -> dict[str, Any]:  # noqa: A002 - its name in the API
        return read_answer(self._transport.get(_query_path(id)))

    def _body(self, plan: "Plan", target: Mapping[str, Any]) -> dict[str, Any]:
        unknown = [name for name in target if name not in (*_NUMBERS, "error")]
        if unknown:
            raise ParameterError("guard.unknown_question_option", known=", ".join(_NUMBERS), name=safe_repr(unknown[0]))
        numbers: dict[str, Any] = {
            name: _format_number(target[name], name) for name in _NUMBERS if target.get(name) is not None
        }
        error = target.get("error")
        if isinstance(error, Mapping):
            numbers["error"] = {
                exact_text(name, name="error"): _format_number(value, "error") for name, value in error.items()
            }
        elif error is not None:
            numbers["error"] = _format_number(error, "error")
        return QueryRequest(dataset=self._dataset_name(), plan=plan_to_json(plan), **numbers).to_json()

    # ------------------------------------------------------------------------------------------------------ budgets

    @property
    def budget(self) -> Guarantee:
        """The budget of the data set, for all analysts together."""
        return self._budget().limit

    @property
    def spent(self) -> Guarantee:
        """What all analysts together have spent on the data set."""
        return self._budget().spent

    @property
    def remaining(self) -> Guarantee:
        """What you may still spend: the least remainder of the budgets that apply to you."""
        return self._budget().remaining

    def _budget(self) -> Budget:
        name = self._dataset_name()
        return read_budget(self._transport.get("/v1/budget", dataset=name), name)

    @property
    def history(self) -> tuple[PastQuery, ...]:
        """Your last thousand queries and fits of the data set, earliest first."""
        name = self._dataset_name()
        answers = AnswersReply.read(self._transport.get("/v1/queries", limit=_MAX_LISTED)).queries
        return tuple([read_past_query(answer) for answer in reversed(answers) if answer.dataset == name])

    # ---------------------------------------------------------------------------------------------------------- end

    def close(self) -> None:
        """Close the transport, which the connections made from this one share."""
        self._transport.close()

    def _repr_html_(self) -> str:
        """Show the declared data set and the remaining budget; if the guard does not answer, only the ``repr``."""
        try:
            own = self._budget()
            budgets = {"budget": own.limit, "spent by all": own.spent, "left to you": own.remaining}
            return draw_session(f"{self._dataset_name()} at {self._transport.url}", budgets, self.tables.values())
        except (CelosiaError, RuntimeError):  # httpx raises a RuntimeError once it is closed
            return draw_table((), [(repr(self),)])

    def __repr__(self) -> str:
        named = "" if self._name is None else f", data set {self._name}"
        return f"<Connection to {self._transport.url}{named}>"


def _query_path(id: str) -> str:  # noqa: A002 - its name in the API
    return f"/v1/queries/{quote(exact_text(id, name='id'), safe='')}"


def _idempotency_key(key: object) -> str:
    if key is None:
        return "".join(f"{int(word):016x}" for word in SYSTEM.words(2))
    if isinstance(key, str) and 0 < len(key) <= _MAX_KEY_LENGTH and all("!" <= letter <= "~" for letter in key):
        return key
    raise ParameterError("guard.invalid_request_key", most=_MAX_KEY_LENGTH, key=safe_repr(key))


def _format_number(value: Any, name: str) -> str:
    """Return the exact text of a number: the float 0.1 is not exactly one tenth."""
    return str(exact(value, name=name))
