"""The guard itself, without HTTP: who may do what, in which order, and what comes back.

Every way in (the API, the pages, the command line) calls these methods and nothing below them, so a permission is
checked in one place. The order of a question is that of a session: understand, reserve durably, read, add noise, store
the answer, reply; a request that was seen before gets the stored reply, whatever has changed since. A ``Guard`` may be
used by many threads, and is opened by each process for itself.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from celosia.core.errors import EngineError, NotAllowedError, ParameterError, RequestConflictError
from celosia.core.exact import safe_repr
from celosia.guard.addresses import expanded, hidden
from celosia.guard.auth.directory import INVALID, Directory, UserCard, now
from celosia.guard.auth.identity import OIDC_PREFIX, Identity
from celosia.guard.auth.web_sessions import WebSessions
from celosia.guard.config.settings import Config
from celosia.guard.datasets.cards import DatasetCard
from celosia.guard.datasets.catalogue import Catalogue
from celosia.guard.datasets.dataset import Dataset, PublicTable
from celosia.guard.datasets.policies import scoped_policy
from celosia.guard.errors import NotFoundError
from celosia.guard.queries.analysis import Sessions
from celosia.guard.queries.answers import answer_of
from celosia.guard.queries.pace import Pace
from celosia.guard.queries.requests import Answer, QueryRequest
from celosia.guard.roles import Permission, Role, require
from celosia.guard.storage.tables import create_tables
from celosia.guard.storage.tampering import find_tampering

if TYPE_CHECKING:
    from celosia.core import Guarantee
    from celosia.ledger import Ledger, Line, LogLine, Policy, Reservation, Verification
    from celosia.query import Preview

_LONGEST_KEY: Final = 200
_MOST_LINES: Final = 10_000
_LONGEST_TOKEN: Final = 16_384


class Guard:
    """All that a guard does. Made by ``Guard.open``, in the process that uses it.

    >>> with Guard.open(Config(store="memory://")) as guard:
    ...     key = guard.add_user(Identity.local(), "ana", "analyst")
    ...     guard.authenticate(key).role.value
    'analyst'
    """

    def __init__(self, config: Config, ledger: "Ledger") -> None:
        create_tables(ledger)
        self.config, self.ledger = config, ledger
        pace = Pace(milliseconds=config.slot_milliseconds)
        self.catalogue, self._directory = Catalogue(ledger), Directory(ledger)
        self._visits, self._sessions = (
            WebSessions(ledger, self._directory),
            Sessions(ledger, pace, confirm=self.catalogue.confirm),
        )
        self._tokens = None
        if config.oidc is not None:
            from celosia.guard.auth.oidc import TokenChecker

            self._tokens = TokenChecker(config.oidc)

    @classmethod
    def open(cls, config: Config, *, create: bool = True) -> "Guard":
        """Open the store that a configuration names, and make its tables if it is new.

        Without ``create`` it must be there: a store that is new has forgotten all that was spent.
        """
        from celosia.ledger import open_ledger

        guard = cls(config, open_ledger(expanded(config.store, name="store"), create=create))
        if not create and not config.store.startswith("memory:") and not guard._directory.users():
            guard.close()
            raise ParameterError(
                f"The store {hidden(config.store)} has no users: it is not the one that was set up. Look at store in "
                "the configuration; celosia guard init makes a new one."
            )
        return guard

    def open_datasets(self) -> None:
        """Open all data sets that have a budget: their rows are checked now, and not when the first question comes."""
        self._sessions.open_all(self.catalogue.all())

    def close(self) -> None:
        """Let go of files and connections."""
        self._sessions.close()
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def health(self) -> dict[str, str]:
        """Tell that the store answers; ``LedgerError`` if it does not. Nothing else is told to whoever comes by."""
        _ = self.ledger.head
        return {"status": "ok"}

    # ------------------------------------------------------------------------------------------------- who it is

    def authenticate(self, token: str) -> Identity:
        """Return whose key or bearer token it is, or raise ``NotAllowedError``."""
        given: object = token
        if not isinstance(given, str) or len(given) > _LONGEST_TOKEN:
            raise NotAllowedError(INVALID)
        if self._tokens is not None and token.count(".") == 2 and not token.startswith("celosia_"):
            return self._tokens.check(token)
        return self._directory.check(token)

    def sign_in(self, token: str, *, hours: int = 12) -> tuple[str, Identity]:
        """Check a key or token and open a visit to the pages; its secret of 64 hexadecimal digits is not kept."""
        identity = self.authenticate(token)
        return self._visits.open(identity, hours=hours), identity

    def signed_in(self, secret: str) -> Identity:
        """Return whose visit it is, as long as it lasts and its key is valid; ``NotAllowedError`` otherwise."""
        return self._visits.visitor(secret)

    def sign_out(self, secret: str) -> None:
        """End a visit; one that is not there is no matter."""
        self._visits.end(secret)

    # ------------------------------------------------------------------------------------------------- data sets

    def datasets(self, identity: Identity) -> tuple[DatasetCard, ...]:
        """Return the data sets that somebody may see, by name."""
        require(identity, Permission.READ_SCHEMAS)
        return tuple(dataset.card() for dataset in self.catalogue.all() if dataset.visible_to(identity))

    def dataset(self, identity: Identity, name: str) -> DatasetCard:
        """Return one data set; ``NotFoundError`` if there is none that somebody may see."""
        require(identity, Permission.READ_SCHEMAS)
        return self._visible(identity, name).card()

    def add_dataset(  # noqa: PLR0913 - all that has to be said of a data set, by name
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
        """Add a data set: ``schema`` is the text of a schema file, ``table`` the table of a database."""
        require(identity, Permission.ADD_DATASETS)
        allowed = None if analysts is None else tuple(analysts)
        for analyst in allowed or ():
            self._check_analyst(analyst)
        given = Dataset(
            name=name,
            source=source,
            schema=schema,
            title=title,
            relation=table,
            public=tuple(public),
            analysts=allowed,
        )
        return self.catalogue.add(given, by=identity.name).card()

    def share_dataset(self, identity: Identity, dataset: str, analysts: Sequence[str] | None) -> DatasetCard:
        """Say which analysts may see a data set; None for all."""
        require(identity, Permission.ADD_DATASETS)
        for analyst in analysts or ():
            self._check_analyst(analyst)
        return self.catalogue.share(dataset, analysts, by=identity.name).card()

    def set_schema(self, identity: Identity, dataset: str, schema: str) -> DatasetCard:
        """Give a data set another schema, that protects the same."""
        require(identity, Permission.SET_SCHEMAS)
        return self.catalogue.set_schema(dataset, schema, by=identity.name).card()

    def set_bounds(self, identity: Identity, dataset: str, column: str, low: object, high: object) -> DatasetCard:
        """Give a column other bounds: numbers, or texts of numbers, dates and times."""
        require(identity, Permission.SET_SCHEMAS)
        return self.catalogue.set_bounds(dataset, column, low, high, by=identity.name).card()

    def new_version(self, identity: Identity, dataset: str) -> DatasetCard:
        """Declare that the rows have changed, so that answers from before are not given again."""
        require(identity, Permission.SET_VERSIONS)
        return self.catalogue.new_version(dataset, by=identity.name).card()

    def _visible(self, identity: Identity, name: str) -> Dataset:
        return _seen(identity, name, self.catalogue.find(name))

    def _check_analyst(self, name: str) -> None:
        if not name.startswith(OIDC_PREFIX) and not self._directory.exists(name):
            raise NotFoundError(kind="user", name=name)

    # ------------------------------------------------------------------------------------------------- questions

    def preview(self, identity: Identity, ask: QueryRequest) -> "Preview":
        """Tell what a question would cost and how far off its answer would be. Nothing is spent or read."""
        require(identity, Permission.PREVIEW)
        dataset = self._visible(identity, ask.dataset)
        session = self._sessions.session(dataset)
        plan = self._sessions.plan(ask, dataset, session, self.config.limits)
        target = ask.target() | ({} if ask.level is None else {"level": ask.level})
        return session.for_analyst(identity.name).preview(plan, **target)

    def ask(self, identity: Identity, ask: QueryRequest, key: str) -> Answer:
        """Answer a question, or give the stored reply if the request was seen before.

        The ``key`` is drawn by whoever asks, for one request and its retries. ``reserved`` says that the same request
        is on its way elsewhere: look again with ``answer``.
        """
        from celosia.ledger import Request
        from celosia.ledger.budgets.scope import Scope
        from celosia.ledger.reservations.records import find_request

        require(identity, Permission.ASK)
        request = Request(key=_checked_key(key), digest=ask.digest)
        with self.ledger.book.reading() as page:  # one look at the store for all that is needed
            known = find_request(page.connection, identity.name, request.key)
            found = self.catalogue.find(ask.dataset, connection=page.connection) if known is None else None
            policy = page.state.policies.get(Scope(dataset=ask.dataset))
        if known is not None:
            if known[0].digest != request.digest:
                raise RequestConflictError(
                    f"The idempotency key {safe_repr(key)} was used before for another request: draw a new one."
                )
            return self._told(known[1].reservation)
        dataset = _seen(identity, ask.dataset, found)
        session = self._sessions.session(dataset, policy)
        plan = self._sessions.plan(ask, dataset, session, self.config.limits)
        try:
            asked = session.for_analyst(identity.name).ask(plan, request=request, **ask.target())
        except EngineError:
            self._sessions.forget(ask.dataset)
            raise
        return self._told(asked.reservation)

    def answer(self, identity: Identity, id: str) -> Answer:  # noqa: A002 - what it is called everywhere
        """Return an own answer with its release; ``NotFoundError`` if there is none of this number."""
        require(identity, Permission.READ_ANSWERS)
        reservation = self.ledger.reservation(id)
        if reservation is None or reservation.analyst != identity.name:
            raise NotFoundError(kind="answer", name=id)
        return self._told(reservation)

    def answers(self, identity: Identity, limit: int = 100) -> tuple[Answer, ...]:
        """Return the own answers without their releases, the latest first."""
        require(identity, Permission.READ_ANSWERS)
        found = self.ledger.reservations(analyst=identity.name, limit=_checked_limit(limit))
        return tuple(self._told(reservation, whole=False) for reservation in reversed(found))

    def _told(self, reservation: "Reservation", *, whole: bool = True) -> Answer:
        since = now() - dt.timedelta(seconds=self.config.limits.patience_seconds)
        return answer_of(reservation, self.ledger, whole=whole, since=since)

    # --------------------------------------------------------------------------------------------------- budgets

    def budget(
        self, identity: Identity, *, dataset: str | None = None, analyst: str | None = None
    ) -> "tuple[Line, ...]":
        """Return the budgets that bear on a data set and an analyst; an analyst sees those that bear on the own."""
        require(identity, Permission.READ_BUDGETS, Permission.READ_OWN_BUDGET)
        if dataset is not None:
            self._visible(identity, dataset)
        if identity.may(Permission.READ_BUDGETS):
            return self.ledger.statement(dataset, analyst)
        if analyst not in (None, identity.name):
            raise NotFoundError(kind="user", name=analyst)
        unseen = {one.name for one in self.catalogue.all() if not one.visible_to(identity)}
        lines = self.ledger.statement(dataset, identity.name)
        return tuple(line for line in lines if line.scope.dataset not in unseen)

    def set_budget(
        self,
        identity: Identity,
        policy: "Guarantee | Policy",
        *,
        dataset: str | None = None,
        analyst: str | None = None,
    ) -> None:
        """Say what may be spent on a data set, by an analyst, or by an analyst on a data set."""
        require(identity, Permission.SET_BUDGETS)
        if analyst is not None:
            self._check_analyst(analyst)
        concerned = self.catalogue.all() if dataset is None else (self._visible(identity, dataset),)
        scoped = scoped_policy(policy, concerned)
        self.ledger.set_budget(scoped, dataset=dataset, analyst=analyst, by=identity.name)

    # ----------------------------------------------------------------------------------------------------- users

    def users(self, identity: Identity) -> tuple[UserCard, ...]:
        """Return all users with their keys, without anything by which one could sign in."""
        require(identity, Permission.MANAGE_USERS)
        return self._directory.users()

    def add_user(self, identity: Identity, name: str, role: str | Role, expires: dt.datetime | None = None) -> str:
        """Add a user and return the key, which is shown this once."""
        require(identity, Permission.MANAGE_USERS)
        return self._directory.add(name, role, by=identity.name, expires=expires)

    def add_key(self, identity: Identity, name: str, expires: dt.datetime | None = None) -> str:
        """Give a user one more key, shown this once; those before stay valid until they are revoked."""
        require(identity, Permission.MANAGE_USERS)
        return self._directory.add_key(name, by=identity.name, expires=expires)

    def revoke(self, identity: Identity, name: str) -> tuple[str, ...]:
        """End all keys of a user, or the one with this id; return the ids of those that were ended."""
        require(identity, Permission.MANAGE_USERS)
        return self._directory.revoke(name, by=identity.name)

    # ------------------------------------------------------------------------------------------------------- log

    def log(self, identity: Identity, after: int = 0, limit: int = 100) -> "tuple[LogLine, ...]":
        """Return lines of the log, those that follow the line ``after``."""
        require(identity, Permission.READ_LOG)
        return tuple(self.ledger.entries(after=after, limit=_checked_limit(limit)))

    def verify(self, identity: Identity, head: str | None = None) -> "Verification":
        """Tell whether the log holds together, leads to a ``head`` kept elsewhere, and says what the tables hold."""
        require(identity, Permission.READ_LOG)
        found = self.ledger.verify(head)
        if not found.ok:
            return found
        with self.ledger.store.reading() as connection:
            problem = find_tampering(connection)
        return found if problem is None else replace(found, ok=False, problem=problem)


def _seen(identity: Identity, name: str, found: Dataset | None) -> Dataset:
    if found is None or not found.visible_to(identity):
        raise NotFoundError(kind="data set", name=name)
    return found


def _checked_key(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_KEY or not (key.isascii() and key.isprintable()):
        raise ParameterError(
            f"An idempotency key is 1 to {_LONGEST_KEY} printable ASCII characters, drawn anew for every request."
        )
    return key


def _checked_limit(limit: object) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= _MOST_LINES:
        raise ParameterError(f"limit must be an integer from 1 to {_MOST_LINES}, not {safe_repr(limit)}.")
    return limit
