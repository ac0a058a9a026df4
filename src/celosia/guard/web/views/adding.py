"""Pages that add a data set from a file of the server: its file, its columns, and its schema as text.

Only files below the folders of the configuration are listed, and only listed ones can be added.
"""

from typing import Any, Final

from celosia.core.errors import CelosiaError
from celosia.data.sources.classify import suggest_name
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import render_page
from celosia.guard.web.schema_form import MAX_COLUMNS, make_schema, read_rows, suggest_rows
from celosia.guard.web.views.curation import curation_address, read_schema_field
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.serving.pages.templates import redirect


def _begin(web_session: WebSession) -> Reply:
    web_session.identity.require(Permission.ADD_DATASETS)
    file = web_session.query_field("file")
    if not file:
        return _list(web_session)
    found = web_session.guard.inspect_file(web_session.identity, file)
    if web_session.query_field("as") != "text" and len(found.columns) <= MAX_COLUMNS:
        return _render(web_session, "columns", file, rows=suggest_rows(found), person=found.person or "")
    text = web_session.guard.draft_schema(web_session.identity, file, language=web_session.language.code)
    return _render(web_session, "text", file, text=text)


def _continue(web_session: WebSession) -> Reply:
    web_session.identity.require(Permission.ADD_DATASETS)
    file = web_session.form_field("file")
    if web_session.form_field("step") == "add":
        return _add(web_session, file)
    found = web_session.guard.inspect_file(web_session.identity, file)
    return _render(web_session, "text", file, text=make_schema(web_session.form, found).to_toml())


def _add(web_session: WebSession, file: str) -> Reply:
    name, title = web_session.form_field("name"), web_session.form_field("title")
    web_session.guard.add_file(web_session.identity, name, file, read_schema_field(web_session), title=title)
    return redirect(curation_address(name), done="added")


def _correct(web_session: WebSession) -> Reply:
    """Show the form again; the list, if its file cannot be read."""
    file = web_session.form_field("file")
    if web_session.form_field("step") == "add":
        return _render(web_session, "text", file, text=read_schema_field(web_session))
    try:
        rows = read_rows(web_session.form, web_session.guard.inspect_file(web_session.identity, file))
    except CelosiaError:
        return _list(web_session)
    return _render(web_session, "columns", file, rows=rows, person=web_session.form_field("person"))


def _list(web_session: WebSession) -> Reply:
    files = web_session.guard.data_files(web_session.identity)
    return _render(web_session, "list", "", files=files, folders=bool(web_session.guard.config.data_folders))


def _render(web_session: WebSession, step: str, file: str, **values: Any) -> Reply:
    name = web_session.form_field("name") or suggest_name(file)
    return render_page(web_session, "adding.html", step=step, chosen=file, name=name, **values)


PAGES: Final = (
    Page(path="/new-dataset", view=_begin, form=_list, costly=True),
    Page(path="/new-dataset", view=_continue, method="POST", form=_correct, costly=True),
)
"""New data sets."""
