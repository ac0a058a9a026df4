"""Shapes of requests: strict types, no unknown field, and numbers as the text that was sent, so 0.1 is one tenth.

The bounds of a query are checked here, for the API, the pages and Python callers; ``celosia.query`` interprets it.
Equal requests have equal digests, by which retries are recognized.
"""

import datetime as dt
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from celosia.core.errors import FormatError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from celosia.core.strict_json import MAX_NUMBER_LENGTH
from celosia.ledger.budgets.policy import RULES, Policy, Window
from celosia.serving.errors import find_problem

ONE_LINE: Final = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
"""The pattern of a text without control characters, such as a title or a reason."""

_MAX_NAME_LENGTH: Final = 200
_MAX_SQL_LENGTH: Final = 50_000
_MAX_ERRORS: Final = 1_000  # aggregates for which a query names an error
_MAX_FEATURES: Final = 1_000
_INVALID_CHARACTERS: Final = re.compile("[\0\ud800-\udfff]")  # no database stores half a surrogate pair

N = TypeVar("N", bound=Sequence[str])
E = TypeVar("E", bound=Mapping[str, str])


def _check_text(longest: int) -> AfterValidator:
    def check(value: str, info: ValidationInfo) -> str:
        if not 0 < len(value) <= longest or _INVALID_CHARACTERS.search(value):
            raise FormatError("guard.invalid_request_text", name=info.field_name, most=longest, value=safe_repr(value))
        return value

    return AfterValidator(check)


def _as_text(value: object) -> object:
    # A decimal is a string already, the one that was sent.
    return str(value) if isinstance(value, int | str) and not isinstance(value, bool) else value


def _check_errors(errors: E) -> E:
    if not 0 < len(errors) <= _MAX_ERRORS:
        raise FormatError("guard.invalid_error_target", value=safe_repr(errors))
    return errors


def _check_features(features: N) -> N:
    if not 0 < len(features) <= _MAX_FEATURES:
        raise FormatError("guard.invalid_features", most=_MAX_FEATURES, value=safe_repr(features))
    return features


def _text_schema(longest: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": longest}


_NUMBER_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [{"type": "number"}, _text_schema(MAX_NUMBER_LENGTH) | {"examples": ["0.1", "1e-6", "1/3"]}],
    "description": "A number, or its text; read exactly as it is written.",
}
_ERRORS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": _NUMBER_SCHEMA,
    "propertyNames": _text_schema(_MAX_NAME_LENGTH),
    "minProperties": 1,
    "maxProperties": _MAX_ERRORS,
}
_Name = Annotated[str, _check_text(_MAX_NAME_LENGTH), WithJsonSchema(_text_schema(_MAX_NAME_LENGTH))]
_Sql = Annotated[str, _check_text(_MAX_SQL_LENGTH), WithJsonSchema(_text_schema(_MAX_SQL_LENGTH))]
_Number = Annotated[str, BeforeValidator(_as_text), _check_text(MAX_NUMBER_LENGTH), WithJsonSchema(_NUMBER_SCHEMA)]
_Errors = Annotated[dict[_Name, _Number], AfterValidator(_check_errors), WithJsonSchema(_ERRORS_SCHEMA)]
_Features = Annotated[
    Sequence[_Name],
    AfterValidator(_check_features),
    Field(json_schema_extra={"minItems": 1, "maxItems": _MAX_FEATURES}),
]
_Days = Annotated[int, Field(ge=1, le=3660)]


class _Body(BaseModel):
    """A request body: strict types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _PaidRequest(_Body):
    """A request that may be paid for: a repeated one has the same digest."""

    dataset: _Name

    if not TYPE_CHECKING:

        def __init__(self, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise find_problem(error.errors(include_url=False)) from None

    def to_json(self) -> dict[str, Any]:
        """Return the request as a JSON object, without absent fields."""
        return {name: value for name, value in self if value is not None}

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON, by which a repeated request is recognized."""
        return _digest(self.to_json())


