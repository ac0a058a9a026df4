"""An export holds every line once, in little memory, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import ParameterError
from celosia.guard.log import search
from celosia.guard.log.export import FORMATS, escape_formula, export_lines
from celosia.guard.log.search import LogFilter

ALL = LogFilter()


@given(st.text(max_size=20) | st.sampled_from(["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"]))
def test_no_cell_begins_a_formula(text: str) -> None:
    cell = escape_formula(text)
    assert cell.removeprefix("'").endswith(text.removeprefix("'"))
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_lines_are_written_as_they_are_and_as_sentences() -> None:
    with cl.open_ledger("memory://") as ledger:
        ledger.record("=HYPERLINK(1)", {"by": "@ana", "dataset": "-deaths", "x": 'a "quoted", text\nof two lines'})
        ledger.record("key revoked", {"by": "olga", "key": "0", "user": "eva"})
        exact = "".join(export_lines(ledger, ALL, "jsonl", after=0, language="en"))
        table = "".join(export_lines(ledger, ALL, "csv", after=1, language="es"))
        few = "".join(export_lines(ledger, LogFilter(user="eva"), "jsonl", after=0, language="en"))
        written = io.StringIO()
        ledger.export(written)
    assert exact == written.getvalue()
    assert [json.loads(line)["sequence"] for line in few.splitlines()] == [3]
    odd, plain = csv.DictReader(io.StringIO(table))
    assert (odd["kind"], odd["user"], odd["dataset"]) == ("'=HYPERLINK(1)", "'@ana", "'-deaths")
    assert json.loads(odd["body"])["x"] == 'a "quoted", text\nof two lines'
    assert plain["sentence"] == "olga revocó la clave 0 de eva."
    assert (plain["sequence"], len(plain["hash"])) == ("3", 64)


def test_costs_are_in_symbols_and_in_the_language() -> None:
    with cl.open_ledger("memory://") as ledger:
        ledger.set_budget(cl.ApproxDP(epsilon=3, delta="1e-6"), dataset="deaths")
        event = cl.mechanisms.Laplace(epsilon="0.2", sensitivity=1).event
        ledger.reserve(event, dataset="deaths", analyst="ana", question="?")
        for language, words in (("en", "at a cost of ε = 0.2:"), ("es", "con un coste de ε = 0,2:")):
            table = "".join(export_lines(ledger, LogFilter(kind="reserved"), "csv", after=0, language=language))
            [line] = csv.DictReader(io.StringIO(table))
            assert words in line["sentence"]


def test_a_long_log_takes_no_more_memory_than_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_PAGE_SIZE", 10)
    with cl.open_ledger("memory://") as ledger:
        with ledger.store.transaction() as connection:
            for number in range(1_000):
                ledger.record("note", {"number": number, "text": "x" * 3_000}, connection=connection)
        for form in FORMATS:
            list(export_lines(ledger, ALL, form, after=999, language="en"))  # what is loaded once
            tracemalloc.start()
            size = sum(len(piece) for piece in export_lines(ledger, ALL, form, after=0, language="en"))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert size > 3_000_000
            assert peak < size / 2, form


def test_other_formats_are_refused_before_anything_is_read() -> None:
    with cl.open_ledger("memory://") as ledger:
        for form in ("xml", "", "CSV"):
            with pytest.raises(ParameterError, match="format must be one of csv, jsonl"):
                export_lines(ledger, ALL, form, after=0, language="en")
