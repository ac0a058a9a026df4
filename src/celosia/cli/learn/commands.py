"""``celosia learn``: fit a private model, predict with it, and show its card.

A model that learns from sums is fitted where the rows are, and no row leaves the database or is held in memory; the
others read the columns that they need, through the schema's rules. The cost is reserved before that, in the ledger if
there is one, and the model is a file with its guarantee inside. What is wrong with the options is found first.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from celosia.cli.account.options import commands, spread
from celosia.cli.account.show import waiting
from celosia.cli.completion import methods, models, offer
from celosia.cli.guard.opening import print_message, print_table
from celosia.cli.learn_models import MODELS, Model, find_model
from celosia.cli.query.commands import LedgerOptions, Spending, describe_spending
from celosia.cli.tables import DatabaseTableOption, FileArgument, SchemaOption, open_table
from celosia.cli.terminal import print_file, print_line
from celosia.cli.writing import check_place, write_whole
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message, join_messages

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee
    from celosia.data import Table
    from celosia.query import Session

learn = commands("learn", "Learn privately: fit models, predict with them, and show their cards.")
"""The sub-command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What is learned of which columns, as given on the command line."""

    file: FileArgument
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What is fitted, such as logistic; see learn models.", autocompletion=offer(models)
        ),
    ]
    schema: SchemaOption
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that is to be predicted.")] = None
    features: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="The columns to learn from, a,b; by default all others.")
    ] = None
    table: DatabaseTableOption = None
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="Only some of the rows, such as 'age >= 18'.")
    ] = None
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="How; see celosia learn models.", autocompletion=offer(methods))
    ] = None
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the model: n_clusters=3. May be repeated."),
    ] = None

    def open_table(self) -> "Table":
        """Return the table; nothing of it is read."""
        return open_table(self.file, self.schema, self.table)

    def columns(self, table: "Table", model: Model) -> list[str]:
        """Return the features; by default all columns of the schema but the target."""
        if (model.target is None) != (self.target is None):
            code = "cli.model_without_target" if model.target is None else "cli.missing_target"
            raise ParameterError(code, model=model.word)
        named = list(table.schema) if self.features is None else [part.strip() for part in self.features.split(",")]
        chosen = [name for name in named if name != self.target or self.features is not None]
        for name in (*chosen, *(() if self.target is None else (self.target,))):
            if name not in table.schema:
                raise ParameterError("cli.column_not_in_schema", name=safe_repr(name), known=", ".join(table.schema))
        texts = [name for name in chosen if table.schema[name].axis is None]
        if texts and model.estimator != "CategoricalNB":
            raise ParameterError("cli.feature_not_numeric", column=safe_repr(texts[0]))
        return chosen

    def settings(self) -> dict[str, Any]:
        """Return the parameters that are set beside those with an option of their own."""
        given = {} if self.method is None else {"method": self.method}
        return given | dict(map(_setting, self.setting or []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a fit may cost, as given on the command line."""

    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="What the fit may cost, such as 1.")] = None
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="A delta beside it, such as 1e-6: less noise, Gaussian.")
    ] = None
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="In place of epsilon: zero-concentrated.")] = None

    def budget(self) -> "Guarantee":
        """Return all that may be spent."""
        return Spending(epsilon=self.epsilon, delta=self.delta, rho=self.rho).budget()

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the estimator."""
        self.budget()
        if self.rho is not None:
            return {"epsilon": None, "rho": self.rho}
        return {"epsilon": self.epsilon} | ({} if self.delta is None else {"delta": self.delta})


@learn.command("fit")
@spread
def _fit(
    learned: Learned,
    price: Price,
    remembered: LedgerOptions,
    *,
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where the model goes, such as model.json.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a model that is there.")] = False,
) -> None:
    """Fit a model on FILE and write it, with its guarantee, as JSON.

    Bounds and categories are those of the schema; they are never read from the data. Without --ledger nothing is
    remembered between calls: every fit spends again, and the costs add up.
    """
    check_place(output, name="output", force=force)
    remembered.check()
    model = find_model(learned.model)
    parameters = price.parameters() | learned.settings()
    with waiting("cli_learn.reading_schema"):
        from celosia.query import Session

        table = learned.open_table()
        features = learned.columns(table, model)
        estimator = model.make(**parameters)
        spending = Spending(epsilon=price.epsilon, delta=price.delta, rho=price.rho)
        kept = remembered.session_options(spending, table.name)
        session = Session(table, progress=lambda _: None, **_told_of(kept, table))
    with waiting("cli_learn.fitting"):
        fitted = _fit_model(estimator, session, table, features, learned, model)
        fitted.budget = None
    fitted.save(output)
    rest = remembered.describe_rest(session, Message("cli_learn.nothing_stored"))
    print_line(str(output))
    print_line(join_messages([describe_spending(fitted.guarantee_), rest]), style="dim", stderr=True)


def _told_of(kept: dict[str, Any], table: "Table") -> dict[str, Any]:
    """A budget of the command's own is for the neighbours and the unit of the table."""
    from dataclasses import replace

    if "budget" in kept:
        kept["budget"] = replace(kept["budget"], adjacency=table.adjacency, unit=table.unit)
    return kept


