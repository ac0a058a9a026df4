"""One HTML page to read, print and pass on: text, tables and pictures, in one column.

The page stands alone: charts are pictures inside it, and its content policy forbids it to load or send anything or to
run a script, so that reading it reveals nothing. Its colours are light or dark as the reader's system is; charts are
drawn on white. Type faces are those of the system. Every table and chart has a caption, every picture an alternative
text.
"""

import base64
import html
from collections.abc import Sequence
from typing import Final

STYLE: Final = """
:root {
  --paper: #ffffff; --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0; --stripe: #f6f8fa; --mark: #0072b2;
  --warn: #fff4e5; --warn-line: #d55e00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --ink: #e6e9ec; --quiet: #a3adb8; --line: #3a434d; --stripe: #1c2229; --mark: #6cb8ea;
    --warn: #2b2118; --warn-line: #e69f00;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif;
}
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .75rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
p { max-width: 46rem; margin: .75rem 0; }
code { font: .85em ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; color: var(--quiet);
  overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0; }
.wide:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0 0 .4rem; }
th, td { padding: .5rem .75rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child { text-align: left; }
thead th { color: var(--quiet); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 500; min-width: 12rem; }
tbody th code { font-weight: 400; }
tbody:nth-of-type(even) { background: var(--stripe); }
tbody tr:not(:last-child) > :not([rowspan]) { border-bottom: none; padding-bottom: 0; }
td { white-space: nowrap; }
td.note, th:nth-child(n+5) { text-align: left; }
td.note:last-child { white-space: normal; min-width: 16rem; color: var(--quiet); }
meter { width: 9rem; height: 1rem; vertical-align: middle; }
figure { margin: 1.5rem 0; }
figure img { display: block; width: 100%; max-width: 52rem; height: auto; background: #ffffff;
  border: 1px solid var(--line); border-radius: .5rem; }
figcaption { color: var(--quiet); font-size: .9rem; max-width: 52rem; margin-top: .5rem; }
.refused { border-left: 4px solid var(--warn-line); background: var(--warn); padding: .6rem .9rem; }
@media print {
  body { max-width: none; padding: 0; }
  section { break-inside: avoid-page; }
  .wide { overflow: visible; }
}
"""
"""The style sheet, inside the page."""

_PAGE: Final = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{what}</p>
</header>
<main>
{sections}
</main>
</body>
</html>
"""


def write_page(title: str, lead: str, sections: Sequence[str], *, language: str) -> str:
    """Return the page: a title, what it is about, and its sections."""
    texts = {"title": escape_text(title), "what": escape_text(lead)}
    return _PAGE.format(**texts, language=language, style=STYLE, sections="\n".join(sections))


def write_section(name: str, title: str, parts: Sequence[str]) -> str:
    """Return a section with a heading; ``name`` is its address, the same in every language."""
    body = "\n".join(part for part in parts if part)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{escape_text(title)}</h2>\n{body}\n</section>'


def write_paragraph(text: str, *, warning: bool = False) -> str:
    """Return a paragraph, which a warning sets apart."""
    kind = ' class="refused"' if warning else ""
    return f"<p{kind}>{escape_text(text)}</p>"


def write_list(items: Sequence[str]) -> str:
    """Return a list of sentences."""
    return "<ul>" + "".join(f"<li>{escape_text(item)}</li>" for item in items) + "</ul>"


def write_figure(svg: str, words: str) -> str:
    """Return a chart as an image, with an alternative text; its names cannot clash with those of another."""
    data = base64.b64encode(svg.encode()).decode()
    image = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape_text(words)}">'
    return f"<figure>{image}<figcaption>{escape_text(words)}</figcaption></figure>"


def write_table(caption: str, head: Sequence[str], groups: Sequence[Sequence[Sequence[str]]]) -> str:
    """Return a table of HTML cells, in groups of rows; the first cell of a row names it. Caption and head are texts.

    Cells beyond the fourth that only the first row of a group has are for the whole group.
    """
    names = "".join(f'<th scope="col">{escape_text(name)}</th>' for name in head)
    bodies = "\n".join(
        f"<tbody>{''.join(map(_write_row, group, [len(group), *[1] * len(group)]))}</tbody>" for group in groups
    )
    named = escape_text(caption)
    table = f"<table><caption>{named}</caption><thead><tr>{names}</tr></thead>\n{bodies}</table>"
    # Narrow screens scroll the table, not the page; the keyboard reaches it too.
    return f'<div class="wide" role="region" tabindex="0" aria-label="{named}">{table}</div>'


def _write_row(cells: Sequence[str], rows: int) -> str:
    numbers, notes = cells[1:4], cells[4:]
    whole = f' rowspan="{rows}"' if rows > 1 else ""
    return (
        f'<tr><th scope="row">{cells[0]}</th>'
        + "".join(f"<td>{cell}</td>" for cell in numbers)
        + "".join(f'<td class="note"{whole}>{cell}</td>' for cell in notes)
        + "</tr>"
    )


def escape_text(words: str) -> str:
    """Return a text as HTML; a line does not break around an equals sign."""
    return html.escape(words).replace(" = ", "&nbsp;=&nbsp;")


def write_code(words: str) -> str:
    """Return a text that is to be read letter by letter."""
    return f"<code>{html.escape(words)}</code>"
