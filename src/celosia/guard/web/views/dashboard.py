"""Page of the questions that an analyst saved, with their latest answers. Looking at them costs nothing."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from celosia.guard.web.answer_table import answer_table
from celosia.guard.web.charts import chart_columns
from celosia.guard.web.rendering import render_page
from celosia.guard.web.views.answers import load_release, person_columns, restore_person
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.serving.pages.templates import redirect

if TYPE_CHECKING:
    from celosia.guard.schema.replies import Answer

_MAX_ROWS: Final = 12
_LEVEL: Final = 0.95
_COSTS: Final = ("epsilon", "delta", "rho")


def _show(web_session: WebSession) -> Reply:
    found = web_session.guard.saved_questions(web_session.identity)
    persons = person_columns(web_session, [answer for _, answer in found])
    open_to = {card.name for card in web_session.guard.datasets(web_session.identity)}
    saved = [
        {
            "name": name,
            "answer": answer,
            "question": (question := restore_person(answer.question, persons.get(answer.dataset))),
            "again": _ask_again(answer, question) if answer.dataset in open_to else {},
            **_summarize(web_session, answer),
        }
        for name, answer in found
    ]
    return render_page(web_session, "dashboard.html", saved=saved)


def _summarize(web_session: WebSession, answer: "Answer") -> dict[str, Any]:
    """Return the first rows of an answer and the column of its chart; a model has neither here."""
    if answer.release is None or answer.is_model:
        return {"table": None, "chart": "", "more": 0, "limits_cut": False}
    release = load_release(answer)
    table = answer_table(release, web_session.language.code, _LEVEL)
    return {
        "table": replace(table, rows=table.rows[:_MAX_ROWS]),
        "chart": next(iter(chart_columns(release)), ""),
        "more": max(0, len(table.rows) - _MAX_ROWS),
        "limits_cut": release.true_intervals is not None,
    }


def _ask_again(answer: "Answer", question: str) -> dict[str, str]:
    """Return the fields of a preview of the same question at the same cost; none for a model."""
    if answer.is_model:
        return {}
    cost = {name: str(value) for name in _COSTS if (value := (answer.cost or {}).get(name)) not in (None, 0, "0")}
    return {"tab": "sql", "sql": question, **cost}


def _save(web_session: WebSession) -> Reply:
    id, name = web_session.form_field("id"), web_session.form_field("name")  # noqa: A001 - its name in the API
    web_session.guard.save_question(web_session.identity, id, name)
    return redirect("/dashboard")


def _forget(web_session: WebSession) -> Reply:
    web_session.guard.forget_question(web_session.identity, web_session.form_field("name"))
    return redirect("/dashboard")


PAGES: Final = (
    Page(path="/dashboard", view=_show),
    Page(path="/dashboard", view=_save, method="POST", form=_show),
    Page(path="/dashboard/forget", view=_forget, method="POST", form=_show),
    Page.redirect("/dashboard/forget", to="/dashboard"),
)
"""Saved questions."""
