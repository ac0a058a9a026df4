"""How the report looks: one column of text, light or dark as the reader's system is, also on paper and narrow screens.

Type faces are those of the reader's system, so that nothing is loaded. Charts are drawn on white and keep it.
"""

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
