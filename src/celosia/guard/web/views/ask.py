"""Pages to write, preview and release a query, or to fit a model.

A preview spends nothing and reads no data. The form carries an idempotency key, drawn when the page is made: pressing
the button twice, or sending the form again after a network failure, pays once.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.adjacency import AddRemove
from celosia.core.errors import CelosiaError
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee
from celosia.core.messages.numerals import compute_share
from celosia.guard.auth.directory import draw_hexadecimal
from celosia.guard.datasets.policies import RULE_NOTES
from celosia.guard.roles import Permission
from celosia.guard.schema.requests import FitRequest, QueryRequest
from celosia.guard.web.choices import AGGREGATES, OPERATORS, Choices
from celosia.guard.web.costs import find_tightest_budget, split_cost
from celosia.guard.web.fit_form import MODELS, chosen_features, read_fit, usable_columns
from celosia.guard.web.presets import guess_probability, preset_rows
from celosia.guard.web.rendering import form_problem, render_page
from celosia.guard.web.views.datasets import budget_lines
from celosia.guard.web.web_session import Page, Reply, WebSession
from celosia.serving.pages.languages import translate
from celosia.serving.pages.templates import make_path, redirect

if TYPE_CHECKING:
    from celosia.guard.schema.replies import DatasetCard, TableCard
    from celosia.ledger import StatementLine
    from celosia.query import Preview

_TABS: Final = ("sql", "form", "model")
_NUMBERS: Final = ("epsilon", "rho", "delta", "error", "confidence", "rows")
_DEFAULT_AMOUNTS: Final = {"epsilon": Fraction(1, 10), "rho": Fraction(1, 200)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSummary:
    """The unit of a query's cost, the remaining amount, and the range of the slider."""

    unit: str
    left: Fraction
    delta: bool = False

    @classmethod
    def of(cls, lines: "list[StatementLine]") -> "BudgetSummary":
        """Return the summary of the budgets that a query is charged to."""
        own = [line for line in lines if line.scope.dataset is not None and line.scope.analyst is None]
        limit = own[0].policy.limit if own else None
        unit = "rho" if isinstance(limit, ZCDP) else "epsilon"
        left = [amount for line in lines for amount in _amounts(line, unit)]
        return cls(unit=unit, left=min(left, default=Fraction(0)), delta=isinstance(limit, ApproxDP))

    @property
    def high(self) -> str:
        """The maximum of the slider: the remaining amount, to two digits, rounded down."""
        return _two_digits(self.left)

    @property
    def low(self) -> str:
        """The minimum of the slider."""
        return _two_digits(min(Fraction(1, 100) if self.unit == "epsilon" else Fraction(1, 1000), self.left / 10))

    @property
    def default(self) -> str:
        """The default amount."""
        return _two_digits(min(_DEFAULT_AMOUNTS[self.unit], self.left) or _DEFAULT_AMOUNTS[self.unit])


def _amounts(line: "StatementLine", unit: str) -> list[Fraction]:
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


def remaining_after(remaining: Guarantee, cost: Guarantee) -> Guarantee | None:
    """Return the remainder after a cost; None if the two are of different kinds."""
    if type(remaining) is not type(cost):
        return None
    names = [name for name in ("epsilon", "delta", "rho") if hasattr(cost, name)]
    if not names:
        return None
    rest: dict[str, Any] = {name: max(Fraction(0), getattr(remaining, name) - getattr(cost, name)) for name in names}
    return replace(remaining, **rest)


def _private_table(card: "DatasetCard") -> "TableCard":
    return next(table for table in card.tables if not table.public)


def _tab(web_session: WebSession) -> str:
    tab = web_session.query_field("tab") or web_session.form_field("tab")
    return tab if tab in _TABS else "sql"


def _sql(web_session: WebSession, card: "DatasetCard") -> str:
    """Return the SQL that a form holds, or that of its choices."""
    if web_session.form_field("tab") == "form":
        return Choices.of(web_session.form).sql(_private_table(card))
    return web_session.form_field("sql")


def _read_request(web_session: WebSession, card: "DatasetCard") -> QueryRequest | FitRequest:
    numbers = {name: web_session.number_field(name) for name in _NUMBERS}
    if web_session.form_field("tab") == "model":
        unit = "rho" if "rho" in web_session.form else "epsilon"  # one without a number is refused
        cost = {unit: numbers[unit]} | ({"delta": numbers["delta"]} if numbers["delta"] else {})
        return read_fit(web_session.form, card.name, _private_table(card).name, cost)
    if numbers["error"]:  # the error determines the cost
        numbers |= {"epsilon": "", "rho": ""}
    else:
        numbers["confidence"] = ""
    given: dict[str, Any] = {name: value for name, value in numbers.items() if value}
    return QueryRequest(dataset=card.name, sql=_sql(web_session, card), **given)


