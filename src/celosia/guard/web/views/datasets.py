"""Pages of data sets and their declarations.

A page shows the card of a data set: kinds, bounds and categories, never a number of rows.
"""

from typing import TYPE_CHECKING, Final

from celosia.guard.roles import Permission
from celosia.guard.web.rendering import render_page
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.serving.pages.templates import download

if TYPE_CHECKING:
    from celosia.ledger import StatementLine


def budget_lines(web_session: WebSession, dataset: str) -> "list[StatementLine]":
    """Return the budgets that a query of this analyst would be charged to; for other roles, all of the data set."""
    who = web_session.identity
    lines = web_session.guard.budget(who)
    if who.may(Permission.ASK):
        return [
            line for line in lines if line.scope.dataset in (None, dataset) and line.scope.analyst in (None, who.name)
        ]
    return [line for line in lines if line.scope.dataset == dataset]


def _list(web_session: WebSession) -> Reply:
    cards = web_session.guard.datasets(web_session.identity)
    budgets = web_session.guard.budget(web_session.identity)
    lines = {line.scope.dataset: line for line in budgets if line.scope.analyst is None}
    return render_page(web_session, "datasets.html", cards=cards, lines=lines)


def _show(web_session: WebSession) -> Reply:
    card = web_session.guard.dataset(web_session.identity, web_session.names["name"])
    return render_page(web_session, "dataset.html", card=card, lines=budget_lines(web_session, card.name))


def _dummy(web_session: WebSession) -> Reply:
    name = web_session.names["name"]
    parts = web_session.guard.dummy_rows(web_session.identity, name)
    return download(parts, "text/csv; charset=utf-8", f"{name}-dummy.csv")


PAGES: Final = (
    Page(path="/datasets", view=_list),
    Page(path="/datasets/{name}", view=_show),
    Page(path="/datasets/{name}/dummy", view=_dummy),
)
"""Data sets and their declarations."""