class QueryRequest(_PaidRequest):
    """A query of a data set, in SQL or as a plan, with its cost or its error.

    Exactly one of ``sql`` and ``plan`` is given. The cost is one of ``epsilon`` (with or without ``delta``), ``rho``
    and ``error``: one number, or one for each aggregate by name, which holds with probability ``confidence``.
    ``rows`` is a public guess of the rows in a cell; ``level`` is the level of the errors in a preview.

    >>> request = QueryRequest(dataset="deaths", sql="SELECT COUNT(*) FROM deaths", epsilon="0.1")
    >>> request.target()
    {'epsilon': '0.1'}
    """

    model_config = ConfigDict(
        json_schema_extra={
            "description": "A query: its data set, its SQL or plan, and its cost or error.",
            "oneOf": [{"required": ["sql"]}, {"required": ["plan"]}],
            "examples": [{"dataset": "deaths", "sql": "SELECT COUNT(*) FROM deaths", "epsilon": "0.1"}],
        }
    )

    sql: _Sql | None = None
    plan: dict[str, Any] | None = None
    epsilon: _Number | None = None
    delta: _Number | None = None
    rho: _Number | None = None
    error: _Number | _Errors | None = None
    confidence: _Number | None = None
    rows: _Number | None = None
    level: _Number | None = None

    @model_validator(mode="after")
    def _check_question(self) -> "QueryRequest":
        if (self.sql is None) == (self.plan is None):
            raise FormatError("guard.no_single_question")
        return self

    @property
    def query_digest(self) -> str:
        """The SHA-256 of the query without its cost, the key of its plan."""
        return _digest([self.dataset, self.sql, self.plan])

    def target(self) -> dict[str, Any]:
        """Return the privacy target, as keyword arguments of a session."""
        names = ("epsilon", "delta", "rho", "error", "confidence", "rows")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class FitRequest(_PaidRequest):
    """A model to fit: an estimator of ``celosia.learn`` with its parameters, and columns and rows of a data set.

    ``where`` is a condition in SQL.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "dataset": "deaths",
                    "model": "GaussianNB",
                    "parameters": {"epsilon": "0.5"},
                    "features": ["age"],
                    "target": "sex",
                    "where": "age >= 18",
                }
            ]
        }
    )

    model: _Name
    parameters: Annotated[
        dict[str, Any],
        Field(description="The privacy target (epsilon, delta or rho) and the estimator's own; decimals may be texts."),
    ]
    features: _Features
    target: _Name | None = None
    table: _Name | None = None
    where: _Sql | None = None


def _digest(value: object) -> str:
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise FormatError("guard.plan_not_json") from None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class LimitBody(_Body):
    """A limit: epsilon (with a delta or without), rho or mu."""

    epsilon: _Number | None = None
    delta: _Number | None = None
    rho: _Number | None = None
    mu: _Number | None = None

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the limit."""
        match (self.epsilon, self.delta, self.rho, self.mu):
            case (str(epsilon), None, None, None):
                return PureDP(epsilon=epsilon)
            case (str(epsilon), str(delta), None, None):
                return ApproxDP(epsilon=epsilon, delta=delta)
            case (None, None, str(rho), None):
                return ZCDP(rho=rho)
            case (None, None, None, str(mu)):
                return GaussianDP(mu=mu)
        raise ParameterError("guard.no_single_limit")


class WindowBody(LimitBody):
    """A limit for a period of time."""

    seconds: Annotated[int, Field(ge=1)]


_Rule = Annotated[
    _Number | None,
    Field(description="A rule of a data set for its analysts. Left out, it stays as it is; 0 or null removes it."),
]


class PolicyBody(LimitBody):
    """A budget for a data set, an analyst, or an analyst on a data set."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["dataset"]}, {"required": ["analyst"]}]})

    dataset: _Name | None = None
    analyst: _Name | None = None
    accountant: Literal["basic", "combined", "gdp", "pure", "renyi", "zcdp"] | None = None
    window: WindowBody | None = None
    allow_real: bool = False
    least_cost: _Rule = None
    analyst_share: _Rule = None
    approval_above: _Rule = None

    def policy(self) -> Policy:
        """Return the policy, without its rules."""
        given = self.window
        window = None if given is None else Window(seconds=given.seconds, limit=given.guarantee())
        return Policy(limit=self.guarantee(), accountant=self.accountant, window=window, allow_real=self.allow_real)

    def rules(self) -> dict[str, str | None]:
        """Return the rules that are given, None for one that is removed."""
        return {name: getattr(self, name) for name in RULES if name in self.model_fields_set}


class DecisionBody(_Body):
    """A decision about an approval, and its reason."""

    granted: bool
    reason: Annotated[str, Field(max_length=1_000, pattern=ONE_LINE)] = ""


class BoundsBody(_Body):
    """New bounds of a column."""

    low: _Number
    high: _Number


class DatasetBody(_Body):
    """A change of a data set; what is left out stays."""

    schema_: Annotated[str | None, Field(alias="schema", min_length=1, max_length=1_000_000)] = None
    title: Annotated[str, Field(max_length=10_000, pattern=ONE_LINE)] | None = None
    retired: bool | None = None


class KeyBody(_Body):
    """A new key, valid for ``days``."""

    days: _Days | None = None

    @property
    def expires(self) -> dt.datetime | None:
        """The expiry of a key that is created now."""
        return None if self.days is None else dt.datetime.now(dt.UTC) + dt.timedelta(days=self.days)


class NewUserBody(KeyBody):
    """A new user, whose first key is valid for ``days``."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._@+-]{0,63}$")]
    role: Literal["owner", "curator", "analyst", "auditor"]
