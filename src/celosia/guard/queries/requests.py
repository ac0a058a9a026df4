"""Query requests and answers of the guard, each with one JSON form.

Numbers stay the strings that were sent, so that ``0.1`` is one tenth. Equal requests have equal digests, by which
retries are recognized. The bounds of a request are checked here once, for the API, the pages and Python callers;
``celosia.query`` interprets the query.
"""

import datetime as dt
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from celosia.core.errors import FormatError
from celosia.core.exact import safe_repr

MAX_NAME_LENGTH: Final = 200
"""Characters of a name."""

MAX_NUMBER_LENGTH: Final = 400
"""Characters of a number."""

MAX_SQL_LENGTH: Final = 50_000
"""Characters of a query in SQL."""

MAX_ERRORS: Final = 1_000
"""Aggregates for which a query names an error."""

MAX_FEATURES: Final = 1_000
"""Features of a model."""

_NUMBERS: Final = ("epsilon", "rho", "delta", "confidence", "rows", "level")
_INVALID_CHARACTERS: Final = re.compile("[\0\ud800-\udfff]")  # no database stores half a surrogate pair


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """A query of a data set, in SQL or as a plan, with its cost or its error.

    Exactly one of ``sql`` and ``plan`` is given. The cost is one of ``epsilon`` (with or without ``delta``), ``rho``
    and ``error``: one number, or one for each aggregate by name, which holds with probability ``confidence``.
    ``rows`` is a public guess of the rows in a cell; ``level`` is the level of the errors in a preview.

    >>> request = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="0.1")
    >>> request.target()
    {'epsilon': '0.1'}
    """

    dataset: str
    sql: str | None = None
    plan: Mapping[str, Any] | None = None
    epsilon: str | None = None
    delta: str | None = None
    rho: str | None = None
    error: str | Mapping[str, str] | None = None
    confidence: str | None = None
    rows: str | None = None
    level: str | None = None

    def __post_init__(self) -> None:
        _check_text(self.dataset, "dataset", MAX_NAME_LENGTH)
        if (self.sql is None) == (self.plan is None):
            raise FormatError("guard.no_single_question")
        if self.sql is not None:
            _check_text(self.sql, "sql", MAX_SQL_LENGTH)
        elif not isinstance(self.plan, Mapping):
            raise FormatError("guard.plan_not_an_object", plan=safe_repr(self.plan))
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None:
                _check_text(value, name, MAX_NUMBER_LENGTH)
        _check_errors(self.error)

    def to_json(self) -> dict[str, Any]:
        """Return the request as a JSON object, without absent fields.

        >>> QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", rho="0.01").to_json()
        {'dataset': 'deaths', 'sql': 'SELECT COUNT(*) FROM deaths', 'rho': '0.01'}
        """
        return {name: value for field in fields(self) if (value := getattr(self, name := field.name)) is not None}

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON, by which a repeated request is recognized."""
        return _digest(self.to_json())

    @property
    def query_digest(self) -> str:
        """The SHA-256 of the query without its cost, the key of its plan.

        >>> paid = QueryRequest(dataset="deaths", sql="SELECT 1", epsilon="1")
        >>> paid.query_digest == QueryRequest(dataset="deaths", sql="SELECT 1").query_digest
        True
        """
        return _digest([self.dataset, self.sql, self.plan])

    def target(self) -> dict[str, Any]:
        """Return the privacy target, as keyword arguments of a session.

        >>> QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", error="50", confidence="0.9").target()
        {'error': '50', 'confidence': '0.9'}
        """
        names = ("epsilon", "delta", "rho", "error", "confidence", "rows")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
    """A model to fit: the name of an estimator, its parameters, and the columns and rows of a table.

    ``parameters`` are those of ``celosia.learn.io.specification``, the privacy target among them; ``where`` is a
    condition in SQL.

    >>> FitRequest(dataset="deaths", model="PCA", parameters={"epsilon": "0.1"}, features=("age", "weight")).target
    """

    dataset: str
    model: str
    parameters: Mapping[str, Any]
    features: Sequence[str]
    target: str | None = None
    table: str | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        features: object = self.features
        if isinstance(features, str) or not isinstance(features, Sequence) or not 0 < len(features) <= MAX_FEATURES:
            raise FormatError("guard.invalid_features", most=MAX_FEATURES, value=safe_repr(features))
        names = (("dataset", self.dataset), ("model", self.model), ("target", self.target), ("table", self.table))
        for name, value in (*names, *(("features", feature) for feature in features)):
            if value is not None or name in ("dataset", "model", "features"):
                _check_text(value, name, MAX_NAME_LENGTH)
        if self.where is not None:
            _check_text(self.where, "where", MAX_SQL_LENGTH)

    def to_json(self) -> dict[str, Any]:
        """Return the request as a JSON object, without absent fields."""
        return {name: value for field in fields(self) if (value := getattr(self, name := field.name)) is not None}

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON, by which a repeated request is recognized."""
        return _digest(self.to_json())


