"""Pages that add a data set from a file of the server: its file, its columns, and its schema as text.

Only files below the folders of the configuration are listed, and only listed ones can be added.
"""

from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import CelosiaError
from celosia.data.sources.classify import suggest_name
from celosia.guard.roles import Permission
from celosia.guard.web.rendering import form_problem, redirect, render_page
from celosia.guard.web.schema_form import MAX_COLUMNS, make_schema, read_rows, suggest_rows
from celosia.guard.web.views.curation import curation_address, read_schema_field
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.data.drafting.inspection import Inspection
    from celosia.guard.web.schema_form import ColumnRow
    from celosia.guard.web.web_session import WebSession
    from celosia.serving.problems import Problem


def _begin(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.ADD_DATASETS)
    file = web_session.query_field("file")
    if not file:
        return _list(web_session)
    try:
        found = web_session.guard.inspect_file(web_session.identity, file)
        if web_session.query_field("as") == "text" or len(found.columns) > MAX_COLUMNS:
            return _draft_text(web_session, file)
    except CelosiaError as error:
        return _list(web_session, form_problem(error))
    return _render_columns(web_session, file, found, suggest_rows(found))


def _draft_text(web_session: "WebSession", file: str) -> "Response":
    text = web_session.guard.draft_schema(web_session.identity, file, language=web_session.language.code)
    return _render_text(web_session, file, text)


def _continue(web_session: "WebSession") -> "Response":
    web_session.identity.require(Permission.ADD_DATASETS)
    guard, who, file = web_session.guard, web_session.identity, web_session.form_field("file")
    if web_session.form_field("step") == "add":
        return _add(web_session, file)
    try:
        found = guard.inspect_file(who, file)
    except CelosiaError as error:
        return _list(web_session, form_problem(error))
    try:
        return _render_text(web_session, file, make_schema(web_session.form, found).to_toml())
    except CelosiaError as error:
        rows = read_rows(web_session.form, found)
        return _render_columns(web_session, file, found, rows, problem=form_problem(error))


def _add(web_session: "WebSession", file: str) -> "Response":
    name, title, schema = (
        web_session.form_field("name"),
        web_session.form_field("title"),
        read_schema_field(web_session),
    )
    try:
        web_session.guard.add_file(web_session.identity, name, file, schema, title=title)
    except CelosiaError as error:
        return _render_text(web_session, file, schema, problem=form_problem(error))
    return redirect(curation_address(name), done="added")


def _list(web_session: "WebSession", problem: "Problem | None" = None) -> "Response":
    files = web_session.guard.data_files(web_session.identity)
    folders = bool(web_session.guard.config.data_folders)
    return _render(web_session, "list", "", problem, files=files, folders=folders)


def _render_columns(
    web_session: "WebSession",
    file: str,
    found: "Inspection",
    rows: "list[ColumnRow]",
    problem: "Problem | None" = None,
) -> "Response":
    person = web_session.form.get("person", found.person or "")
    return _render(web_session, "columns", file, problem, rows=rows, person=person)


def _render_text(web_session: "WebSession", file: str, text: str, problem: "Problem | None" = None) -> "Response":
    return _render(web_session, "text", file, problem, text=text)


def _render(web_session: "WebSession", step: str, file: str, problem: "Problem | None", **values: Any) -> "Response":
    status, name = 200 if problem is None else 422, web_session.form_field("name") or suggest_name(file)
    shown = {"step": step, "chosen": file, "name": name, "problem": problem, **values}
    return render_page(web_session, "adding.html", status=status, **shown)


ADDING_PAGES: Final = (
    Page(path="/new-dataset", view=_begin, costly=True),
    Page(path="/new-dataset", view=_continue, method="POST", costly=True),
)
"""New data sets."""