def _render_form(web_session: WebSession, card: "DatasetCard", **values: object) -> Reply:
    """Return the page of the query form, with its preview or problem."""
    lines, table = budget_lines(web_session, card.name), _private_table(card)
    known: dict[str, object] = {"preview": None, "problem": None} | values
    refused = web_session.problem
    return render_page(
        web_session,
        "ask.html",
        status=200 if refused is None else refused.status,
        refused=refused,
        card=card,
        table=table,
        tab=_tab(web_session),
        lines=lines,
        summary=BudgetSummary.of(lines),
        choices=Choices.of(web_session.form),
        sql=known.pop("sql", None) or web_session.form_field("sql") or Choices().sql(table),
        key=draw_hexadecimal(32),
        aggregates=AGGREGATES,
        operators=OPERATORS,
        presets=preset_rows(),
        models=MODELS,
        usable=usable_columns(table),
        chosen=chosen_features(web_session.form),
        **known,
    )


def _find_card(web_session: WebSession) -> "DatasetCard":
    web_session.identity.require(Permission.ASK)
    return web_session.guard.dataset(web_session.identity, web_session.names["name"])


def _show(web_session: WebSession) -> Reply:
    return _render_form(web_session, _find_card(web_session))


def _preview(web_session: WebSession) -> Reply:
    card, tab = _find_card(web_session), _tab(web_session)
    if web_session.fragment and not _has_question(web_session):  # not an error yet
        return render_page(web_session, "preview.html", preview=None, problem=None, tab=tab)
    sql = ""
    try:
        query = _read_request(web_session, card)
        sql = query.sql or "" if isinstance(query, QueryRequest) else ""
        described = _describe_preview(web_session, web_session.guard.preview(web_session.identity, query), sql)
        problem = None
    except CelosiaError as error:
        described, problem = None, form_problem(error)
    if web_session.fragment:
        return render_page(web_session, "preview.html", preview=described, problem=problem, tab=tab)
    sql = sql if tab == "sql" else ""
    return _render_form(web_session, card, preview=described, problem=problem, sql=sql)


def _has_question(web_session: WebSession) -> bool:
    match web_session.form_field("tab"):
        case "sql":
            return bool(web_session.form_field("sql"))
        case "model":
            return bool(chosen_features(web_session.form))
    return True


def _describe_preview(web_session: WebSession, preview: "Preview", sql: str) -> dict[str, object]:
    tightest = find_tightest_budget(budget_lines(web_session, web_session.names["name"]), preview.cost)
    left = preview.remaining if tightest is None else tightest.left
    shares, keys = split_cost(preview)
    return {
        "preview": preview,
        "sql": sql,
        "tightest": tightest,
        "left": left,
        "after": remaining_after(left, preview.cost),
        "guess": guess_probability(preview.cost) if preview.cost.adjacency is AddRemove else None,
        "asked_share": None if tightest is None else compute_share(preview.cost, tightest.limit),
        "shares": shares,
        "keys_percent": keys,
        "mechanisms": [translate(line.mechanism, web_session.language) for line in preview.lines],
        "notes": [translate(note, web_session.language) for note in preview.notes],
        "rule": next((note.code for note in preview.notes if note.code in RULE_NOTES), None),
    }


def _ask(web_session: WebSession) -> Reply:
    card = _find_card(web_session)
    request, key = _read_request(web_session, card), web_session.form_field("key")
    answer = web_session.guard.ask(web_session.identity, request, key)
    return redirect(make_path("answers", answer.id))


def _redirect_back(web_session: WebSession) -> Reply:
    """Redirect the address of a preview page, which a change of language opens again."""
    return redirect(make_path("datasets", web_session.names["name"], "ask"))


PAGES: Final = (
    Page(path="/datasets/{name}/ask", view=_show),
    Page(path="/datasets/{name}/ask", view=_ask, method="POST", form=_show, costly=True, spends=True),
    Page(path="/datasets/{name}/preview", view=_preview, method="POST", costly=True),
    Page(path="/datasets/{name}/preview", view=_redirect_back),
)
"""Questions."""
