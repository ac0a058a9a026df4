"""Say the lines of the log as sentences, by code, so that pages, commands and exports say them in any language."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import sqlalchemy as sa

from celosia.core.errors import CelosiaError
from celosia.core.events import Event
from celosia.core.guarantees import Guarantee
from celosia.core.messages.message import Message, join_messages, separate
from celosia.core.messages.numerals import format_guarantee
from celosia.ledger.budgets.policy import RULES
from celosia.ledger.budgets.policy_json import policy_from_json
from celosia.ledger.budgets.scope import Scope
from celosia.ledger.log.chain import canonical_json
from celosia.ledger.reservations.reserving import price_under
from celosia.ledger.store.tables import RESERVATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from celosia.ledger import Ledger, LogLine, Policy

    _Body: TypeAlias = Mapping[str, Any]
    _Policies: TypeAlias = Mapping[Scope, Policy]
    _Say: TypeAlias = Callable[[_Body, _Policies], Message]

_DAY: Final = 86_400
_MAX_LENGTH: Final = 300
_RULES: Final = {
    "least_cost": "guard.rule_least_cost",
    "analyst_share": "guard.rule_analyst_share",
    "approval_above": "guard.rule_approval_above",
}
_CLOSING: Final = ("committed", "failed")
_ROLES: Final = {
    "owner": "guard.role_owner",
    "curator": "guard.role_curator",
    "analyst": "guard.role_analyst",
    "auditor": "guard.role_auditor",
}
_FIELDS: Final = {
    "title": "guard.field_title",
    "source": "guard.field_source",
    "relation": "guard.field_relation",
    "schema": "guard.field_schema",
    "version": "guard.field_version",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidLine:
    """A line with its sentence, the user who acted, and the data set that it is about."""

    line: "LogLine"
    sentence: Message
    user: str = ""
    dataset: str = ""

    def write(self, language: str) -> str:
        """Return the sentence in a language, with costs rounded up and on a line without no-break spaces."""

        def write(guarantee: Guarantee, name: str) -> str:
            return format_guarantee(guarantee, language, rounded="up" if name == "cost" else "down")

        return self.sentence.render(language, format_guarantee=write).replace("\N{NO-BREAK SPACE}", " ")


def say_lines(ledger: "Ledger", lines: "Sequence[LogLine]") -> "list[SaidLine]":
    """Return lines with their sentences; costs are those under the budgets of today."""
    ids = [line.body.get("id") for line in lines if line.kind in _CLOSING]
    columns = (RESERVATIONS.c.id, RESERVATIONS.c.dataset, RESERVATIONS.c.analyst, RESERVATIONS.c.opened)
    with ledger.store.reading() as connection:
        rows = connection.execute(sa.select(*columns).where(RESERVATIONS.c.id.in_(ids))).all() if ids else ()
    asked = {row.id: {"dataset": row.dataset, "analyst": row.analyst, "line": row.opened} for row in rows}
    policies = ledger.budgets
    said = []
    for line in lines:
        body = dict(line.body)
        body |= asked.get(body.get("id"), {}) if line.kind in _CLOSING else {}
        said.append(
            SaidLine(
                line=line,
                sentence=_say(line, body, policies),
                user=_text(body, "by") or _text(body, "analyst"),
                dataset=_text(body, "dataset"),
            )
        )
    return said


def _say(line: "LogLine", body: "_Body", policies: "_Policies") -> Message:
    try:
        if line.kind in _SENTENCES:
            return _SENTENCES[line.kind](body, policies)
    except (CelosiaError, AttributeError, KeyError, TypeError, ValueError):
        pass  # not as this version writes it
    return Message("guard.log_other", kind=line.kind, body=_shorten(canonical_json(line.body)))


def _text(body: "_Body", name: str) -> str:
    value = body.get(name)
    return "" if value is None else _shorten(str(value))


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"


def _plain(code: str, *names: str) -> "_Say":
    """Return how a line is said of which all fields are texts."""
    return lambda body, _: Message(code, **{name: _shorten(str(body[name])) for name in names})


def _say_budget(body: "_Body", _: "_Policies") -> Message:
    policy = policy_from_json(body["policy"])
    scope, window = Scope(dataset=body["dataset"], analyst=body["analyst"]).message, policy.window
    said = Message("guard.log_budget", by=body["by"], scope=scope, limit=policy.limit)
    if window is not None:
        part, days = window.limit, window.seconds / _DAY
        said = Message("guard.log_budget_window", by=body["by"], scope=scope, limit=policy.limit, part=part, days=days)
    rules = describe_rules(policy)
    return Message("guard.log_budget_rules", sentence=said, rules=separate(rules)) if rules else said


def describe_rules(policy: "Policy") -> list[Message]:
    """Return the rules of a budget for analysts."""
    given = ((_RULES[name], getattr(policy, name)) for name in RULES)
    return [Message(code, amount=float(amount)) for code, amount in given if amount is not None]


def _name_analyst(body: "_Body", *, begins: bool = False) -> str:
    """Return who asked; a question without an analyst is the owner's. ``begins``: at the beginning of a sentence."""
    return _text(body, "analyst") or Message("guard.log_the_owner_begins" if begins else "guard.log_the_owner")


