"""The shapes of what clients send, strictly: the API's OpenAPI document is made from them.

No field that is not known, no type that is not said; numbers are texts or JSON numbers, which are read as they were
written (see ``strict_json``). A shape only says what is a question or a budget; whether it makes sense is the guard's
to say.
"""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from celosia.core.errors import ParameterError
from celosia.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from celosia.guard.queries.requests import QueryRequest
from celosia.ledger.budgets.policy import Policy, Window

_LONGEST_NUMBER = 400
_LONGEST_NAME = 200


def _as_text(value: object) -> object:
    # A number with a point is a text already, the one that was sent.
    return str(value) if isinstance(value, int | str) and not isinstance(value, bool) else value


_NUMBER_SCHEMA = {
    "anyOf": [
        {"type": "number"},
        {"type": "string", "minLength": 1, "maxLength": _LONGEST_NUMBER, "examples": ["0.1", "1e-6", "1/3"]},
    ],
    "description": "A number, or its text; read exactly as it is written.",
}
Exactly = Annotated[
    str, Field(min_length=1, max_length=_LONGEST_NUMBER), BeforeValidator(_as_text), WithJsonSchema(_NUMBER_SCHEMA)
]
Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME, pattern=r"^[^\u0000]+$")]


class _Incoming(BaseModel):
    """What comes in: nothing but what is known, of the types that are said."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class AskBody(_Incoming):
    """A question: what is asked, of which data set, and what it may cost or how far off it may be."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["sql"]}, {"required": ["plan"]}],
            "examples": [{"dataset": "deaths", "sql": "SELECT COUNT(*) FROM deaths", "epsilon": "0.1"}],
        }
    )

    dataset: Name
    sql: Annotated[str, Field(min_length=1, max_length=50_000)] | None = None
    plan: dict[str, Any] | None = None
    epsilon: Exactly | None = None
    delta: Exactly | None = None
    rho: Exactly | None = None
    error: Exactly | Annotated[dict[Name, Exactly], Field(min_length=1, max_length=1000)] | None = None
    confidence: Exactly | None = None
    rows: Exactly | None = None
    level: Exactly | None = None

    def ask(self) -> QueryRequest:
        """Return the question as the guard takes it."""
        return QueryRequest(**{name: getattr(self, name) for name in self.model_fields_set})


class LimitBody(_Incoming):
    """A limit: epsilon (with a delta or without), rho or mu."""

    epsilon: Exactly | None = None
    delta: Exactly | None = None
    rho: Exactly | None = None
    mu: Exactly | None = None

    def guarantee(self) -> Guarantee:
        """Return the guarantee that is meant."""
        match (self.epsilon, self.delta, self.rho, self.mu):
            case (str(epsilon), None, None, None):
                return PureDP(epsilon=epsilon)
            case (str(epsilon), str(delta), None, None):
                return ApproxDP(epsilon=epsilon, delta=delta)
            case (None, None, str(rho), None):
                return ZCDP(rho=rho)
            case (None, None, None, str(mu)):
                return GaussianDP(mu=mu)
        raise ParameterError("A limit is epsilon, epsilon and delta, rho or mu: give one of these.")


class WindowBody(LimitBody):
    """A limit for every stretch of time."""

    seconds: Annotated[int, Field(ge=1)]

    def window(self) -> Window:
        """Return the window that is meant."""
        return Window(seconds=self.seconds, limit=self.guarantee())


class PolicyBody(LimitBody):
    """A budget to be set: for a data set, an analyst, or an analyst on a data set."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["dataset"]}, {"required": ["analyst"]}]})

    dataset: Name | None = None
    analyst: Name | None = None
    accountant: Literal["basic", "combined", "gdp", "pure", "renyi", "zcdp"] | None = None
    window: WindowBody | None = None
    allow_real: bool = False

    def policy(self) -> Policy:
        """Return the policy that is meant."""
        window = None if self.window is None else self.window.window()
        return Policy(limit=self.guarantee(), accountant=self.accountant, window=window, allow_real=self.allow_real)


class BoundsBody(_Incoming):
    """New bounds of a column."""

    low: Exactly
    high: Exactly


class NewUserBody(_Incoming):
    """A user to be added, whose first key lasts so many days."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._@+-]{0,63}$")]
    role: Literal["owner", "curator", "analyst", "auditor"]
    days: Annotated[int, Field(ge=1, le=3660)] | None = None


class KeyBody(_Incoming):
    """A key to be added, which lasts so many days."""

    days: Annotated[int, Field(ge=1, le=3660)] | None = None

    def expires(self, at: dt.datetime) -> dt.datetime | None:
        """Return when a key that is given now ends."""
        return None if self.days is None else at + dt.timedelta(days=self.days)
