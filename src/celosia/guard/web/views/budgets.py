"""Pages to show budgets as bars, and to set them as a curator or owner.

A budget has consequences for people, so the form explains its numbers, and the ledger records who set it. The other
fields of a policy (accountant, adjacency) stay unchanged.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.core.messages.numerals import format_guarantee
from celosia.guard.datasets.policies import change_rules
from celosia.guard.roles import Permission
from celosia.guard.web.presets import parse_preset_budget, preset_rows
from celosia.guard.web.rendering import confirm, render_page, write_rules
from celosia.guard.web.web_session import Page, Reply, WebSession, parse_days
from celosia.ledger.budgets.policy import RULES
from celosia.ledger.budgets.scope import Scope
from celosia.serving.pages.templates import redirect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.ledger import Policy

_DAY: Final = 86_400
_MAX_DAYS: Final = 36_500
_NUMBERS: Final = ("epsilon", "delta", "rho", "share", *RULES)


def parse_limit(form: "Mapping[str, str]") -> Guarantee:
    """Return the limit of a form: ``kind`` and its numbers, or a preset."""
    given = {name: form.get(name, "").strip() for name in ("epsilon", "delta", "rho")}
    match form.get("kind"):
        case "pure":
            return PureDP(epsilon=_require_number(given, "epsilon"))
        case "approx":
            return ApproxDP(epsilon=_require_number(given, "epsilon"), delta=_require_number(given, "delta"))
        case "zcdp":
            return ZCDP(rho=_require_number(given, "rho"))
        case "preset":
            return parse_preset_budget(form)
        case other:
            raise ParameterError("guard.unknown_budget_kind", value=safe_repr(other))


def _require_number(numbers: "Mapping[str, str]", name: str) -> str:
    if not numbers[name]:
        raise ParameterError("guard.number_missing", name=name, example="1e-6" if name == "delta" else "1")
    return numbers[name]


def parse_policy(form: "Mapping[str, str]", present: "Policy | None") -> "Policy":
    """Return the policy of a form, with the other fields of the present one."""
    from celosia.ledger import Policy, Window

    limit = parse_limit(form)
    if present is not None and type(present.limit) is type(limit):
        limit = replace(limit, adjacency=present.limit.adjacency, unit=present.limit.unit)
    window = None
    if form.get("days", "").strip():
        name = "rho" if isinstance(limit, ZCDP) else "epsilon"
        part = _require_number({name: form.get("share", "").strip()}, name)
        window = Window(
            seconds=_DAY * parse_days(form["days"].strip(), _MAX_DAYS), limit=_replace_amount(limit, name, part)
        )
    policy = Policy(limit=limit, window=window)
    if present is not None and type(present.limit) is type(limit):
        policy = replace(present, limit=limit, window=window)
    return change_rules(policy, present, _parse_rules(form))


def _parse_rules(form: "Mapping[str, str]") -> dict[str, str | None]:
    """Return the rules that a form changes: an empty field leaves a rule as it is, 0 removes it."""
    given = {name: form.get(name, "").strip() for name in RULES}
    return {name: text for name, text in given.items() if text}


def _replace_amount(limit: Guarantee, name: str, part: str) -> Guarantee:
    changed: dict[str, Any] = {name: part}
    return replace(limit, **changed)


def _show(web_session: WebSession) -> Reply:
    guard, who = web_session.guard, web_session.identity
    cards = guard.datasets(who) if who.may(Permission.SET_BUDGETS) else ()
    lines = sorted(guard.budget(who), key=lambda line: (line.scope.dataset or "", line.scope.analyst or ""))
    chosen = web_session.form_field("dataset") or web_session.query_field("dataset")
    return render_page(web_session, "budget.html", lines=lines, cards=cards, chosen=chosen, presets=preset_rows())


def _set(web_session: WebSession) -> Reply:
    dataset, analyst = web_session.form_field("dataset") or None, web_session.form_field("analyst") or None
    policies = {line.scope: line.policy for line in web_session.guard.budget(web_session.identity)}
    present = policies.get(Scope(dataset=dataset, analyst=analyst))
    numbers = {name: web_session.number_field(name) for name in _NUMBERS}
    policy = parse_policy({**web_session.form, **numbers}, present)
    asked = _confirm(web_session, present, policy)
    if asked is None:
        web_session.guard.set_budget(web_session.identity, policy, dataset=dataset, analyst=analyst)
    return asked or redirect("/budget", done="budget")


def _confirm(web_session: WebSession, present: "Policy | None", policy: "Policy") -> Reply | None:
    """Return a page that asks whether a budget is to be changed; a new one needs no second look."""
    web_session.identity.require(Permission.SET_BUDGETS)
    if present is None or present == policy:
        return None
    was, now = (_describe_policy(web_session, one) for one in (present, policy))
    return confirm(web_session, web_session.text("confirm.budget", was=was, now=now), back="/budget")


def _describe_policy(web_session: WebSession, policy: "Policy") -> str:
    limit, rules = format_guarantee(policy.limit, web_session.language.code), write_rules(web_session, policy)
    return f"{limit} ({'; '.join(rules)})" if rules else limit


PAGES: Final = (
    Page(path="/budget", view=_show),
    Page(path="/budget", view=_set, method="POST", form=_show),
)
"""Budgets."""
