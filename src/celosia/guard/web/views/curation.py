"""Pages that change a data set: its bounds, its schema, its version, who may see it, and its retirement.

Bounds must be chosen without the data, as the pages remind. What a change means for past spending is shown before it is
confirmed.
"""

import hashlib
from typing import TYPE_CHECKING, Final
from urllib.parse import quote as quoted

from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import confirm, form_problem, redirect, render_page
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.web.web_session import WebSession
    from celosia.serving.problems import Problem

_DONE: Final = ("bounds", "version", "retired", "restored", "shared", "schema", "added")
_FORMS: Final = ("bounds", "versions", "sharing", "retirement")
_ANALYST: Final = "analyst "  # of the names of check boxes


def _curation(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.SET_SCHEMAS, Permission.SET_VERSIONS)
    done = web_session.query_field("done")
    return _render(web_session, done=done if done in _DONE else "")


def _render(web_session: "WebSession", *, done: str = "", problem: "Problem | None" = None) -> "Response":
    guard, who, name = web_session.guard, web_session.identity, web_session.names["name"]
    card = guard.dataset(who, name)
    allowed, analysts = guard.sharing(who, name) if who.may(Permission.ADD_DATASETS) else (None, ())
    if "who" in web_session.form:  # the form as it was sent
        allowed = _read_analysts(web_session)
    return render_page(
        web_session,
        "curation.html",
        status=200 if problem is None else 422,
        card=card,
        done=done,
        problem=problem,
        allowed=allowed,
        analysts=analysts,
        others=[one for one in allowed or () if one not in analysts],
    )


def _set_bounds(web_session: "WebSession") -> "Response":
    try:
        low, high = web_session.number_field("low"), web_session.number_field("high")
        if not low or not high:
            raise ParameterError("guard.missing_bounds")
        column = web_session.form_field("column")
        web_session.guard.set_bounds(web_session.identity, web_session.names["name"], column, low, high)
    except CelosiaError as error:
        return _render(web_session, problem=form_problem(error))
    return _redirect_back(web_session, done="bounds")


def _new_version(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.SET_VERSIONS)
    asked = _confirm(web_session, "version")
    if asked is None:
        web_session.guard.new_version(web_session.identity, web_session.names["name"])
    return asked or _redirect_back(web_session, done="version")


def _retire(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.ADD_DATASETS)
    retired = web_session.form_field("retired") == "yes"
    asked = _confirm(web_session, "retire") if retired else None
    if asked is None:
        web_session.guard.update_dataset(web_session.identity, web_session.names["name"], retired=retired)
    return asked or _redirect_back(web_session, done="retired" if retired else "restored")


def _share(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.ADD_DATASETS)
    guard, name, allowed = web_session.guard, web_session.names["name"], _read_analysts(web_session)
    try:
        guard.share_dataset(web_session.identity, name, allowed, dry_run=True)
        sentence = "share_all" if allowed is None else "share_some" if allowed else "share_none"
        asked = _confirm(web_session, sentence, names=", ".join(allowed or ()))
        if asked is None:
            guard.share_dataset(web_session.identity, name, allowed)
    except CelosiaError as error:
        return _render(web_session, problem=form_problem(error))
    return asked or _redirect_back(web_session, done="shared")


def _read_analysts(web_session: "WebSession") -> tuple[str, ...] | None:
    """Return the analysts that a form names; None for all."""
    match web_session.form_field("who"):
        case "all":
            return None
        case "some":
            ticked = [name.removeprefix(_ANALYST) for name in web_session.form if name.startswith(_ANALYST)]
            others = [name.strip() for name in web_session.form_field("others").split(",")]
            return tuple(dict.fromkeys(name for name in (*ticked, *others) if name))
    return ()  # a form without the choice shares with nobody


def _schema(web_session: "WebSession") -> "Response":
    text = web_session.guard.schema(web_session.identity, web_session.names["name"])
    return _render_schema(web_session, text, text)


def _set_schema(web_session: "WebSession") -> "Response":
    guard, who, name = web_session.guard, web_session.identity, web_session.names["name"]
    stands, given = guard.schema(who, name), read_schema_field(web_session)
    if web_session.form_field("confirm") == "edit":
        return _render_schema(web_session, given, stands)
    try:
        if web_session.form_field("was") != _fingerprint(stands):
            raise ParameterError("guard.dataset_changed_meanwhile", name=safe_repr(name))
        _, notes = guard.update_dataset(who, name, schema=given, dry_run=True)
        asked = _confirm(web_session, "schema", notes=notes, editable=True)
        if asked is None:
            guard.update_dataset(who, name, schema=given)
    except CelosiaError as error:
        return _render_schema(web_session, given, stands, problem=form_problem(error))
    return asked or _redirect_back(web_session, done="schema")


def read_schema_field(web_session: "WebSession") -> str:
    """Return the schema that a form holds; browsers end lines with two characters."""
    return web_session.form.get("schema", "").replace("\r\n", "\n")


def _render_schema(
    web_session: "WebSession", text: str, stands: str, *, problem: "Problem | None" = None
) -> "Response":
    status, name = 200 if problem is None else 422, web_session.names["name"]
    was = _fingerprint(stands)
    return render_page(web_session, "schema.html", status=status, name=name, text=text, was=was, problem=problem)


def _fingerprint(schema: str) -> str:
    """Return a mark of the schema that an editor began with: what another curator changed is not overwritten."""
    return hashlib.sha256(schema.encode()).hexdigest()


def _confirm(
    web_session: "WebSession", sentence: str, *, notes: "tuple[str, ...]" = (), editable: bool = False, **values: str
) -> "Response | None":
    name = web_session.guard.dataset(web_session.identity, web_session.names["name"]).name
    text = web_session.text(f"confirm.{sentence}", name=name, **values)
    return confirm(web_session, text, back=curation_address(name), notes=notes, editable=editable)


def curation_address(name: str) -> str:
    """Return the address of the page that curates a data set."""
    return f"/datasets/{quoted(name, safe='')}/curation"


def _redirect_back(web_session: "WebSession", **query: str) -> "Response":
    return redirect(curation_address(web_session.names["name"]), **query)


CURATION_PAGES: Final = (
    Page(path="/datasets/{name}/curation", view=_curation),
    Page(path="/datasets/{name}/bounds", view=_set_bounds, method="POST"),
    Page(path="/datasets/{name}/versions", view=_new_version, method="POST"),
    Page(path="/datasets/{name}/retirement", view=_retire, method="POST"),
    Page(path="/datasets/{name}/sharing", view=_share, method="POST"),
    Page(path="/datasets/{name}/schema", view=_schema),
    Page(path="/datasets/{name}/schema", view=_set_schema, method="POST", costly=True),
    # A change of language opens the address of a form again.
    *(Page(path=f"/datasets/{{name}}/{form}", view=_redirect_back) for form in _FORMS),
)
"""Curation of a data set."""
