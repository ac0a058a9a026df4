"""The guard without HTTP: permissions, and the order in which a query is served.

The API, the pages and the command line call these methods and nothing below them, so each permission is checked in one
place. A query is analyzed, its cost reserved durably, the data read, noise added, the answer stored and returned. A
repeated request returns the stored answer, even if the data set has changed since. Threads may share a ``Guard``; each
process opens its own.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Unpack

from celosia.core.closing import Closing
from celosia.core.errors import (
    ApprovalRequiredError,
    EngineError,
    LedgerError,
    NotAllowedError,
    ParameterError,
    RequestConflictError,
)
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Message
from celosia.data.dummy import draw_dummy_batches
from celosia.data.sources.csv_encoding import encode_csv
from celosia.guard.auth.directory import INVALID, Directory, UserCard, now
from celosia.guard.auth.identity import OIDC_PREFIX, Identity
from celosia.guard.auth.web_sessions import WebSessions
from celosia.guard.config.settings import Config
from celosia.guard.datasets.catalogue import BEING_CHANGED, Catalogue
from celosia.guard.datasets.changes import Changes, explain_change
from celosia.guard.datasets.dataset import Dataset, PublicTable
from celosia.guard.datasets.declarations import declared_table
from celosia.guard.datasets.folders import find_file, list_files
from celosia.guard.datasets.policies import change_rules, explain_rules, scope_policy
from celosia.guard.log.export import export_lines
from celosia.guard.log.search import LogFilter, find_pages
from celosia.guard.queries import saved
from celosia.guard.queries.answers import make_answer
from celosia.guard.queries.approvals import STATES, Approvals
from celosia.guard.queries.cancellation import INTERRUPTED, cancel, is_cancelled
from celosia.guard.queries.fits import fit_model, preview_model
from celosia.guard.queries.pace import Turns, delay_end
from celosia.guard.queries.sessions import OpenDataset, Sessions
from celosia.guard.roles import Permission, Role, require
from celosia.guard.schema.replies import Answer, Approval, DatasetCard
from celosia.guard.schema.requests import FitRequest, QueryRequest
from celosia.guard.storage.tables import create_tables
from celosia.guard.storage.tampering import find_tampering
from celosia.serving.addresses import expand_variables, hide_secrets
from celosia.serving.errors import NotFoundError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from celosia.data.drafting.inspection import Inspection
    from celosia.ledger import Ledger, LogLine, Policy, Request, Reservation, StatementLine, Verification
    from celosia.query import Preview

_MAX_KEY_LENGTH: Final = 200
_MAX_LINES: Final = 10_000
_MAX_TOKEN_LENGTH: Final = 16_384
_MAX_REOPENED: Final = 9


class Guard(Closing):
    """The guard's operations. ``Guard.open`` makes one, in the process that uses it.

    >>> with Guard.open(Config(store="memory://")) as guard:
    ...     key = guard.add_user(Identity.local(), "ana", "analyst")
    ...     guard.authenticate(key).role.value
    'analyst'
    """

    def __init__(self, config: Config, ledger: "Ledger") -> None:
        create_tables(ledger)
        self.config, self.ledger = config, ledger
        self.catalogue, self._directory = Catalogue(ledger), Directory(ledger)
        self._web_sessions, self._turns = WebSessions(ledger, self._directory), Turns()
        self._approvals = Approvals(ledger)
        options = {
            "pace": partial(delay_end, config.slot_milliseconds),
            "time_limit": config.limits.query_seconds,
            "is_cancelled": partial(is_cancelled, ledger),
        }
        self._sessions = Sessions(
            ledger,
            options=options,
            slot_milliseconds=config.slot_milliseconds,
            confirm=self.catalogue.confirm,
        )
        self._tokens = None
        if config.oidc is not None:
            from celosia.guard.auth.oidc import TokenChecker

            self._tokens = TokenChecker(config.oidc)

    @classmethod
    def open(cls, config: Config, *, create: bool = True) -> "Guard":
        """Open the store of a configuration, and create its tables if it is new.

        Without ``create`` the store must exist: a new store has no record of earlier spending.
        """
        from celosia.ledger import open_ledger

        guard = cls(config, open_ledger(expand_variables(config.store, name="store"), create=create))
        if not create and not config.store.startswith("memory:") and not guard._directory.users():
            guard.close()
            raise ParameterError("guard.store_without_users", store=hide_secrets(config.store))
        return guard

    def open_datasets(self) -> None:
        """Open all data sets that can be asked, so that the first query does not wait for the check of their rows."""
        self._sessions.open_all(one for one in self.catalogue.all() if not one.retired)

    def close(self) -> None:
        """Close files and connections."""
        self._sessions.close()
        self.ledger.close()

    def health(self) -> dict[str, str]:
        """Return ``{"status": "ok"}`` if the store answers; raise ``LedgerError`` if it does not."""
        _ = self.ledger.head
        return {"status": "ok"}

    # ------------------------------------------------------------------------------------------------- authentication

    def authenticate(self, token: str) -> Identity:
        """Return the identity of a key or bearer token; raise ``NotAllowedError`` if it is not valid."""
        given: object = token
        if not isinstance(given, str) or len(given) > _MAX_TOKEN_LENGTH:
            raise NotAllowedError(INVALID)
        if self._tokens is not None and token.count(".") == 2 and not token.startswith("celosia_"):
            return self._tokens.check(token)
        return self._directory.check(token)

    def sign_in(self, token: str, *, hours: int = 12) -> tuple[str, Identity]:
        """Check a key or token and open a web session.

        Returns its secret of 64 hexadecimal digits, which the guard does not keep.
        """
        identity = self.authenticate(token)
        return self._web_sessions.open(identity, hours=hours), identity

    def identify(self, secret: str) -> Identity:
        """Return the identity of a web session; raise ``NotAllowedError`` if the session or its key has ended."""
        return self._web_sessions.find_identity(secret)

    def sign_out(self, secret: str) -> None:
        """End a web session; an unknown one is ignored."""
        self._web_sessions.end(secret)

    # ------------------------------------------------------------------------------------------------- data sets

    def datasets(self, identity: Identity) -> tuple[DatasetCard, ...]:
        """Return the data sets that an identity may see, by name."""
        require(identity, Permission.READ_SCHEMAS)
        return tuple(dataset.card() for dataset in self.catalogue.all() if dataset.is_visible_to(identity))

    def dataset(self, identity: Identity, name: str) -> DatasetCard:
        """Return one data set; raise ``NotFoundError`` if the identity may not see it."""
        require(identity, Permission.READ_SCHEMAS)
        return self._find_visible(identity, name).card()

    def dummy_rows(self, identity: Identity, name: str, *, rows: int = 1000, seed: int = 0) -> Iterator[bytes]:
        """Return CSV of dummy rows in parts; they are drawn from the declarations that the identity may see."""
        require(identity, Permission.READ_SCHEMAS)
        declared = declared_table(name, self._find_visible(identity, name).schema_file)
        return encode_csv(draw_dummy_batches(declared, rows=rows, seed=seed))

    def add_dataset(  # noqa: PLR0913 - keyword arguments that describe a data set
        self,
        identity: Identity,
        name: str,
        source: str,
        schema: str,
        *,
        table: str | None = None,
        title: str = "",
        public: Sequence[PublicTable] = (),
        analysts: Sequence[str] | None = None,
    ) -> DatasetCard:
        """Add a data set; ``schema`` is the text of a schema file, ``table`` a table of a database."""
        require(identity, Permission.ADD_DATASETS)
        allowed = None if analysts is None else tuple(analysts)
        for analyst in allowed or ():
            self._check_analyst(analyst)
        given = Dataset(name=name, source=source, schema=schema, title=title)
        given = replace(given, relation=table, public=tuple(public), analysts=allowed)
        return self.catalogue.add(given, by=identity.name).card()

    def data_files(self, identity: Identity) -> tuple[str, ...]:
        """Return the names of the files that can be added on the pages, below the folders of the configuration."""
        require(identity, Permission.ADD_DATASETS)
        return tuple(list_files(self.config.data_folders))

    def inspect_file(self, identity: Identity, file: str) -> "Inspection":
        """Return the columns of a listed file, with bounds that their names suggest, never their rows."""
        from celosia.data.drafting.inspection import inspect_source

        require(identity, Permission.ADD_DATASETS)
        return inspect_source(str(find_file(self.config.data_folders, file)))

    def draft_schema(self, identity: Identity, file: str, *, language: str = "en") -> str:
        """Return a draft of the schema of a listed file, as ``celosia schema`` writes it."""
        from celosia.data.drafting.draft import draft_schema

        require(identity, Permission.ADD_DATASETS)
        return draft_schema(str(find_file(self.config.data_folders, file)), language=language)

    def add_file(self, identity: Identity, name: str, file: str, schema: str, *, title: str = "") -> DatasetCard:
        """Add a listed file as a data set, with the checks of ``add_dataset``."""
        require(identity, Permission.ADD_DATASETS)
        return self.add_dataset(identity, name, str(find_file(self.config.data_folders, file)), schema, title=title)

    def share_dataset(
        self, identity: Identity, dataset: str, analysts: Sequence[str] | None, *, dry_run: bool = False
    ) -> DatasetCard:
        """Set which analysts may see a data set; None for all. A ``dry_run`` checks, and changes nothing."""
        require(identity, Permission.ADD_DATASETS)
        for analyst in analysts or ():
            self._check_analyst(analyst)
        return self.catalogue.share(dataset, analysts, by=identity.name, dry_run=dry_run).card()

    def sharing(self, identity: Identity, dataset: str) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        """Return the analysts who may see a data set, None for all, and the names of all known analysts."""
        require(identity, Permission.ADD_DATASETS)
        allowed = self._find_visible(identity, dataset).analysts
        known = {user.name for user in self._directory.users() if user.role is Role.ANALYST}
        return allowed, tuple(sorted(known.union(allowed or ())))

    def schema(self, identity: Identity, dataset: str) -> str:
        """Return the schema file of a data set as ``update_dataset`` takes it."""
        require(identity, Permission.SET_SCHEMAS)
        return self._find_visible(identity, dataset).schema

    def update_dataset(
        self, identity: Identity, name: str, *, dry_run: bool = False, **changes: Unpack[Changes]
    ) -> tuple[DatasetCard, tuple[Message, ...]]:
        """Change a data set under the same budget; return its card, and what the change means for past spending.

        The privacy unit and the adjacency stay. A new ``source`` or ``table`` is a new version of the data. A
        ``retired`` data set takes no questions until it is restored with ``retired=False``. A ``dry_run`` checks and
        explains, and changes nothing.
        """
        require(identity, Permission.ADD_DATASETS if changes.get("schema") is None else Permission.SET_SCHEMAS)
        before, after = self.catalogue.update(name, by=identity.name, dry_run=dry_run, **changes)
        return after.card(), explain_change(before, after)

    def set_bounds(self, identity: Identity, dataset: str, column: str, low: object, high: object) -> DatasetCard:
        """Replace the bounds of a column: numbers, or strings of numbers, dates and times."""
        require(identity, Permission.SET_SCHEMAS)
        return self.catalogue.set_bounds(dataset, column, low, high, by=identity.name).card()

    def new_version(self, identity: Identity, dataset: str) -> DatasetCard:
        """Declare that the rows have changed, so that stored answers are not reused."""
        require(identity, Permission.SET_VERSIONS)
        return self.catalogue.new_version(dataset, by=identity.name).card()

    def _find_visible(self, identity: Identity, name: str) -> Dataset:
        return _check_visible(identity, name, self.catalogue.find(name))

    def _check_analyst(self, name: str) -> None:
        if not name.startswith(OIDC_PREFIX) and not self._directory.exists(name):
            raise NotFoundError("guard.no_user", name=name)

    # ------------------------------------------------------------------------------------------------- queries

    def preview(self, identity: Identity, query: QueryRequest | FitRequest) -> "Preview":
        """Return the cost of a query or a fit, and the expected error. Spends nothing and reads no data."""
        require(identity, Permission.PREVIEW)
        with self._turns.take(identity.name):
            opened = self._open(identity, self._find_visible(identity, query.dataset))
            session, limits = opened.first.for_analyst(identity.name), self.config.limits
            if isinstance(query, FitRequest):
                found = preview_model(session, query, limits)
            else:
                target = query.target() | ({} if query.level is None else {"level": query.level})
                found = session.preview(opened.plan(query, limits), **target)
            # Before the other notes: they say what becomes of the verdict.
            return replace(found, notes=(*explain_rules(opened.state[1], found.cost), *found.notes))

    def ask(self, identity: Identity, query: QueryRequest | FitRequest, key: str) -> Answer:
        """Answer a query or fit a model, or return the stored answer of a repeated request.

        The caller draws the idempotency ``key`` for one request and its retries. The state ``reserved`` means that the
        same request is being answered elsewhere: poll ``answer``.
        """
        from celosia.ledger import Request

        require(identity, Permission.ASK)
        request = Request(key=_check_key(key), digest=query.digest)
        with self.ledger.store.reading() as connection:  # a retry waits for no turn
            known = _find_known(connection, identity.name, request)
        if known is not None:
            return self._make_answer(known)
        try:
            with self._turns.take(identity.name) as waited:
                found = self._look_up(identity, query.dataset, request, check=waited)
                if isinstance(found, tuple):
                    dataset, policy, request = found
                    found = self._pay(identity.name, query, request, self._open(identity, dataset, policy))
        except EngineError as error:
            if error.code not in INTERRUPTED:
                self._sessions.forget(query.dataset)
            raise
        except ApprovalRequiredError as error:
            self._file_approval(identity, request, query.to_json(), error)
            raise
        return self._make_answer(found)

    def _look_up(
        self, identity: Identity, name: str, request: "Request", *, check: bool
    ) -> "Reservation | tuple[Dataset, Policy | None, Request]":
        """Return the reservation of a known request; else its data set, the policy, and the request with its approval.

        With ``check`` the key of the identity must still be valid: the right to ask may have ended during the wait.
        """
        from celosia.ledger.budgets.scope import Scope

        with self.ledger.state.reading() as page:  # one read of the store
            if check:
                self._check_valid(identity, page.connection)
            known = _find_known(page.connection, identity.name, request)
            if known is not None:
                return known
            dataset = _check_visible(identity, name, self.catalogue.find(name, connection=page.connection))
            approval = self._approvals.find_granted(page.connection, identity.name, request)
            return dataset, page.state.policies.get(Scope(dataset=name)), replace(request, approval=approval)

    def _check_valid(self, identity: Identity, connection: "Connection") -> None:
        """Raise ``NotAllowedError`` if the key or token of an identity has ended."""
        key = identity.key_id
        revoked = key is not None and self._directory.find_holder(key, connection=connection) is None
        if revoked or (identity.until is not None and identity.until <= now()):
            raise NotAllowedError(INVALID)

    def _open(self, identity: Identity, dataset: Dataset, policy: "Policy | None" = None) -> OpenDataset:
        """Open a data set; one that has changed since it was looked up is looked up again, a few times."""
        for _ in range(_MAX_REOPENED):
            try:
                return self._sessions.open(dataset, policy)
            except LedgerError as error:
                if error.code != BEING_CHANGED:
                    raise
            dataset, policy = self._find_visible(identity, dataset.name), None
        return self._sessions.open(dataset)

    def _pay(
        self, analyst: str, query: QueryRequest | FitRequest, request: "Request", opened: OpenDataset
    ) -> "Reservation":
        with opened.borrow_session() as shared:
            session, limits = shared.for_analyst(analyst), self.config.limits
            if isinstance(query, FitRequest):
                return fit_model(session, query, limits, request)
            return session.ask_prepared(opened.prepare(query, request.digest, limits), request=request)

    def _file_approval(
        self, identity: Identity, request: "Request", content: "Mapping[str, Any]", error: ApprovalRequiredError
    ) -> None:
        """File an approval; raise with its id, or with the reason if it was denied."""
        cost = error.fields["cost"]
        assert isinstance(cost, Guarantee)  # noqa: S101 - for the type checker: the ledger gives one
        filed = self._approvals.file(identity.name, request, content, cost=cost, question=error.question)
        if filed.state == "denied":
            reason = filed.reason or Message("guard.no_reason_given")
            raise NotAllowedError("guard.approval_denied", name=filed.id, by=filed.by, reason=reason)
        raise ApprovalRequiredError("guard.approval_requested", name=filed.id, key=repr(request.key), **error.fields)

    def approvals(self, identity: Identity, *, state: str | None = None, limit: int = 100) -> tuple[Approval, ...]:
        """Return the approvals of this analyst, or for curators those of all: pending ones first, then latest first."""
        require(identity, Permission.APPROVE, Permission.ASK)
        if state is not None and state not in STATES:
            raise ParameterError("guard.unknown_approval_state", known=", ".join(STATES), value=safe_repr(state))
        analyst = None if identity.may(Permission.APPROVE) else identity.name
        return self._approvals.list(analyst=analyst, state=state, limit=_check_limit(limit))

    def decide_approval(self, identity: Identity, id: str, *, granted: bool, reason: str = "") -> Approval:  # noqa: A002 - its name in the API
        """Grant or deny an approval; a decision can be changed until the query is answered."""
        require(identity, Permission.APPROVE)
        return self._approvals.decide(id, granted=granted, reason=reason, by=identity.name)

    def cancel(self, identity: Identity, id: str) -> Answer:  # noqa: A002 - its name in the API
        """Interrupt a query of this analyst, in whichever process it runs; its cost stays spent.

        Returns its state, which changes soon. A query that has ended stays as it is.
        """
        require(identity, Permission.ASK)
        reservation = self._find_reservation(identity, id)
        if reservation.state == "reserved":
            cancel(self.ledger, reservation.id, by=identity.name)
        return self._make_answer(reservation)

    def answer(self, identity: Identity, id: str) -> Answer:  # noqa: A002 - its name in the API
        """Return an answer of this analyst with its release; raise ``NotFoundError`` if there is none."""
        require(identity, Permission.READ_ANSWERS)
        return self._make_answer(self._find_reservation(identity, id))

    def _find_reservation(self, identity: Identity, id: str) -> "Reservation":  # noqa: A002 - its name in the API
        reservation = self.ledger.reservation(id)
        if reservation is None or reservation.analyst != identity.name:
            raise NotFoundError("guard.no_answer", name=id)
        return reservation

    def answers(self, identity: Identity, limit: int = 100) -> tuple[Answer, ...]:
        """Return the answers of this analyst without their releases, latest first."""
        require(identity, Permission.READ_ANSWERS)
        found = self.ledger.reservations(analyst=identity.name, limit=_check_limit(limit))
        return tuple(self._make_answer(reservation, whole=False) for reservation in reversed(found))

    def save_question(self, identity: Identity, id: str, name: str) -> None:  # noqa: A002 - its name in the API
        """Save the question of an answer of this analyst under a name."""
        require(identity, Permission.READ_ANSWERS)
        saved.save(self.ledger, identity.name, name, self._find_reservation(identity, id).id)

    def forget_question(self, identity: Identity, name: str) -> None:
        """Remove a saved question; its answers stay."""
        require(identity, Permission.READ_ANSWERS)
        saved.forget(self.ledger, identity.name, name)

    def saved_questions(self, identity: Identity) -> tuple[tuple[str, Answer], ...]:
        """Return the saved questions of this analyst by name, each with its latest answer. Spends nothing."""
        require(identity, Permission.READ_ANSWERS)
        found = saved.find_latest(self.ledger, identity.name)
        return tuple((name, self._make_answer(self._find_reservation(identity, id))) for name, id in found)  # noqa: A001 - its name in the API

    def _make_answer(self, reservation: "Reservation", *, whole: bool = True) -> Answer:
        since = now() - dt.timedelta(seconds=self.config.limits.patience_seconds)
        return make_answer(reservation, self.ledger, whole=whole, since=since)

    # --------------------------------------------------------------------------------------------------- budgets

    def budget(
        self, identity: Identity, *, dataset: str | None = None, analyst: str | None = None
    ) -> "tuple[StatementLine, ...]":
        """Return the budgets that apply to a data set and an analyst; analysts see only those that apply to them."""
        require(identity, Permission.READ_BUDGETS, Permission.READ_OWN_BUDGET)
        shared = {one.name for one in self.catalogue.all() if one.is_shared_with(identity)}
        if dataset is not None and dataset not in shared:
            raise NotFoundError("guard.no_dataset", name=dataset)
        if identity.may(Permission.READ_BUDGETS):
            return self.ledger.statement(dataset, analyst)
        if analyst not in (None, identity.name):
            raise NotFoundError("guard.no_user", name=analyst)
        lines = self.ledger.statement(dataset, identity.name)
        # By kind, the spending of a data set would say what the other analysts do.
        return tuple(
            line if line.scope.analyst is not None else replace(line, kinds=None)
            for line in lines
            if line.scope.dataset in {None, *shared}
        )

    def set_budget(
        self,
        identity: Identity,
        policy: "Guarantee | Policy",
        *,
        dataset: str | None = None,
        analyst: str | None = None,
        rules: Mapping[str, str | None] | None = None,
    ) -> None:
        """Set the budget of a data set, of an analyst, or of an analyst on a data set.

        ``rules`` are changes to the rules of the present budget, where 0 and None remove a rule; without them the
        policy is taken as it is.
        """
        from celosia.ledger.budgets.scope import Scope

        require(identity, Permission.SET_BUDGETS)
        if analyst is not None:
            self._check_analyst(analyst)
        concerned = self.catalogue.all() if dataset is None else (self._find_visible(identity, dataset),)
        scoped = scope_policy(policy, concerned)
        if rules is not None:
            present = self.ledger.budgets.get(Scope(dataset=dataset, analyst=analyst))
            scoped = change_rules(scoped, present, rules)
        self.ledger.set_budget(scoped, dataset=dataset, analyst=analyst, by=identity.name)

    # ----------------------------------------------------------------------------------------------------- users

    def users(self, identity: Identity) -> tuple[UserCard, ...]:
        """Return all users with their keys, without secrets."""
        require(identity, Permission.MANAGE_USERS)
        return self._directory.users()

    def add_user(self, identity: Identity, name: str, role: str | Role, expires: dt.datetime | None = None) -> str:
        """Add a user and return the key, which cannot be shown again."""
        require(identity, Permission.MANAGE_USERS)
        return self._directory.add(name, role, by=identity.name, expires=expires)

    def add_key(self, identity: Identity, name: str, expires: dt.datetime | None = None) -> str:
        """Add a key to a user and return it; earlier keys stay valid until they are revoked."""
        require(identity, Permission.MANAGE_USERS)
        return self._directory.add_key(name, by=identity.name, expires=expires)

    def revoke(self, identity: Identity, name: str) -> tuple[str, ...]:
        """Revoke all keys of a user, or one key by its id; return the ids of the revoked keys."""
        require(identity, Permission.MANAGE_USERS)
        return self._directory.revoke(name, by=identity.name)

    # ------------------------------------------------------------------------------------------------------- log

    def log(
        self,
        identity: Identity,
        after: int = 0,
        limit: int = 100,
        *,
        before: int | None = None,
        wanted: LogFilter | None = None,
        language: str = "en",
    ) -> "tuple[LogLine, ...]":
        """Return the wanted lines that follow the line ``after``; with ``before`` those below it, latest first.

        A wanted text is in a line or in its sentence in the ``language``.
        """
        require(identity, Permission.READ_LOG)
        pages = find_pages(
            self.ledger,
            wanted or LogFilter(),
            after=exact_integer(after, name="after", least=0),
            before=None if before is None else exact_integer(before, name="before", least=0),
            limit=_check_limit(limit),
            language=language,
        )
        return tuple(chain.from_iterable(pages))

    def export_log(
        self, identity: Identity, form: str, *, after: int = 0, wanted: LogFilter | None = None, language: str = "en"
    ) -> "Iterator[str]":
        """Return the pieces of the wanted lines after a line, as ``csv`` with sentences or as ``jsonl``."""
        require(identity, Permission.READ_LOG)
        return export_lines(self.ledger, wanted or LogFilter(), form, after=after, language=language)

    def verify(self, identity: Identity, head: str | None = None) -> "Verification":
        """Check that the log is intact, contains a ``head`` kept elsewhere, and agrees with the tables."""
        require(identity, Permission.READ_LOG)
        found = self.ledger.verify(head)
        if not found.ok:
            return found
        with self.ledger.store.reading() as connection:
            problem = find_tampering(connection)
        return found if problem is None else replace(found, ok=False, problem=problem)


def _find_known(connection: "Connection", analyst: str, request: "Request") -> "Reservation | None":
    """Return the reservation of a request that was sent before, or None."""
    from celosia.ledger.reservations.records import find_request

    known = find_request(connection, analyst, request.key)
    if known is None:
        return None
    if known[0].digest != request.digest:
        raise RequestConflictError("guard.idempotency_key_reused", key=safe_repr(request.key))
    return known[1].reservation


def _check_visible(identity: Identity, name: str, found: Dataset | None) -> Dataset:
    if found is None or not found.is_visible_to(identity):
        raise NotFoundError("guard.no_dataset", name=name)
    return found


def _check_key(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY_LENGTH or not (key.isascii() and key.isprintable()):
        raise ParameterError("guard.invalid_idempotency_key", most=_MAX_KEY_LENGTH)
    return key


def _check_limit(limit: object) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= _MAX_LINES:
        raise ParameterError("guard.limit_out_of_range", most=_MAX_LINES, limit=safe_repr(limit))
    return limit
