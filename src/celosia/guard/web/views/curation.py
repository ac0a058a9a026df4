"""Pages that change a data set: its bounds, its schema, its version, who may see it, and its retirement.

Bounds must be chosen without the data, as the pages remind. What a change means for past spending is shown before it is
confirmed.
"""

import hashlib
from typing import Final

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import confirm, render_page
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.serving.pages.templates import make_path, redirect

_FORMS: Final = ("bounds", "versions", "sharing", "retirement")
_ANALYST: Final = "analyst "  # of the names of check boxes


def _show(web_session: WebSession) -> Reply:
    web_session.identity.require(Permission.SET_SCHEMAS, Permission.SET_VERSIONS)
    guard, who, name = web_session.guard, web_session.identity, web_session.names["name"]
    card = guard.dataset(who, name)
    allowed, analysts = guard.sharing(who, name) if who.may(Permission.ADD_DATASETS) else (None, ())
    if "who" in web_session.form:  # the form as it was sent
        allowed = _read_analysts(web_session)
    others = [one for one in allowed or () if one not in analysts]
    return render_page(web_session, "curation.html", card=card, allowed=allowed, analysts=analysts, others=others)


def _set_bounds(web_session: WebSession) -> Reply:
    low, high = web_session.number_field("low"), web_session.number_field("high")
    if not low or not high:
        raise ParameterError("guard.missing_bounds")
    column = web_session.form_field("column")
    web_session.guard.set_bounds(web_session.identity, web_session.names["name"], column, low, high)
    return _redirect_back(web_session, done="bounds")


def _new_version(web_session: WebSession) -> Reply:
    web_session.identity.require(Permission.SET_VERSIONS)
    asked = _confirm(web_session, "version")
    if asked is None:
        web_session.guard.new_version(web_session.identity, web_session.names["name"])
    return asked or _redirect_back(web_session, done="version")


def _retire(web_session: WebSession) -> Reply:
    web_session.identity.require(Permission.ADD_DATASETS)
    retired = web_session.form_field("retired") == "yes"
    asked = _confirm(web_session, "retire") if retired else None
    if asked is None:
        web_session.guard.update_dataset(web_session.identity, web_session.names["name"], retired=retired)
    return asked or _redirect_back(web_session, done="retired" if retired else "restored")


def _share(web_session: WebSession) -> Reply:
    web_session.identity.require(Permission.ADD_DATASETS)
    guard, name, allowed = web_session.guard, web_session.names["name"], _read_analysts(web_session)
    guard.share_dataset(web_session.identity, name, allowed, dry_run=True)
    sentence = "share_all" if allowed is None else "share_some" if allowed else "share_none"
    asked = _confirm(web_session, sentence, names=", ".join(allowed or ()))
    if asked is None:
        guard.share_dataset(web_session.identity, name, allowed)
    return asked or _redirect_back(web_session, done="shared")


def _read_analysts(web_session: WebSession) -> tuple[str, ...] | None:
    """Return the analysts that a form names; None for all."""
    match web_session.form_field("who"):
        case "all":
            return None
        case "some":
            ticked = [name.removeprefix(_ANALYST) for name in web_session.form if name.startswith(_ANALYST)]
            others = [name.strip() for name in web_session.form_field("others").split(",")]
            return tuple(dict.fromkeys(name for name in (*ticked, *others) if name))
    return ()  # a form without the choice shares with nobody


def _edit_schema(web_session: WebSession) -> Reply:
    name = web_session.names["name"]
    stands = web_session.guard.schema(web_session.identity, name)
    text = read_schema_field(web_session) if web_session.form else stands
    return render_page(web_session, "schema.html", name=name, text=text, was=_fingerprint(stands))


def _set_schema(web_session: WebSession) -> Reply:
    guard, who, name = web_session.guard, web_session.identity, web_session.names["name"]
    if web_session.form_field("confirm") == "edit":
        return _edit_schema(web_session)
    if web_session.form_field("was") != _fingerprint(guard.schema(who, name)):
        raise ParameterError("guard.dataset_changed_meanwhile", name=safe_repr(name))
    schema = read_schema_field(web_session)
    _, notes = guard.update_dataset(who, name, schema=schema, dry_run=True)
    asked = _confirm(web_session, "schema", notes=notes, editable=True)
    if asked is None:
        guard.update_dataset(who, name, schema=schema)
    return asked or _redirect_back(web_session, done="schema")


def read_schema_field(web_session: WebSession) -> str:
    """Return the schema that a form holds; browsers end lines with two characters."""
    return web_session.form.get("schema", "").replace("\r\n", "\n")


def _fingerprint(schema: str) -> str:
    """Return a mark of the schema that an editor began with: what another curator changed is not overwritten."""
    return hashlib.sha256(schema.encode()).hexdigest()


def _confirm(
    web_session: WebSession, sentence: str, *, notes: "tuple[str, ...]" = (), editable: bool = False, **values: str
) -> Reply | None:
    name = web_session.guard.dataset(web_session.identity, web_session.names["name"]).name
    text = web_session.text(f"confirm.{sentence}", name=name, **values)
    return confirm(web_session, text, back=curation_address(name), notes=notes, editable=editable)


def curation_address(name: str) -> str:
    """Return the address of the page that curates a data set."""
    return make_path("datasets", name, "curation")


def _redirect_back(web_session: WebSession, **query: str) -> Reply:
    return redirect(curation_address(web_session.names["name"]), **query)


PAGES: Final = (
    Page(path="/datasets/{name}/curation", view=_show),
    Page(path="/datasets/{name}/bounds", view=_set_bounds, method="POST", form=_show),
    Page(path="/datasets/{name}/versions", view=_new_version, method="POST"),
    Page(path="/datasets/{name}/retirement", view=_retire, method="POST"),
    Page(path="/datasets/{name}/sharing", view=_share, method="POST", form=_show),
    Page(path="/datasets/{name}/schema", view=_edit_schema),
    Page(path="/datasets/{name}/schema", view=_set_schema, method="POST", form=_edit_schema, costly=True),
    # A change of language opens the address of a form again.
    *(Page(path=f"/datasets/{{name}}/{form}", view=_redirect_back) for form in _FORMS),
)
"""Curation of a data set."""
