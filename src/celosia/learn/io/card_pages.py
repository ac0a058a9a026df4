"""A card's sections as Markdown or as one HTML page that needs nothing from elsewhere.

Names of columns and tables are whatever their owner chose, so every text is escaped for the language that it is
written into: none of it can become a heading, a link or a script.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~!])")

_STYLE: Final = """
:root { --paper: #ffffff; --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0; --warn: #fff4e5; --edge: #b54a00; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181d; --ink: #e6e9ec; --quiet: #a3adb8; --line: #3a434d; --warn: #2b2118; --edge: #e69f00; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 52rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
p { margin: .6rem 0; overflow-wrap: anywhere; }
p.warning { border-left: 4px solid var(--edge); background: var(--warn); padding: .6rem .9rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem .9rem; border: 1px solid var(--line); }
code { font: .85em ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.wide { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .75rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
thead th { color: var(--quiet); font-weight: 600; }
tbody th { font-weight: 500; }
@media print { body { max-width: none; padding: 0; } section { break-inside: avoid-page; } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with paragraphs, a table and something to be read letter by letter, each if there is one."""

    title: str
    paragraphs: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    code: str | None = None
    warning: bool = False


def markdown(title: str, sections: Sequence[Section]) -> str:
    r"""Return a card in Markdown."""
    blocks = [f"# {_plain(title)}"]
    for section in sections:
        blocks.append(f"## {_plain(section.title)}")
        blocks += [f"{'> **Warning.** ' if section.warning else ''}{_plain(text)}" for text in section.paragraphs]
        if section.rows:
            ruled = [section.header, ["---"] * len(section.header), *section.rows]
            blocks.append(
                "\n".join(
                    f"| {' | '.join(cells if cells == ruled[1] else map(_plain, cells))} |"
                    for cells in map(list, ruled)
                )
            )
        if section.code is not None:
            blocks.append("\n".join(f"    {line}" for line in section.code.splitlines()))
    return "\n\n".join(blocks) + "\n"


def html_page(title: str, sections: Sequence[Section]) -> str:
    """Return a card as one HTML page."""
    body = "\n".join(_section(section) for section in sections)
    name = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{name}</h1>\n{body}\n"
        "</main>\n</body>\n</html>\n"
    )


def _plain(text: str) -> str:
    """A text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _section(section: Section) -> str:
    kind = ' class="warning"' if section.warning else ""
    told = "<strong>Warning.</strong> " if section.warning else ""
    parts = [f"<p{kind}>{told}{html.escape(text)}</p>" for text in section.paragraphs]
    if section.rows:
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in section.header)
        rows = "\n".join(
            f'<tr><th scope="row">{html.escape(first)}</th>'
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in others)
            + "</tr>"
            for first, *others in section.rows
        )
        parts.append(
            f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>'
        )
    if section.code is not None:
        parts.append(f"<pre><code>{html.escape(section.code)}</code></pre>")
    inside = "\n".join(parts)
    return f"<section>\n<h2>{html.escape(section.title)}</h2>\n{inside}\n</section>"
