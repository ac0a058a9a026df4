"""State that the sessions of several analysts share: tables, engine, noise source and a secret.

Checks and copies that depend on the rows of files and frames are made when the session opens (``preparation``), so that
no query fails or slows down because of one row. Files that change afterwards need a new session.

The secret selects the rows that count for a person with too many. It is drawn once, so that a repeated query reads the
same rows for every analyst.
"""

import functools
import sys
import threading
from typing import TYPE_CHECKING, Final, Literal

from celosia.core.errors import EngineError, ParameterError
from celosia.core.exact import exact_text
from celosia.data.sources.classify import IbisSource
from celosia.query.engines.ibis import OPEN_FAILED, hide_driver_errors
from celosia.query.engines.registry import open_engine
from celosia.query.engines.sanitize.preparation import PreparedTables
from celosia.query.progress import Bar
from celosia.query.serial.fingerprint import content_digest, data_version, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celosia.core import Event, Guarantee, Source
    from celosia.data.table import Table
    from celosia.query.engines.base import Engine
    from celosia.query.plan.nodes import Plan

_MAX_CHECKED_PLANS: Final = 1_000


class SessionContext:
    """Prepared tables, and an engine that opens with the first query."""

    def __init__(
        self,
        tables: "Mapping[str, Table]",
        source: "Source",
        *,
        engine: "Engine | None" = None,
        version: str | None = None,
        progress: "Callable[[float], None] | Literal[False] | None" = None,
        time_limit: float | None = None,
    ) -> None:
        self.tables = dict(tables)
        self.source = source
        self.secret = tuple(int(word) for word in source.words(4))
        self.engine = engine
        self.time_limit = time_limit
        self.reading = threading.Lock()
        self._given = engine is not None
        self._version = None if version is None else exact_text(version, name="version")
        self._progress = Bar() if progress is None and sys.stderr.isatty() else progress or None
        self._contents: dict[str, str] | None = None
        self._check_plan = functools.lru_cache(_MAX_CHECKED_PLANS)(_check_plan)
        self._lock = threading.RLock()
        states = [(table, data_version(table)) for table in self.tables.values()]
        self._file_states = [(table, state) for table, state in states if state is not None]
        self._prepared = hide_driver_errors(PreparedTables, OPEN_FAILED)(self.tables)

    def duplicate(self) -> "SessionContext":
        """Return the same state, with the same prepared tables, and an engine of its own."""
        if self._given or any(isinstance(table.source, IbisSource) for table in self.tables.values()):
            raise ParameterError("query.engine_not_duplicated")
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"engine": None, "reading": threading.Lock(), "_lock": threading.RLock()}
        other._check_plan = functools.lru_cache(_MAX_CHECKED_PLANS)(_check_plan)
        return other

    def is_current(self) -> bool:
        """Return whether the files are unchanged since the session opened."""
        return all(data_version(table) == state for table, state in self._file_states)

    def check(self, plan: "Plan") -> "Engine":
        """Return the engine after it has checked that it can run a plan, by the types of columns alone."""
        if not self.is_current():
            raise EngineError("query.files_changed_since_opening")
        with self._lock:
            if self.engine is None:
                self.engine = open_engine(self._prepared.tables, progress=self._progress)
                self.engine.time_limit = self.time_limit
            engine = self.engine
        self._check_plan(engine, plan)
        return engine

    def fingerprint(self, plan: "Plan", event: "Event", guarantee: "Guarantee", model: str | None = None) -> str | None:
        """Return the fingerprint of a query or fit, or None where every one counts as new."""
        with self._lock:
            if self._contents is None:
                public = {name: content_digest(table) for name, table in self.tables.items() if table.public}
                files = {table.name: state for table, state in self._file_states if not table.public}
                self._contents = files | {name: digest for name, digest in public.items() if digest is not None}
        return fingerprint(
            plan, self.tables, event, guarantee, version=self._version, contents=self._contents, model=model
        )

    def close(self) -> None:
        """Close files and connections; the next query opens them again."""
        with self._lock:
            engine, self.engine = self.engine, None
        self._check_plan.cache_clear()
        if engine is not None:
            engine.close()


def _check_plan(engine: "Engine", plan: "Plan") -> None:
    engine.check(plan)
