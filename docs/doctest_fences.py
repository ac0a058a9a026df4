"""A Griffe extension that shows doctests as code.

Most docstrings here end with a short doctest, without the heading that NumPy's style gives to long ones; Markdown would
take its prompts for quotations. Each such block is fenced before the page is made.
"""

from __future__ import annotations

from typing import Any

import griffe

__all__ = ["DoctestFences", "fenced"]


class DoctestFences(griffe.Extension):
    """Fences the doctests of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring whose doctests outside an Examples section stand in fences."""
    lines, inside = [], False
    body, heading, examples = text.partition("\nExamples\n----")
    for line in [*body.split("\n"), ""]:
        if line.lstrip().startswith(">>>") and not inside:
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f"{indent}```pycon")
            inside = True
        elif not line.strip() and inside:
            lines.append(f"{indent}```")
            inside = False
        lines.append(line)
    return "\n".join(lines[:-1]) + heading + examples