def _say_reserved(body: "_Body", policies: "_Policies") -> Message:
    who, dataset, question = _name_analyst(body, begins=True), _text(body, "dataset"), _text(body, "question")
    policy = policies.get(Scope(dataset=body["dataset"]))
    cost = None if policy is None else _price(policy, canonical_json(body["event"]))
    if cost is None:
        return Message("guard.log_reserved_unpriced", analyst=who, dataset=dataset, question=question)
    return Message("guard.log_reserved", analyst=who, dataset=dataset, cost=cost, question=question)


@lru_cache(maxsize=1_000)
def _price(policy: "Policy", event: str) -> "Guarantee | None":
    try:
        return price_under(policy, Event.from_json(event))
    except CelosiaError:  # the budget is now of another kind and cannot price this event
        return None


def _say_repeated(body: "_Body", _: "_Policies") -> Message:
    who, dataset, question = _name_analyst(body, begins=True), _text(body, "dataset"), _text(body, "question")
    code = "guard.log_repeated_charged" if body.get("charged") else "guard.log_repeated"
    return Message(code, analyst=who, dataset=dataset, question=question)


def _say_closed(code: str) -> "_Say":
    return lambda body, _: Message(
        code, analyst=_name_analyst(body), dataset=_shorten(str(body["dataset"])), line=body["line"]
    )


def _say_changed(body: "_Body", _: "_Policies") -> Message:
    changed = [Message(_FIELDS[field]) for field in _FIELDS if field in body["now"]]
    said = Message("guard.log_dataset_changed", by=body["by"], dataset=body["dataset"], fields=separate(changed))
    return _add_notes(said, body)


def _say_retired(code: str) -> "_Say":
    return lambda body, _: _add_notes(Message(code, by=body["by"], dataset=body["dataset"]), body)


def _add_notes(said: Message, body: "_Body") -> Message:
    """Return a sentence with the notes that the curator was shown."""
    if not body.get("notes"):
        return said
    from celosia.query.serial.messages import message_from_json

    return join_messages([said, *(message_from_json(note) for note in body["notes"])])


def _say_shared(body: "_Body", _: "_Policies") -> Message:
    names = body["analysts"]
    if names is None:
        return Message("guard.log_dataset_shared_with_all", by=body["by"], dataset=body["dataset"])
    shown = _shorten(", ".join(names)) or "–"
    return Message("guard.log_dataset_shared", by=body["by"], dataset=body["dataset"], analysts=shown)


def _say_user(body: "_Body", _: "_Policies") -> Message:
    return Message("guard.log_user_added", by=body["by"], user=body["user"], role=Message(_ROLES[body["role"]]))


def _say_key(body: "_Body", _: "_Policies") -> Message:
    given = {name: body[name] for name in ("by", "user", "key")}
    if body["expires"] is None:
        return Message("guard.log_key_added", **given)
    return Message("guard.log_key_added_until", **given, expires=str(body["expires"])[:10])


def _say_approval(body: "_Body", _: "_Policies") -> Message:
    given = {name: _text(body, name) for name in ("analyst", "dataset", "question", "approval")}
    return Message("guard.log_approval_requested", **given, cost=Guarantee.from_json(canonical_json(body["cost"])))


def _say_decision(code: str) -> "_Say":
    """Return how a decision about an approval is said: with its reason, if it has one."""

    def say(body: "_Body", _: "_Policies") -> Message:
        given = {name: _shorten(str(body[name])) for name in ("by", "approval", "analyst", "dataset")}
        decision, reason = Message(code, **given), _text(body, "reason")
        return Message("guard.log_with_reason", sentence=decision, reason=reason) if reason else decision

    return say


_SENTENCES: Final[dict[str, "_Say"]] = {
    "opened": _plain("guard.log_opened"),
    "budget": _say_budget,
    "reserved": _say_reserved,
    "repeated": _say_repeated,
    "committed": _say_closed("guard.log_committed"),
    "failed": _say_closed("guard.log_failed"),
    "dataset added": _plain("guard.log_dataset_added", "by", "dataset", "source"),
    "dataset changed": _say_changed,
    "dataset retired": _say_retired("guard.log_dataset_retired"),
    "dataset restored": _say_retired("guard.log_dataset_restored"),
    "dataset shared": _say_shared,
    "schema changed": _plain("guard.log_schema_changed", "by", "dataset"),
    "bounds changed": _plain("guard.log_bounds_changed", "by", "column", "dataset", "was", "declared"),
    "version changed": _plain("guard.log_version_changed", "by", "version", "dataset"),
    "user added": _say_user,
    "key added": _say_key,
    "key revoked": _plain("guard.log_key_revoked", "by", "key", "user"),
    "approval requested": _say_approval,
    "approval granted": _say_decision("guard.log_approval_granted"),
    "approval denied": _say_decision("guard.log_approval_denied"),
    "query cancelled": _plain("guard.log_query_cancelled", "by", "id"),
}

KINDS: Final = tuple(_SENTENCES)
"""The kinds of lines that this version writes, or has written."""