def _fit_model(
    estimator: Any,
    session: "Session",
    table: "Table",
    features: list[str],
    learned: Learned,
    model: Model,
) -> Any:
    if (learned.method or model.methods[0]) in model.sums:
        return session.fit(estimator, features, learned.target, where=learned.where)
    if learned.where is not None:
        raise ParameterError("cli.where_on_memory_fit", model=model.word)
    return _fitted_in_memory(estimator, session, table, features, learned.target, model)


def _fitted_in_memory(
    estimator: Any,
    session: "Session",
    table: "Table",
    features: list[str],
    target: str | None,
    model: Model,
) -> Any:
    """Fit on clean rows in memory; the session pays."""
    from celosia.cli.learn.rows import check_in_memory, clean_rows
    from celosia.data.schema.schema import Schema

    names = [*features, *([] if target is None else [target])]
    check_in_memory(table, names)
    public: dict[str, Any] = {"bounds": Schema({name: table.schema[name] for name in features}), "budget": session}
    if target is not None and model.target == "number":
        public["bounds_y"] = table.schema[target]
    if target is not None and model.target == "classes":
        domain = table.schema[target].domain()
        if domain is None:
            raise ParameterError("cli.target_without_classes", target=safe_repr(target))
        public["classes"] = list(domain)
    estimator.set_params(**{name: value for name, value in public.items() if hasattr(estimator, name)})
    rows = clean_rows(table, names)
    labels = None if target is None else rows.column(target).to_numpy(zero_copy_only=False)
    return estimator.fit(rows.select(features), *([] if labels is None else [labels]))


@learn.command("predict")
def _predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that celosia learn fit has written.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path or glob of Parquet or CSV files.")],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the predictions go, as CSV; without, they are printed.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Predict for the rows of FILE, one line for each: the class, the number, the cluster, or the new columns.

    A row without a value in one of the model's features has an empty line. Predicting costs no privacy of those whom
    the model was learned from; the rows of FILE are read as they are.
    """
    if output is not None:
        check_place(output, name="output", force=force)
    from celosia.cli.learn.show import kinds_of, predictions_csv
    from celosia.learn.io.model_file import load

    with waiting("cli_learn.predicting"):
        from celosia.cli.learn.rows import new_rows

        fitted = load(model)
        text = predictions_csv(fitted, new_rows(file, kinds_of(fitted)))
    _write_or_print(text, output, force=force)


@learn.command("card")
def _card(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that celosia learn fit has written.")],
    as_html: Annotated[bool, typer.Option("--html", help="As a page for a browser; without, as Markdown.")] = False,
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="A public number of rows, for what the noise costs.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the card goes; without, printed.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Print a model's card: its guarantee, bounds and noise, and the cost in accuracy."""
    if output is not None:
        check_place(output, name="output", force=force)
    from celosia.learn.io.card import card
    from celosia.learn.io.model_file import load

    with waiting("cli_learn.reading_model"):
        fitted = load(model)
    text = card(fitted, "html" if as_html else "markdown", rows=rows)
    _write_or_print(text, output, force=force)


def _write_or_print(text: str, output: Path | None, *, force: bool) -> None:
    if output is None:
        print_file(text)
        return
    write_whole(output, text, name="output", force=force)
    print_line(str(output))


@learn.command("models")
def _models() -> None:
    """List the models and their methods."""
    rows = [
        [model.word, _name_target(model), ", ".join(_mark_methods(model)), Message(model.about)]
        for model in MODELS.values()
    ]
    codes = ("cli_learn.model", "cli_learn.target", "cli_learn.methods", "cli_learn.what")
    print_table([Message(code) for code in codes], rows)
    print_message(Message("cli_learn.methods_with_star"))


def _name_target(model: Model) -> str:
    if model.target is None:
        return "–"
    return Message("cli_learn.number" if model.target == "number" else "cli_learn.classes")


def _mark_methods(model: Model) -> list[str]:
    return [f"{method}*" if method in model.sums else method for method in model.methods]


def _setting(text: str) -> tuple[str, Any]:
    """A parameter as it was written: an integer, a number, a boolean, none, or a text."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier() or name in {"budget", "source", "bounds", "epsilon", "delta", "rho"}:
        raise ParameterError("cli.invalid_setting", value=safe_repr(text))
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    for read in (int, float):
        try:
            return name, read(value)
        except ValueError:
            continue
    return name, value
