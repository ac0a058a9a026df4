"""The report of a release, as one HTML page.

The report for inside has the risk before and after, the log of the steps and what an attacker would guess; it is as
confidential as the data. The report for outside goes with the file: what was done to which columns, how far tables are
off, and what the file does not protect against. It has no figure of risk, no seed, and no parameter of a swap or of
noise, for these help to take the protection back.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from celosia.anonymity.advice.comparable import measure_guesses, measure_table_error
from celosia.anonymity.microdata.figures import write_number, write_percent
from celosia.anonymity.microdata.files import write_text
from celosia.anonymity.models import Measures, measure
from celosia.anonymity.plans import Outcome
from celosia.anonymity.plans.facts import collect_facts
from celosia.anonymity.report.charts import draw_class_sizes, draw_column
from celosia.anonymity.report.methods import describe_step, list_columns, list_limits, name_step
from celosia.anonymity.risk import measure_risk
from celosia.anonymity.utility.pairs import find_rows
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.html_page import (
    escape_text,
    write_code,
    write_figure,
    write_list,
    write_page,
    write_paragraph,
    write_section,
    write_table,
)
from celosia.core.messages.message import Message, Numeral
from celosia.plots.save import render_svg

if TYPE_CHECKING:
    import altair as alt

Audience: TypeAlias = Literal["inside", "outside"]
"""Whom a report is for."""
_AUDIENCES: Final = ("inside", "outside")
_MOST_CHARTS: Final = 8


def write_report(
    outcome: Outcome, path: str | Path, *, audience: Audience, language: str = "en", title: str = ""
) -> Path:
    """Write the report of a plan that was applied into an HTML file, and return its path.

    >>> import tempfile, pyarrow as pa
    >>> from celosia.anonymity import Mondrian, Plan, Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 31]}), roles=Roles(quasi_identifiers=["age"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = Plan(steps=[Mondrian(k=2)]).apply(data)
    ...     write_report(outcome, f"{folder}/report.html", audience="outside").name
    'report.html'
    """
    return write_text(make_report(outcome, audience=audience, language=language, title=title), path)


def make_report(outcome: Outcome, *, audience: Audience, language: str = "en", title: str = "") -> str:
    """Return the report of a plan that was applied, as HTML.

    Parameters
    ----------
    outcome
        What ``Plan.apply`` returned.
    audience
        ``"inside"``: with the risk, as confidential as the data. ``"outside"``: for those who receive the file.
    language
        ``"en"`` or ``"es"``.
    title
        The name of the file in the title.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Mondrian, Plan, Roles, read_microdata
    >>> frame = pa.table({"age": [30, 31, 58, 60], "illness": ["flu", "flu", "none", "asthma"]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    >>> page = make_report(Plan(steps=[Mondrian(k=2)]).apply(data), audience="outside")
    >>> "differential privacy" in page
    True
    """
    if audience not in _AUDIENCES:
        raise ParameterError("anonymity_report.unknown_audience", value=safe_repr(audience))
    writer = _Writer(outcome, language)
    inside = audience == "inside"
    sections = writer.write_inside() if inside else writer.write_outside()
    heading = writer.say("anonymity_report.title_inside" if inside else "anonymity_report.title_outside")
    lead = writer.say("anonymity_report.lead_inside" if inside else "anonymity_report.lead_outside")
    return write_page(f"{title}: {heading}" if title else heading, lead, sections, language=language)


class _Writer:
    """The sections of a report in one language."""

    def __init__(self, outcome: Outcome, language: str) -> None:
        self._outcome = outcome
        self._original, self._data = outcome.original, outcome.data
        self._language = language

    def say(self, code: str, /, **fields: object) -> str:
        """Return a sentence in the language of the report."""
        return Message(code, **fields).render(self._language)

    def write_inside(self) -> list[str]:
        """Return the sections of the report that stays in the house."""
        return [
            self._section("file", self._describe_file(), self._list_roles()),
            self._section("steps", self._list_log(), self._list_requirements()),
            self._section("risk", *self._compare_classes(), self._describe_guesses()),
            self._section("utility", self._describe_error(), self._compare_columns(), *self._draw_columns()),
            self._section("limits", self._list_limits()),
        ]

    def _compare_classes(self) -> list[str]:
        """Return the risk by classes; records of a synthetic file are nobody's, so its classes say nothing."""
        if self._data.is_synthetic or not self._original.roles.quasi_identifiers:
            return []
        before, after = measure(self._original), measure(self._data, original=self._original)
        sizes = before.sizes[before.ids], after.sizes[after.ids]
        chart = draw_class_sizes(*sizes, language=self._language)
        return [self._compare_risk(), self._compare_sensitive(before, after), self._draw(chart)]

    def write_outside(self) -> list[str]:
        """Return the sections of the report that goes with the file."""
        # What is computed from the original would go round the guarantee of a private step.
        private = self._outcome.plan.is_private
        use = [] if private else [self._section("use", self._describe_error(), self._describe_changes())]
        return [
            self._section("file", self._describe_file(), self._list_treatments()),
            self._section("methods", self._list_methods()),
            *use,
            self._section("limits", self._list_limits()),
        ]

    def _section(self, name: str, *parts: str) -> str:
        return write_section(name, self.say(_HEADINGS[name]), parts)

    def _table(self, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        escaped = [[escape_text(cell) for cell in row] for row in rows]
        return write_table(self.say(caption), [self.say(code) for code in head], [[row] for row in escaped])

    def _number(self, value: float | None) -> str:
        return "–" if value is None else write_number(round(value, 6)).render(self._language)

    def _percent(self, share: float | None) -> str:
        return "–" if share is None else write_percent(share).render(self._language)

    # ------------------------------------------------------------------------------------------------------ the file

    def _describe_file(self) -> str:
        columns = len(self._data.to_release().column_names) if len(self._data) else 0
        return write_paragraph(
            self.say("anonymity_report.file", records=Numeral(f"{len(self._data):,}"), columns=columns)
        )

    def _list_roles(self) -> str:
        roles = self._original.roles
        lines = [
            (name, self.say(code))
            for code, names in (
                ("anonymity_report.identifier", roles.identifiers),
                ("anonymity_report.quasi_identifier", roles.quasi_identifiers),
                ("anonymity_report.sensitive", roles.sensitive),
                ("anonymity_report.weight", (roles.weight,) if roles.weight else ()),
                ("anonymity_report.household", (roles.household,) if roles.household else ()),
                ("anonymity_report.other", roles.others),
            )
            for name in names
        ]
        return self._table("anonymity_report.roles", ("anonymity_report.column", "anonymity_report.role"), lines)

    def _list_treatments(self) -> str:
        """Return for each released column what happened to it."""
        lines = [(name, self._describe_treatment(name)) for name in self._data.to_release().column_names]
        return self._table("anonymity_report.columns", ("anonymity_report.column", "anonymity_report.treatment"), lines)

    def _describe_treatment(self, name: str) -> str:
        if name == self._original.roles.household:
            return self.say("anonymity_report.renumbered")
        steps = [step for step in self._outcome.plan.steps if name in list_columns(step, self._original)]
        if not steps or self._is_unchanged(name):
            return self.say("anonymity_report.unchanged")
        told = [name_step(step) for step in steps]
        written = [one.render(self._language) if isinstance(one, Message) else one for one in told]
        return ", ".join(dict.fromkeys(written))

    def _is_unchanged(self, name: str) -> bool:
        import pyarrow as pa

        if self._data.is_synthetic:
            return False
        places = pa.array(find_rows(self._original, self._data))
        return bool(self._original.get_column(name).take(places).equals(self._data.get_column(name)))

    # ----------------------------------------------------------------------------------------------------- the steps

    def _list_log(self) -> str:
        facts = [collect_facts(self._original, self._original)]
        names = [escape_text(self.say("anonymity_report.original"))]
        for entry in self._outcome.log:
            facts.append(entry.after)
            settings = ", ".join(f"{name}={value}" for name, value in entry.step.items() if name != "kind")
            names.append(f"{escape_text(str(entry.step['kind']))}<br>{write_code(settings)}")
        rows = [
            [
                name,
                *map(self._number, (fact.records, fact.k, fact.uniques)),
                *map(self._percent, (fact.risk, fact.loss, fact.suppressed)),
            ]
            for name, fact in zip(names, facts, strict=True)
        ]
        return write_table(self.say("anonymity_report.log"), [self.say(name) for name in _LOG], [[row] for row in rows])

    def _list_requirements(self) -> str:
        if self._outcome.guarantees:
            return self._describe_guarantees()
        models = self._outcome.plan.require
        if not models:
            return write_paragraph(self.say("anonymity_report.nothing_required"), warning=True)
        listed = ", ".join(map(repr, models))
        return write_paragraph(self.say("anonymity_report.required", models=listed))

    def _list_methods(self) -> str:
        told = write_list([describe_step(step).render(self._language) for step in self._outcome.plan.steps])
        return f"{told}\n{self._describe_guarantees()}"

    def _describe_guarantees(self) -> str:
        told = [self.say("anonymity_report.guaranteed", guarantee=one) for one in self._outcome.guarantees]
        return "\n".join(map(write_paragraph, told))

    # ------------------------------------------------------------------------------------------------------ the risk

    def _compare_risk(self) -> str:
        before, after = measure_risk(self._original), measure_risk(self._data)
        rows = [
            (name.render(self._language), one.render(self._language), two.render(self._language))
            for (name, one), (_, two) in zip(before.figures, after.figures, strict=True)
        ]
        return self._table("anonymity_report.risk_table", _BEFORE_AFTER, rows)

    def _compare_sensitive(self, before: Measures, after: Measures) -> str:
        rows = []
        for name, one in before.sensitive.items():
            two = after.sensitive[name]
            for code, attribute in _MEASURES.items():
                values = getattr(one, attribute), getattr(two, attribute)
                rows.append((f"{name}: {self.say(code)}", *map(self._number, values)))
            shares = [_share_alike(found, name) for found in (before, after)]
            rows.append((f"{name}: {self.say('anonymity_report.alike')}", *map(self._percent, shares)))
        return self._table("anonymity_report.sensitive_table", _BEFORE_AFTER, rows) if rows else ""

    def _describe_guesses(self) -> str:
        rows = []
        for name in self._original.roles.sensitive:
            one = measure_guesses(self._original, self._original, column=name)
            two = measure_guesses(self._original, self._data, column=name)
            rows.append((name, *map(self._percent, (one.success, two.success, one.baseline))))
        if not rows:
            return ""
        head = (*_BEFORE_AFTER, "anonymity_report.without_file")
        return self._table("anonymity_report.guesses", head, rows)

    # --------------------------------------------------------------------------------------------------- the utility

    def _describe_error(self) -> str:
        error = measure_table_error(self._original, self._data)
        return write_paragraph(self.say("anonymity_report.table_error", share=Numeral(f"{100 * error:.2g}")))

    def _list_shared(self) -> list[str]:
        """Return the quasi-identifiers and sensitive columns that the result still has."""
        names = (*self._original.roles.quasi_identifiers, *self._original.roles.sensitive)
        return [name for name in names if name in self._data.table.column_names]

    def _compare_columns(self) -> str:
        """Return means and standard deviations of the numbers that are still numbers."""
        rows = [(label, self._number(one), self._number(two)) for label, one, two in self._list_moments()]
        return self._table("anonymity_report.numbers", _BEFORE_AFTER, rows) if rows else ""

    def _describe_changes(self) -> str:
        """Return by how many percent means and standard deviations moved, rounded up.

        The exact numbers of the original would tell what top coding hides: with one value above the limit, that one.
        """
        rows = [
            (label, write_percent(math.ceil(100 * abs(two - one) / abs(one)) / 100).render(self._language))
            for label, one, two in self._list_moments()
            if one
        ]
        head = ("anonymity_report.figure", "anonymity_report.change")
        return self._table("anonymity_report.numbers_outside", head, rows) if rows else ""

    def _list_moments(self) -> "Iterator[tuple[str, float, float]]":
        """Yield the mean and the standard deviation of each column of numbers, before and after."""
        import pyarrow as pa

        for name in self._list_shared():
            kinds = [one.table.schema.field(name).type for one in (self._original, self._data)]
            values = [
                one.get_numbers(name)
                for one, kind in zip((self._original, self._data), kinds, strict=True)
                if pa.types.is_integer(kind) or pa.types.is_floating(kind)
            ]
            if len(values) == len(kinds) and all(np.isfinite(one).any() for one in values):
                for code, find in (("anonymity_report.mean", np.nanmean), ("anonymity_report.deviation", np.nanstd)):
                    before, after = (float(find(one)) for one in values)
                    yield f"{name}: {self.say(code)}", before, after

    def _draw_columns(self) -> list[str]:
        charts = [
            draw_column(self._original, self._data, name, language=self._language) for name in self._list_shared()
        ]
        return [self._draw(chart) for chart in charts if chart is not None][:_MOST_CHARTS]

    def _draw(self, chart: "alt.LayerChart") -> str:
        spec = chart.to_dict()
        return write_figure(render_svg(spec), str(spec["title"]["text"]))

    # ---------------------------------------------------------------------------------------------------- the limits

    def _list_limits(self) -> str:
        synthetic = self._data.is_synthetic
        limits = list_limits(self._original, self._outcome.plan.steps, synthetic=synthetic)
        return write_list([limit.render(self._language) for limit in limits])


_HEADINGS: Final = {
    "file": "anonymity_report.heading_file",
    "steps": "anonymity_report.heading_steps",
    "risk": "anonymity_report.heading_risk",
    "utility": "anonymity_report.heading_utility",
    "methods": "anonymity_report.heading_methods",
    "use": "anonymity_report.heading_use",
    "limits": "anonymity_report.heading_limits",
}
_BEFORE_AFTER: Final = ("anonymity_report.figure", "plots.before", "plots.after")
_LOG: Final = (
    "anonymity_report.step",
    "anonymity_report.records",
    "anonymity_report.k",
    "anonymity_report.uniques",
    "anonymity_report.expected_rate",
    "anonymity_report.loss",
    "anonymity_report.suppressed",
)
_MEASURES: Final = {
    "anonymity_report.distinct": "distinct",
    "anonymity_report.entropy": "entropy",
    "anonymity_report.equal": "equal",
}


def _share_alike(found: Measures, name: str) -> float:
    """Return the share of records whose class has one value of a sensitive column."""
    alike = found.sensitive[name].by_class["distinct"] == 1
    return float(alike[found.ids].mean())
