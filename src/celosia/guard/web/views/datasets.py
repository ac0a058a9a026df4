"""Pages of data sets, their declarations, and their curation.

A page shows the card of a data set: kinds, bounds and categories, never a number of rows. Bounds must be chosen without
the data, as the page reminds.
"""

from typing import TYPE_CHECKING, Final
from urllib.parse import quote as quoted

from celosia.core.errors import CelosiaError, ParameterError
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import confirm, download, form_problem, redirect, render_page
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.schema.replies import DatasetCard
    from celosia.guard.web.web_session import WebSession
    from celosia.ledger import StatementLine

_DONE: Final = ("bounds", "version", "retired", "restored")


def budget_lines(web_session: "WebSession", dataset: str) -> "list[StatementLine]":
    """Return the budgets that a query of this analyst would be charged to; for other roles, all of the data set."""
    who = web_session.identity
    lines = web_session.guard.budget(who)
    if who.may(Permission.ASK):
        return [
            line for line in lines if line.scope.dataset in (None, dataset) and line.scope.analyst in (None, who.name)
        ]
    return [line for line in lines if line.scope.dataset == dataset]


def _list(web_session: "WebSession") -> "Response":
    cards = web_session.guard.datasets(web_session.identity)
    lines = {
        line.scope.dataset: line
        for line in web_session.guard.budget(web_session.identity)
        if line.scope.analyst is None
    }
    return render_page(web_session, "datasets.html", cards=cards, lines=lines)


def _find_card(web_session: "WebSession") -> "DatasetCard":
    return web_session.guard.dataset(web_session.identity, web_session.names["name"])


def _show(web_session: "WebSession") -> "Response":
    card = _find_card(web_session)
    return render_page(web_session, "dataset.html", card=card, lines=budget_lines(web_session, card.name))


def _dummy(web_session: "WebSession") -> "Response":
    name = web_session.names["name"]
    parts = web_session.guard.dummy_rows(web_session.identity, name)
    return download(parts, "text/csv; charset=utf-8", f"{name}-dummy.csv")


def _curation(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.SET_SCHEMAS, Permission.SET_VERSIONS)
    done = web_session.query_field("done")
    return _render_curation(web_session, done=done if done in _DONE else "")


def _render_curation(
    web_session: "WebSession", *, done: str = "", problem: str = "", column: str = "", status: int = 200
) -> "Response":
    return render_page(
        web_session,
        "curation.html",
        status=status,
        card=_find_card(web_session),
        done=done,
        problem=problem,
        column=column,
    )


def _set_bounds(web_session: "WebSession") -> "Response":
    name, column = web_session.names["name"], web_session.form_field("column")
    try:
        low, high = web_session.form_field("low"), web_session.form_field("high")
        if not low or not high:
            raise ParameterError("guard.missing_bounds")
        web_session.guard.set_bounds(web_session.identity, name, column, low, high)
    except CelosiaError as error:
        return _render_curation(web_session, problem=form_problem(error).detail, column=column, status=422)
    return _redirect_back(web_session, done="bounds")


def _new_version(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.SET_VERSIONS)
    asked = _confirm(web_session, "confirm.version")
    if asked is None:
        web_session.guard.new_version(web_session.identity, web_session.names["name"])
    return asked or _redirect_back(web_session, done="version")


def _retire(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.ADD_DATASETS)
    retired = web_session.form_field("retired") == "yes"
    asked = _confirm(web_session, "confirm.retire") if retired else None
    if asked is None:
        web_session.guard.update_dataset(web_session.identity, web_session.names["name"], retired=retired)
    return asked or _redirect_back(web_session, done="retired" if retired else "restored")


def _confirm(web_session: "WebSession", sentence: str) -> "Response | None":
    name = _find_card(web_session).name
    return confirm(web_session, web_session.text(sentence, name=name), back=_curation_address(name))


def _curation_address(name: str) -> str:
    return f"/datasets/{quoted(name, safe='')}/curation"


def _redirect_back(web_session: "WebSession", **query: str) -> "Response":
    return redirect(_curation_address(web_session.names["name"]), **query)


DATASET_PAGES: Final = (
    Page(path="/datasets", view=_list),
    Page(path="/datasets/{name}", view=_show),
    Page(path="/datasets/{name}/dummy", view=_dummy),
    Page(path="/datasets/{name}/curation", view=_curation),
    Page(path="/datasets/{name}/bounds", view=_set_bounds, method="POST"),
    Page(path="/datasets/{name}/versions", view=_new_version, method="POST"),
    Page(path="/datasets/{name}/retirement", view=_retire, method="POST"),
    # A change of language opens the address of a form again.
    *(Page(path=f"/datasets/{{name}}/{form}", view=_redirect_back) for form in ("bounds", "versions", "retirement")),
)
"""Data sets and their curation."""