def _digest(value: object) -> str:
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise FormatError("guard.plan_not_json") from None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The state of a query or a fit, and its release.

    ``state`` is ``"committed"`` if there is an answer, ``"reserved"`` while it is computed, and ``"failed"`` if the
    data could not be read or the work was interrupted; all three are paid for. ``release`` is the versioned JSON of
    the release, or of a fitted model, and absent in lists; ``cost`` is the JSON of a guarantee. If ``repeated``, the
    data set did not pay again.

    >>> from datetime import datetime, UTC
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> Answer(id="0f", state="reserved", dataset="deaths", question="SELECT COUNT(*) FROM deaths", at=at).to_json()
    {'id': '0f', 'state': 'reserved', 'dataset': 'deaths', 'question': 'SELECT COUNT(*) FROM deaths',
     'at': '2026-01-01T00:00:00+00:00', 'cost': None, 'release': None, 'repeated': False}
    """

    id: str
    state: str
    dataset: str
    question: str
    at: dt.datetime
    cost: Mapping[str, Any] | None = None
    release: Mapping[str, Any] | None = None
    repeated: bool = False
    text: str | None = field(default=None, repr=False, compare=False)

    @property
    def is_model(self) -> bool:
        """Whether the release is a fitted model."""
        return self.release is not None and "model" in self.release

    def to_text(self) -> str:
        """Return the JSON text; a stored release is inserted unchanged.

        >>> from datetime import datetime, UTC
        >>> answer = Answer(id="0f", state="failed", dataset="d", question="", at=datetime(2026, 1, 1, tzinfo=UTC))
        >>> json.loads(answer.to_text()) == answer.to_json()
        True
        """
        fields_but_release = self.to_json()
        release = fields_but_release.pop("release")
        text = json.dumps(release, separators=(",", ":"), allow_nan=False) if self.text is None else self.text
        return f'{json.dumps(fields_but_release, separators=(",", ":"), allow_nan=False)[:-1]},"release":{text}}}'

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a JSON object.

        >>> from datetime import datetime, UTC
        >>> answer = Answer(id="0f", state="failed", dataset="d", question="", at=datetime(2026, 1, 1, tzinfo=UTC))
        >>> answer.to_json()["state"]
        'failed'
        """
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "text"}
        return plain | {"at": self.at.isoformat()}


def _check_text(value: object, name: str, longest: int) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= longest or _INVALID_CHARACTERS.search(value):
        raise FormatError("guard.invalid_request_text", name=name, most=longest, value=safe_repr(value))


def _check_errors(error: object) -> None:
    if error is None:
        return
    if isinstance(error, str):
        _check_text(error, "error", MAX_NUMBER_LENGTH)
    elif isinstance(error, Mapping) and 0 < len(error) <= MAX_ERRORS:
        for name, value in error.items():
            _check_text(name, "error", MAX_NAME_LENGTH)
            _check_text(value, "error", MAX_NUMBER_LENGTH)
    else:
        raise FormatError("guard.invalid_error_target", value=safe_repr(error))
