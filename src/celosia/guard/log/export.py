"""Export the log as CSV or JSON lines, page by page, so that a long log takes no more memory than a short one.

A spreadsheet runs a cell that begins with ``=`` as a formula, and the log holds texts that users chose. So a cell that
could begin a formula gets an apostrophe before it. JSON lines are exact: they are those of ``celosia ledger export``.
"""

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.log.search import LogFilter, find_pages
from celosia.guard.log.sentences import say_lines
from celosia.ledger.log.chain import canonical_json, format_timestamp

if TYPE_CHECKING:
    from celosia.guard.log.sentences import SaidLine
    from celosia.ledger import Ledger, LogLine

FORMATS: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
"""The formats of an export, with their media types."""

_FORMULA_PREFIXES: Final = ("=", "+", "-", "@", "\t", "\r")
_HEADER: Final = ("sequence", "at", "kind", "user", "dataset", "sentence", "body", "previous", "hash")


def escape_formula(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_PREFIXES) else text


def export_lines(ledger: "Ledger", wanted: LogFilter, form: str, *, after: int, language: str) -> Iterator[str]:
    """Return the pieces of an export of the wanted lines, oldest first."""
    if form not in FORMATS:
        raise ParameterError("guard.unknown_log_format", known=", ".join(FORMATS), value=safe_repr(form))
    pages = find_pages(ledger, wanted, after=after, language=language)
    if form == "jsonl":
        return ("".join(f"{line.to_json()}\n" for line in page) for page in pages)
    return _export_csv(ledger, pages, language)


def _export_csv(ledger: "Ledger", pages: "Iterator[tuple[LogLine, ...]]", language: str) -> Iterator[str]:
    yield ",".join(_HEADER) + "\n"
    for page in pages:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(_cells(said, language) for said in say_lines(ledger, page))
        yield text.getvalue()


def _cells(said: "SaidLine", language: str) -> list[str]:
    line = said.line
    texts = [line.kind, said.user, said.dataset, said.write(language), canonical_json(line.body)]
    return [str(line.sequence), format_timestamp(line.at), *map(escape_formula, texts), line.previous, line.hash]
