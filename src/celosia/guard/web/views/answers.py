"""Pages of answers: the list, one answer with its table and charts, and downloads.

An answer is shown as it was stored: reading it again costs nothing and reveals nothing new.
"""

import json
import re
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse, Response

from celosia.core.enclosure import exp_at_least
from celosia.core.errors import CelosiaError
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.core.messages.numerals import format_number
from celosia.guard.web.answer_table import answer_csv, answer_table
from celosia.guard.web.charts import chart_columns, chart_specification
from celosia.guard.web.model_table import model_table
from celosia.guard.web.rendering import render_page
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.serving.errors import NotFoundError
from celosia.serving.pages.charts import chart_picture
from celosia.serving.pages.languages import translate
from celosia.serving.pages.templates import download, make_path, redirect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from celosia.guard.schema.replies import Answer
    from celosia.query.release import TableRelease
    from celosia.serving.pages.languages import Language

_LEVELS: Final = ("0.8", "0.9", "0.95", "0.99")
_DEFAULT_LEVEL: Final = "0.95"
_MAX_LISTED: Final = 200
_MAX_EPSILON_IN_WORDS: Final = 30
_PERSON: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|/\*.*?\*/|\bPERSON\b""", re.DOTALL)


def cost_of(answer: "Answer") -> Guarantee | None:
    """Return the cost of an answer; None if it is unknown."""
    from celosia.query.serial.records import record_from_json

    try:
        return None if answer.cost is None else record_from_json(Guarantee, answer.cost)  # type: ignore[type-abstract] # one of its kinds
    except CelosiaError:
        return None


def payment_text(answer: "Answer", *, own_budget: bool = True) -> str:
    """Return the name of the text on who paid for a repeated answer; empty for a computed one.

    Without an ``own_budget`` the analyst cannot have paid.
    """
    if not answer.repeated:
        return ""
    charged = getattr(answer, "charged", None)
    if charged is None and own_budget:
        return "repeated_unknown"
    return "repeated_charged" if charged else "repeated"


def restore_person(question: str, person: str | None) -> str:
    """Return a query with the name of its person column, which the log calls PERSON."""
    if person is None:
        return question
    from celosia.query.plan.expressions import Column
    from celosia.query.plan.to_sql import render

    name = render(Column(person))
    return _PERSON.sub(lambda match: name if match[0] == "PERSON" else match[0], question)


def explain_guarantee(guarantee: Guarantee, language: "Language") -> str:
    """Return a plain explanation of a guarantee for one person; empty for other kinds."""
    unit = language.text("answer.unit_person" if guarantee.unit == "person" else "answer.unit_row")
    if isinstance(guarantee, ZCDP):
        return language.text("answer.meaning_rho", unit=unit)
    if not isinstance(guarantee, PureDP | ApproxDP):
        return ""
    # Rounded up, as every guarantee; a large epsilon is shown as a formula.
    large = guarantee.epsilon > _MAX_EPSILON_IN_WORDS
    factor = "e^ε" if large else format_number(exp_at_least(guarantee.epsilon), language.code, rounded="up")
    sentences = [language.text("answer.meaning_epsilon", unit=unit, factor=factor)]
    if isinstance(guarantee, ApproxDP) and guarantee.delta:
        delta = format_number(guarantee.delta, language.code, rounded="up")
        sentences.append(language.text("answer.meaning_delta", delta=delta))
    return " ".join(sentences)


def _list(web_session: WebSession) -> Reply:
    answers = web_session.guard.answers(web_session.identity, _MAX_LISTED)
    persons, own = person_columns(web_session, answers), _has_budget(web_session)
    rows = [
        (
            answer,
            cost_of(answer),
            restore_person(answer.question, persons.get(answer.dataset)),
            payment_text(answer, own_budget=own),
        )
        for answer in answers
    ]
    return render_page(web_session, "answers.html", answers=rows)


def _has_budget(web_session: WebSession) -> bool:
    return any(line.scope.analyst is not None for line in web_session.guard.budget(web_session.identity))


def person_columns(web_session: WebSession, answers: "Iterable[Answer]") -> dict[str, str]:
    """Return the person column of each visible data set that has one."""
    if not any("PERSON" in answer.question for answer in answers):
        return {}
    tables = ((card.name, table) for card in web_session.guard.datasets(web_session.identity) for table in card.tables)
    return {name: table.person for name, table in tables if table.person is not None}


def _find_answer(web_session: WebSession) -> "Answer":
    return web_session.guard.answer(web_session.identity, web_session.names["id"])


def load_release(answer: "Answer") -> "TableRelease":
    """Return the release of an answer; raise ``NotFoundError`` if it has none."""
    from celosia.query.serial.release import release_from_json

    if answer.release is None or answer.is_model:  # a model has neither charts nor a table to download
        raise NotFoundError("guard.no_answer", name=answer.id)
    return release_from_json(answer.release)


def _level(web_session: WebSession) -> str:
    return web_session.query_field("level") if web_session.query_field("level") in _LEVELS else _DEFAULT_LEVEL


def _show(web_session: WebSession) -> Reply:
    answer, level = _find_answer(web_session), _level(web_session)
    person = person_columns(web_session, [answer]).get(answer.dataset)
    return render_page(
        web_session,
        "answer.html",
        answer=answer,
        question=restore_person(answer.question, person),
        paid=payment_text(answer, own_budget=_has_budget(web_session)),
        cost=cost_of(answer),
        level=level,
        percent=f"{100 * float(level):g}",
        levels=_LEVELS,
        **_describe_release(answer, web_session.language, float(level)),
    )


def _describe_release(answer: "Answer", language: "Language", level: float) -> dict[str, Any]:
    """Return the table of an answer or of its model, with what its guarantee means for one person."""
    found: dict[str, Any] = {"table": None, "model": None, "charts": [], "notes": [], "limits_cut": False}
    if answer.release is None:
        return found | {"guarantee": cost_of(answer), "meaning": ""}
    if answer.is_model:
        model = model_table(answer.release, language.code)
        found |= {"model": model, "guarantee": model.guarantee}
    else:
        release = load_release(answer)
        found |= {
            "table": answer_table(release, language.code, level),
            "charts": chart_columns(release),
            "notes": [translate(note, language) for note in release.notes],
            "guarantee": release.guarantee,
            "limits_cut": release.true_intervals is not None,
        }
    return found | {"meaning": explain_guarantee(found["guarantee"], language)}


def _cancel(web_session: WebSession) -> Reply:
    answer = web_session.guard.cancel(web_session.identity, web_session.names["id"])
    return redirect(make_path("answers", answer.id))


def _specification(web_session: WebSession) -> dict[str, object]:
    release = load_release(_find_answer(web_session))
    columns = chart_columns(release)
    column = web_session.query_field("column") or next(iter(columns), "")
    if column not in columns:
        raise NotFoundError("guard.no_chart", name=column)
    dark = web_session.query_field("theme") == "dark"
    return chart_specification(
        release, column, level=float(_level(web_session)), language=web_session.language, dark=dark
    )


def _chart(web_session: WebSession) -> Reply:
    return JSONResponse(_specification(web_session))


def _picture(web_session: WebSession) -> Reply:
    return Response(chart_picture(_specification(web_session)), media_type="image/svg+xml")


def _csv(web_session: WebSession) -> Reply:
    answer = _find_answer(web_session)
    text = answer_csv(load_release(answer), float(_level(web_session)))
    return download(text, "text/csv; charset=utf-8", f"{answer.id}.csv")


def _json(web_session: WebSession) -> Reply:
    answer = _find_answer(web_session)
    shown = answer.release if answer.is_model else answer.to_json()  # a model is a file that celosia.learn.load reads
    text = json.dumps(shown, ensure_ascii=False, indent=2, allow_nan=False)
    return download(text, "application/json", f"{answer.id}.json")


PAGES: Final = (
    Page(path="/answers", view=_list),
    Page(path="/answers/{id}", view=_show),
    Page(path="/answers/{id}/cancel", view=lambda web_session: redirect(make_path("answers", web_session.names["id"]))),
    Page(path="/answers/{id}/cancel", view=_cancel, method="POST"),
    Page(path="/answers/{id}/chart.json", view=_chart),
    Page(path="/answers/{id}/chart.svg", view=_picture),
    Page(path="/answers/{id}/answer.csv", view=_csv),
    Page(path="/answers/{id}/answer.json", view=_json),
)
"""Answers."""
