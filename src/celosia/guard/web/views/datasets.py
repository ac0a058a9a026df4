"""What data sets there are, what was declared of them, and how a curator changes it.

A page about a data set is made from its card: kinds, bounds and categories, never a number of rows. Bounds are
promises about the world, not about the data; the page says so where they are changed.
"""

from typing import TYPE_CHECKING, Final
from urllib.parse import quote as quoted

from celosia.core.errors import CelosiaError, ParameterError
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import mendable, page, redirect
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.datasets.cards import DatasetCard
    from celosia.guard.web.web_session import WebSession
    from celosia.ledger import Line

_DONE: Final = ("bounds", "version")


def budget_lines(visit: "WebSession", dataset: str) -> "list[Line]":
    """Return the budgets that a question of this visitor about a data set would be charged to.

    Or all that may be seen.
    """
    who = visit.identity
    lines = visit.guard.budget(who)
    if who.may(Permission.ASK):
        return [
            line for line in lines if line.scope.dataset in (None, dataset) and line.scope.analyst in (None, who.name)
        ]
    return [line for line in lines if line.scope.dataset == dataset]


def _list(visit: "WebSession") -> "Response":
    cards = visit.guard.datasets(visit.identity)
    lines = {line.scope.dataset: line for line in visit.guard.budget(visit.identity) if line.scope.analyst is None}
    return page(visit, "datasets.html", cards=cards, lines=lines)


def _card(visit: "WebSession") -> "DatasetCard":
    return visit.guard.dataset(visit.identity, visit.names["name"])


def _show(visit: "WebSession") -> "Response":
    card = _card(visit)
    return page(visit, "dataset.html", card=card, lines=budget_lines(visit, card.name))


def _curation(visit: "WebSession") -> "Response":
    visit.identity.require(Permission.SET_SCHEMAS, Permission.SET_VERSIONS)
    done = visit.asked("done")
    return _curated(visit, done=done if done in _DONE else "")


def _curated(
    visit: "WebSession", *, done: str = "", problem: str = "", column: str = "", status: int = 200
) -> "Response":
    return page(visit, "curation.html", status=status, card=_card(visit), done=done, problem=problem, column=column)


def _set_bounds(visit: "WebSession") -> "Response":
    name, column = visit.names["name"], visit.filled("column")
    try:
        low, high = visit.filled("low"), visit.filled("high")
        if not low or not high:
            raise ParameterError("low and high must both be given.")
        visit.guard.set_bounds(visit.identity, name, column, low, high)
    except CelosiaError as error:
        return _curated(visit, problem=mendable(error).detail, column=column, status=422)
    return redirect(f"/datasets/{quoted(name, safe='')}/curation", done="bounds")


def _new_version(visit: "WebSession") -> "Response":
    name = visit.names["name"]
    visit.guard.new_version(visit.identity, name)
    return redirect(f"/datasets/{quoted(name, safe='')}/curation", done="version")


def _back(visit: "WebSession") -> "Response":
    return redirect(f"/datasets/{quoted(visit.names['name'], safe='')}/curation")


DATASET_PAGES: Final = (
    Page(path="/datasets", view=_list),
    Page(path="/datasets/{name}", view=_show),
    Page(path="/datasets/{name}/curation", view=_curation),
    Page(path="/datasets/{name}/bounds", view=_set_bounds, method="POST"),
    Page(path="/datasets/{name}/bounds", view=_back),  # the reply to a form, opened again in another language
    Page(path="/datasets/{name}/versions", view=_new_version, method="POST"),
)
"""Data sets and their curation."""
