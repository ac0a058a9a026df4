"""Budgets as bars, and how a curator or the owner sets one.

Setting a budget is an act with consequences for people, so the form says what a number means, and the ledger keeps who
did it. What a policy has besides its limit (its accountant, its neighbours) stays as it was.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.exact import safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.guard.roles import Permission
from celosia.guard.web.presets import budget_of_preset, preset_rows
from celosia.guard.web.rendering import mendable, page, redirect
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from celosia.guard.web.web_session import WebSession
    from celosia.ledger import Line, Policy

_DAY: Final = 86_400
_MOST_DAYS: Final = 36_500


def limit_of(form: "Mapping[str, str]") -> Guarantee:
    """Return the limit that a form describes: ``kind`` and its numbers, or a preset."""
    given = {name: form.get(name, "").strip() for name in ("epsilon", "delta", "rho")}
    match form.get("kind"):
        case "pure":
            return PureDP(epsilon=_given(given, "epsilon"))
        case "approx":
            return ApproxDP(epsilon=_given(given, "epsilon"), delta=_given(given, "delta"))
        case "zcdp":
            return ZCDP(rho=_given(given, "rho"))
        case "preset":
            return budget_of_preset(form)
        case other:
            raise ParameterError(f"kind must be preset, pure, approx or zcdp, not {safe_repr(other)}.")


def _given(numbers: "Mapping[str, str]", name: str) -> str:
    if not numbers[name]:
        raise ParameterError(f"{name} must be given, such as {'1e-6' if name == 'delta' else '1'}.")
    return numbers[name]


def policy_of(form: "Mapping[str, str]", present: "Policy | None") -> "Policy":
    """Return the policy that a form describes, with what the present one has besides."""
    from celosia.ledger import Policy, Window

    limit = limit_of(form)
    if present is not None and type(present.limit) is type(limit):
        limit = replace(limit, adjacency=present.limit.adjacency, unit=present.limit.unit)
    window = None
    if form.get("days", "").strip():
        name = "rho" if isinstance(limit, ZCDP) else "epsilon"
        part = _given({name: form.get("share", "").strip()}, name)
        window = Window(seconds=_DAY * _days(form["days"].strip()), limit=_with(limit, name, part))
    if present is None or type(present.limit) is not type(limit):
        return Policy(limit=limit, window=window)
    return replace(present, limit=limit, window=window)


def _with(limit: Guarantee, name: str, part: str) -> Guarantee:
    changed: dict[str, Any] = {name: part}
    return replace(limit, **changed)


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= _MOST_DAYS):
        raise ParameterError(f"days must be an integer from 1 to {_MOST_DAYS}, not {safe_repr(text)}.")
    return int(text)


def _lines(visit: "WebSession") -> "list[Line]":
    lines = visit.guard.budget(visit.identity)
    return sorted(lines, key=lambda line: (line.scope.dataset or "", line.scope.analyst or ""))


def _show(visit: "WebSession") -> "Response":
    return _page(visit, done=visit.asked("done") == "budget")


def _page(visit: "WebSession", *, done: bool = False, problem: str = "", status: int = 200) -> "Response":
    sets = visit.guard.datasets(visit.identity) if visit.identity.may(Permission.SET_BUDGETS) else ()
    return page(
        visit,
        "budget.html",
        status=status,
        lines=_lines(visit),
        cards=sets,
        presets=preset_rows(),
        done=done,
        problem=problem,
    )


def _set(visit: "WebSession") -> "Response":
    dataset, analyst = visit.filled("dataset") or None, visit.filled("analyst") or None
    try:
        present = next(
            (
                line.policy
                for line in visit.guard.budget(visit.identity)
                if (line.scope.dataset, line.scope.analyst) == (dataset, analyst)
            ),
            None,
        )
        visit.guard.set_budget(visit.identity, policy_of(visit.form, present), dataset=dataset, analyst=analyst)
    except CelosiaError as error:
        return _page(visit, problem=mendable(error).detail, status=422)
    return redirect("/budget", done="budget")


BUDGET_PAGES: Final = (
    Page(path="/budget", view=_show),
    Page(path="/budget", view=_set, method="POST"),
)
"""Budgets."""
