"""The answers that somebody got: the list, one of them with its table and charts, and files to keep.

An answer is shown as it was stored, every time: reading it again costs nothing and tells nothing new.
"""

import json
import re
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse, Response

from celosia.core.enclosure import exp_at_least
from celosia.core.errors import CelosiaError
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.guard.errors import NotFoundError
from celosia.guard.web.answer_table import answer_csv, answer_table
from celosia.guard.web.charts import chart_columns, chart_picture, chart_specification
from celosia.guard.web.i18n.numerals import numeral
from celosia.guard.web.i18n.wording import worded
from celosia.guard.web.rendering import page
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from celosia.guard.queries.requests import Answer
    from celosia.guard.web.i18n.language import Language
    from celosia.guard.web.web_session import WebSession
    from celosia.query.release import TableRelease

_LEVELS: Final = ("0.8", "0.9", "0.95", "0.99")
_USUAL_LEVEL: Final = "0.95"
_MOST: Final = 200
_LARGEST_POWER: Final = 30
_PERSON: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|/\*.*?\*/|\bPERSON\b""", re.DOTALL)


def cost_of(answer: "Answer") -> Guarantee | None:
    """Return what an answer cost, or None if that is not known."""
    return None if answer.cost is None else _guarantee(answer.cost)


def _guarantee(cost: "Mapping[str, object]") -> Guarantee | None:
    from celosia.query.serial.release import record_from_json

    try:
        return record_from_json(Guarantee, cost)  # type: ignore[type-abstract] # one of its kinds
    except CelosiaError:
        return None


def paid_for(answer: "Answer", *, own_budget: bool = True) -> str:
    """Return who paid for an answer that was given again, as the name of a text; empty for one that was computed.

    Without an ``own_budget`` there is nothing that whoever asked could have paid from.
    """
    if not answer.repeated:
        return ""
    charged = getattr(answer, "charged", None)
    if charged is None and own_budget:
        return "repeated_unknown"
    return "repeated_charged" if charged else "repeated"


def as_asked(question: str, person: str | None) -> str:
    """Return the text of a question with the column that says whose row it is, which the log calls PERSON."""
    if person is None:
        return question
    from celosia.query.plan.expressions import Column
    from celosia.query.plan.to_sql import render

    name = render(Column(person))
    return _PERSON.sub(lambda match: name if match[0] == "PERSON" else match[0], question)


def meaning_of(guarantee: Guarantee, language: "Language") -> str:
    """Return what a guarantee means to one person, in plain words; empty for kinds that have none here."""
    unit = language.text("answer.unit_person" if guarantee.unit == "person" else "answer.unit_row")
    if isinstance(guarantee, ZCDP):
        return language.text("answer.meaning_rho", unit=unit)
    if not isinstance(guarantee, PureDP | ApproxDP):
        return ""
    # Rounded up, as everything that is a promise; beyond the range of doubles nothing is promised that words can say.
    large = guarantee.epsilon > _LARGEST_POWER
    factor = "e^ε" if large else numeral(exp_at_least(guarantee.epsilon), language.code, rounded="up")
    sentences = [language.text("answer.meaning_epsilon", unit=unit, factor=factor)]
    if isinstance(guarantee, ApproxDP) and guarantee.delta:
        delta = numeral(guarantee.delta, language.code, rounded="up")
        sentences.append(language.text("answer.meaning_delta", delta=delta))
    return " ".join(sentences)


def _list(visit: "WebSession") -> "Response":
    answers = visit.guard.answers(visit.identity, _MOST)
    persons, own = _persons(visit, answers), _has_budget(visit)
    shown = [
        (
            answer,
            cost_of(answer),
            as_asked(answer.question, persons.get(answer.dataset)),
            paid_for(answer, own_budget=own),
        )
        for answer in answers
    ]
    return page(visit, "answers.html", answers=shown)


def _has_budget(visit: "WebSession") -> bool:
    return any(line.scope.analyst is not None for line in visit.guard.budget(visit.identity))


def _persons(visit: "WebSession", answers: "Iterable[Answer]") -> dict[str, str]:
    """The column that says whose row it is, of each data set that has one and may still be seen."""
    if not any("PERSON" in answer.question for answer in answers):
        return {}
    tables = ((card.name, table) for card in visit.guard.datasets(visit.identity) for table in card.tables)
    return {name: table.person for name, table in tables if table.person is not None}


def _answer(visit: "WebSession") -> "Answer":
    return visit.guard.answer(visit.identity, visit.names["id"])


def _released(answer: "Answer") -> "TableRelease":
    from celosia.query.serial.release import release_from_json

    if answer.release is None:
        raise NotFoundError(kind="answer", name=answer.id)
    return release_from_json(answer.release)


def _level(visit: "WebSession") -> str:
    return visit.asked("level") if visit.asked("level") in _LEVELS else _USUAL_LEVEL


def _show(visit: "WebSession") -> "Response":
    answer, level = _answer(visit), _level(visit)
    about: dict[str, Any] = {
        "question": as_asked(answer.question, _persons(visit, [answer]).get(answer.dataset)),
        "paid": paid_for(answer, own_budget=_has_budget(visit)),
    }
    values: dict[str, Any] = {"table": None, "charts": [], "notes": [], "guarantee": cost_of(answer), "meaning": ""}
    values["limits_cut"] = False
    if answer.release is not None:
        release = _released(answer)
        values = {
            "table": answer_table(release, visit.language.code, float(level)),
            "charts": chart_columns(release),
            "notes": [worded(note, visit.language) for note in release.notes],
            "guarantee": release.guarantee,
            "limits_cut": release.true_intervals is not None,
            "meaning": meaning_of(release.guarantee, visit.language),
        }
    percent = f"{100 * float(level):g}"
    return page(visit, "answer.html", answer=answer, level=level, percent=percent, levels=_LEVELS, **about, **values)


def _specification(visit: "WebSession") -> dict[str, object]:
    release = _released(_answer(visit))
    columns = chart_columns(release)
    column = visit.asked("column") or next(iter(columns), "")
    if column not in columns:
        raise NotFoundError(kind="chart", name=column)
    dark = visit.asked("theme") == "dark"
    return chart_specification(release, column, level=float(_level(visit)), language=visit.language, dark=dark)


def _chart(visit: "WebSession") -> "Response":
    return JSONResponse(_specification(visit))


def _picture(visit: "WebSession") -> "Response":
    return Response(chart_picture(_specification(visit)), media_type="image/svg+xml")


def _csv(visit: "WebSession") -> "Response":
    answer = _answer(visit)
    return _file(answer_csv(_released(answer), float(_level(visit))), "text/csv; charset=utf-8", f"{answer.id}.csv")


def _json(visit: "WebSession") -> "Response":
    answer = _answer(visit)
    text = json.dumps(answer.to_json(), ensure_ascii=False, indent=2, allow_nan=False)
    return _file(text, "application/json", f"{answer.id}.json")


def _file(text: str, media_type: str, name: str) -> "Response":
    safe = "".join(letter for letter in name if letter.isascii() and (letter.isalnum() or letter in "._-"))
    return Response(
        text, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="celosia-{safe}"'}
    )


ANSWER_PAGES: Final = (
    Page(path="/answers", view=_list),
    Page(path="/answers/{id}", view=_show),
    Page(path="/answers/{id}/chart.json", view=_chart),
    Page(path="/answers/{id}/chart.svg", view=_picture),
    Page(path="/answers/{id}/answer.csv", view=_csv),
    Page(path="/answers/{id}/answer.json", view=_json),
)
"""Answers."""
