"""Writing a question, seeing what it would cost and how far off it would be, and asking it.

A preview spends nothing and reads nothing. The form carries an idempotency key that was drawn when the page was made:
pressing the button twice, or sending the form again because the network failed, asks once and pays once.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote as quoted

from celosia.core.adjacency import AddRemove
from celosia.core.errors import CelosiaError
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee
from celosia.guard.queries.requests import QueryRequest
from celosia.guard.roles import Permission
from celosia.guard.web.cookies import fresh_secret
from celosia.guard.web.costs import shares_of, tightest_of
from celosia.guard.web.i18n.numerals import share
from celosia.guard.web.i18n.wording import worded
from celosia.guard.web.picking import AGGREGATES, OPERATORS, Choices
from celosia.guard.web.presets import best_guess, preset_rows
from celosia.guard.web.rendering import mendable, page, redirect
from celosia.guard.web.views.datasets import budget_lines
from celosia.guard.web.web_session import Page

if TYPE_CHECKING:
    from starlette.responses import Response

    from celosia.guard.datasets.cards import DatasetCard, TableCard
    from celosia.guard.web.web_session import WebSession
    from celosia.ledger import Line
    from celosia.query import Preview

_TABS: Final = ("sql", "form")
_NUMBERS: Final = ("epsilon", "rho", "delta", "error", "confidence", "rows")
_USUAL: Final = {"epsilon": Fraction(1, 10), "rho": Fraction(1, 200)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSummary:
    """In which unit a question is paid, how much there is, and between what the slider moves."""

    unit: str
    left: Fraction
    delta: bool = False

    @classmethod
    def of(cls, lines: "list[Line]") -> "BudgetSummary":
        """Return what can be paid from, given the budgets that a question is charged to, the data set's first."""
        own = [line for line in lines if line.scope.dataset is not None and line.scope.analyst is None]
        limit = own[0].policy.limit if own else None
        unit = "rho" if isinstance(limit, ZCDP) else "epsilon"
        left = [amount for line in lines for amount in _amounts(line, unit)]
        return cls(unit=unit, left=min(left, default=Fraction(0)), delta=isinstance(limit, ApproxDP))

    @property
    def high(self) -> str:
        """The most that the slider gives: what is left, to two digits, rounded down."""
        return _two_digits(self.left)

    @property
    def low(self) -> str:
        """The least that the slider gives."""
        return _two_digits(min(Fraction(1, 100) if self.unit == "epsilon" else Fraction(1, 1000), self.left / 10))

    @property
    def usual(self) -> str:
        """What the form proposes."""
        return _two_digits(min(_USUAL[self.unit], self.left) or _USUAL[self.unit])


def _amounts(line: "Line", unit: str) -> list[Fraction]:
    found = [getattr(line.remaining, unit, None), getattr(line.window_remaining, unit, None)]
    return [amount for amount in found if isinstance(amount, Fraction)]


def _two_digits(amount: Fraction) -> str:
    if amount <= 0:
        return "0"
    power = 0
    while amount * 10**power < 10 and power < 30:
        power += 1
    whole = int(amount * 10**power)
    return f"{whole / 10**power:.{power}f}".rstrip("0").rstrip(".") if power else str(whole)


def left_after(remaining: Guarantee, cost: Guarantee) -> Guarantee | None:
    """Return what would be left, or None if that is no difference of numbers of one kind."""
    if type(remaining) is not type(cost):
        return None
    names = [name for name in ("epsilon", "delta", "rho") if hasattr(cost, name)]
    if not names:
        return None
    rest: dict[str, Any] = {name: max(Fraction(0), getattr(remaining, name) - getattr(cost, name)) for name in names}
    return replace(remaining, **rest)


def _table(card: "DatasetCard") -> "TableCard":
    return next(table for table in card.tables if not table.public)


def _tab(visit: "WebSession") -> str:
    tab = visit.asked("tab") or visit.filled("tab")
    return tab if tab in _TABS else "sql"


def _sql(visit: "WebSession", card: "DatasetCard") -> str:
    """The text of the question; choices become one."""
    return visit.filled("sql") if visit.filled("tab") != "form" else Choices.of(visit.form).sql(_table(card))


