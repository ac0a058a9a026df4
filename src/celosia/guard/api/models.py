"""Types of the request bodies, from which the OpenAPI document is made.

A body has no unknown field and no value of another type. Numbers are strings or JSON numbers, kept as they were written
(see ``celosia.core.strict_json``). The bounds of a query are those of ``QueryRequest``, which checks them once for
every way in; the document shows the same constants.
"""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from celosia.core.errors import ParameterError
from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from celosia.guard.queries.requests import (
    MAX_ERRORS,
    MAX_FEATURES,
    MAX_NAME_LENGTH,
    MAX_NUMBER_LENGTH,
    MAX_SQL_LENGTH,
    FitRequest,
    QueryRequest,
)
from celosia.ledger.budgets.policy import RULES, Policy, Window


def _as_text(value: object) -> object:
    # A decimal is a string already, the one that was sent.
    return str(value) if isinstance(value, int | str) and not isinstance(value, bool) else value


def _string_schema(max_length: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": max_length}


_NUMBER_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "number"},
        _string_schema(MAX_NUMBER_LENGTH) | {"examples": ["0.1", "1e-6", "1/3"]},
    ],
    "description": "A number, or its text; read exactly as it is written.",
}
_ERRORS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": _NUMBER_SCHEMA,
    "propertyNames": _string_schema(MAX_NAME_LENGTH),
    "minProperties": 1,
    "maxProperties": MAX_ERRORS,
}
NumberText = Annotated[str, BeforeValidator(_as_text), WithJsonSchema(_NUMBER_SCHEMA)]
BoundedNumberText = Annotated[NumberText, Field(min_length=1, max_length=MAX_NUMBER_LENGTH)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH, pattern=r"^[^\u0000]+$")]


class _Incoming(BaseModel):
    """A request body: strict types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class AskBody(_Incoming):
    """A query: its data set, its SQL or plan, and its cost or error."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["sql"]}, {"required": ["plan"]}],
            "examples": [{"dataset": "deaths", "sql": "SELECT COUNT(*) FROM deaths", "epsilon": "0.1"}],
        }
    )

    dataset: Annotated[str, WithJsonSchema(_string_schema(MAX_NAME_LENGTH))]
    sql: Annotated[str, WithJsonSchema(_string_schema(MAX_SQL_LENGTH))] | None = None
    plan: dict[str, Any] | None = None
    epsilon: NumberText | None = None
    delta: NumberText | None = None
    rho: NumberText | None = None
    error: NumberText | Annotated[dict[str, NumberText], WithJsonSchema(_ERRORS_SCHEMA)] | None = None
    confidence: NumberText | None = None
    rows: NumberText | None = None
    level: NumberText | None = None

    def request(self) -> QueryRequest:
        """Return the request of the guard, which checks lengths and characters."""
        return QueryRequest(**{name: getattr(self, name) for name in self.model_fields_set})


class FitBody(_Incoming):
    """A model to fit: an estimator of ``celosia.learn`` with its parameters, and columns and rows of a data set."""

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

    dataset: Annotated[str, WithJsonSchema(_string_schema(MAX_NAME_LENGTH))]
    model: Annotated[str, WithJsonSchema(_string_schema(MAX_NAME_LENGTH))]
    parameters: Annotated[
        dict[str, Any],
        Field(description="The privacy target (epsilon, delta or rho) and the estimator's own; decimals may be texts."),
    ]
    features: Annotated[
        list[Annotated[str, WithJsonSchema(_string_schema(MAX_NAME_LENGTH))]],
        Field(json_schema_extra={"minItems": 1, "maxItems": MAX_FEATURES}),
    ]
    target: Annotated[str, WithJsonSchema(_string_schema(MAX_NAME_LENGTH))] | None = None
    table: Annotated[str, WithJsonSchema(_string_schema(MAX_NAME_LENGTH))] | None = None
    where: Annotated[str, WithJsonSchema(_string_schema(MAX_SQL_LENGTH))] | None = None

    def request(self) -> FitRequest:
        """Return the request of the guard, which checks lengths and characters."""
        return FitRequest(**{name: getattr(self, name) for name in self.model_fields_set})


class LimitBody(_Incoming):
    """A limit: epsilon (with a delta or without), rho or mu."""

    epsilon: BoundedNumberText | None = None
    delta: BoundedNumberText | None = None
    rho: BoundedNumberText | None = None
    mu: BoundedNumberText | None = None

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

    def window(self) -> Window:
        """Return the window."""
        return Window(seconds=self.seconds, limit=self.guarantee())


class PolicyBody(LimitBody):
    """A budget for a data set, an analyst, or an analyst on a data set."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["dataset"]}, {"required": ["analyst"]}]})

    dataset: Name | None = None
    analyst: Name | None = None
    accountant: Literal["basic", "combined", "gdp", "pure", "renyi", "zcdp"] | None = None
    window: WindowBody | None = None
    allow_real: bool = False
    least_cost: BoundedNumberText | None = None
    analyst_share: BoundedNumberText | None = None
    approval_above: BoundedNumberText | None = None

    def policy(self) -> Policy:
        """Return the policy."""
        window = None if self.window is None else self.window.window()
        rules: dict[str, Any] = {name: getattr(self, name) for name in RULES}
        return Policy(
            limit=self.guarantee(), accountant=self.accountant, window=window, allow_real=self.allow_real, **rules
        )


class DecisionBody(_Incoming):
    """A decision about an approval, and its reason."""

    granted: bool
    reason: Annotated[str, Field(max_length=1_000, pattern=r"^[^\u0000]*$")] = ""


class BoundsBody(_Incoming):
    """New bounds of a column."""

    low: BoundedNumberText
    high: BoundedNumberText


class DatasetBody(_Incoming):
    """A change of a data set; what is left out stays."""

    schema_: Annotated[str | None, Field(alias="schema", min_length=1, max_length=1_000_000)] = None
    title: Annotated[str, Field(max_length=10_000)] | None = None
    retired: bool | None = None


class NewUserBody(_Incoming):
    """A new user, whose first key is valid for ``days``."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._@+-]{0,63}$")]
    role: Literal["owner", "curator", "analyst", "auditor"]
    days: Annotated[int, Field(ge=1, le=3660)] | None = None


class KeyBody(_Incoming):
    """A new key, valid for ``days``."""

    days: Annotated[int, Field(ge=1, le=3660)] | None = None

    def expires(self, at: dt.datetime) -> dt.datetime | None:
        """Return the expiry of a key that is created ``at`` this time."""
        return None if self.days is None else at + dt.timedelta(days=self.days)