def _question(visit: "WebSession", card: "DatasetCard") -> QueryRequest:
    numbers = {name: _plain(visit, visit.filled(name)) for name in _NUMBERS}
    if numbers["error"]:  # it says how much is spent
        numbers |= {"epsilon": "", "rho": ""}
    else:
        numbers["confidence"] = ""
    given = {name: value for name, value in numbers.items() if value}
    return QueryRequest(dataset=card.name, sql=_sql(visit, card), **given)


def _plain(visit: "WebSession", number: str) -> str:
    """A number with a decimal point, from somebody whose language has a comma."""
    return number.replace(",", ".") if visit.language.code == "es" and number.count(",") == 1 else number


def _written(visit: "WebSession", card: "DatasetCard", **values: object) -> "Response":
    """The page on which a question is written, with whatever is known about it."""
    lines = budget_lines(visit, card.name)
    tab = _tab(visit)
    known: dict[str, object] = {"preview": None, "problem": None, "refused": None, "status": 200} | values
    return page(
        visit,
        "ask.html",
        status=int(str(known.pop("status"))),
        card=card,
        table=_table(card),
        tab=tab,
        lines=lines,
        summary=BudgetSummary.of(lines),
        choices=Choices.of(visit.form),
        sql=known.pop("sql", None) or visit.filled("sql") or Choices().sql(_table(card)),
        key=fresh_secret(words=2),
        aggregates=AGGREGATES,
        operators=OPERATORS,
        presets=preset_rows(),
        **known,
    )


def _card(visit: "WebSession") -> "DatasetCard":
    visit.identity.require(Permission.ASK)
    return visit.guard.dataset(visit.identity, visit.names["name"])


def _show(visit: "WebSession") -> "Response":
    return _written(visit, _card(visit))


def _preview(visit: "WebSession") -> "Response":
    card = _card(visit)
    if visit.fragment and visit.filled("tab") == "sql" and not visit.filled("sql"):  # nothing is wrong yet
        return page(visit, "preview.html", preview=None, problem=None)
    try:
        asked = _question(visit, card)
        told = _told(visit, visit.guard.preview(visit.identity, asked), asked.sql or "")
        problem = None
    except CelosiaError as error:
        told, problem, asked = None, mendable(error), None
    if visit.fragment:
        return page(visit, "preview.html", preview=told, problem=problem)
    sql = asked.sql if asked is not None and _tab(visit) == "sql" else None
    return _written(visit, card, preview=told, problem=problem, sql=sql)


def _told(visit: "WebSession", preview: "Preview", sql: str) -> dict[str, object]:
    tightest = tightest_of(budget_lines(visit, visit.names["name"]), preview.cost)
    left = preview.remaining if tightest is None else tightest.left
    shares, keys = shares_of(preview)
    return {
        "preview": preview,
        "sql": sql,
        "tightest": tightest,
        "left": left,
        "after": left_after(left, preview.cost),
        "guess": best_guess(preview.cost) if preview.cost.adjacency is AddRemove else None,
        "asked_share": None if tightest is None else share(preview.cost, tightest.limit),
        "shares": shares,
        "keys_percent": keys,
        "mechanisms": [worded(line.mechanism, visit.language) for line in preview.lines],
        "notes": [worded(note, visit.language) for note in preview.notes],
    }


def _ask(visit: "WebSession") -> "Response":
    card = _card(visit)
    try:
        answer = visit.guard.ask(visit.identity, _question(visit, card), visit.filled("key"))
    except CelosiaError as error:
        problem = mendable(error)
        return _written(visit, card, refused=problem, status=problem.status)
    return redirect(f"/answers/{quoted(answer.id, safe='')}")


def _back(visit: "WebSession") -> "Response":
    """A preview that is a page of its own has an address, which is opened again in another language."""
    return redirect(f"/datasets/{quoted(visit.names['name'], safe='')}/ask")


ASK_PAGES: Final = (
    Page(path="/datasets/{name}/ask", view=_show),
    Page(path="/datasets/{name}/ask", view=_ask, method="POST", costly=True, spends=True),
    Page(path="/datasets/{name}/preview", view=_preview, method="POST", costly=True),
    Page(path="/datasets/{name}/preview", view=_back),
)
"""Questions."""
