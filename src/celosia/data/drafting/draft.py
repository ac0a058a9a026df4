"""A first draft of a schema, from the types of the columns.

The owner fills in the bounds and categories. They are never read from the rows, because the least and the greatest
value of a column belong to people. A CSV file has no types: its kinds are what the first rows seem to hold, and
comments suggest their format (``sniffing``).
"""

import textwrap
from collections.abc import Callable, Iterator
from typing import Final

from celosia.core.messages.message import Message
from celosia.data.drafting.inspection import InspectedColumn, Inspection, inspect_source
from celosia.data.schema.schema import KINDS, write_key, write_value
from celosia.data.sources.column_types import ColumnType

_WIDTH: Final = 120
_TABLE: Final = {
    "person": "data.draft_person",
    "max_groups_per_person": "data.draft_groups",
    "max_rows_per_group": "data.draft_rows",
    "max_rows_per_person": "data.draft_most_rows",
}
_BOUNDS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "integer": (("low = ?", ""), ("high = ?", "")),
    "real": (("low = ?", ""), ("high = ?", ""), ('grid = "0.1"', "data.draft_grid")),
    "boolean": (),
    "text": (("", "data.draft_category"),),
    "date": (("low = ?", "data.draft_date"), ("high = ?", "")),
    "timestamp": (("low = ?", "data.draft_timestamp"), ("high = ?", "")),
}


def draft_schema(source: object, *, name: str | None = None, language: str = "en") -> str:
    """Return a draft of a schema file with a section for every column; the owner replaces every ``?``.

    ``source`` is as in ``table``, ``name`` the table of a database, ``language`` that of the comments.

    >>> import pyarrow as pa
    >>> text = draft_schema(pa.table({"age": [34, 71]}))
    >>> print(text[text.index("[columns"):])
    [columns.age]      # int64
    kind = "integer"
    # low = ?
    # high = ?
    # perhaps 0 and 120 (years)
    <BLANKLINE>
    """
    found = inspect_source(source, name=name)

    def write(code: str, **fields: object) -> str:
        return Message(code, **fields).render(language)

    return "\n".join(
        [
            _wrap(write("data.draft_head")),
            "",
            *_format_table(found, write),
            "",
            *(_format_section(column, write) for column in found.columns),
            *(_format_left_out(column, write) for column in found.left_out),
        ]
    )


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _format_table(found: Inspection, write: Callable[..., str]) -> Iterator[str]:
    yield "[table]"
    yield f"name = {write_value(found.name)}"
    yield f"# {write('data.draft_several_rows')}"
    for name, code in _TABLE.items():
        yield f"# {f'{name} = ?':<27} # {write(code)}"
    given = {name: value for name, value in found.text.to_dict().items() if (name, value) != ("delimiter", ",")}
    if given:
        yield f"# {write('data.draft_format')}"
    for name, value in given.items():
        yield f"# {name} = {write_value(value)}"


def _format_section(column: InspectedColumn, write: Callable[..., str]) -> str:
    heading = f"[columns.{write_key(column.name)}]"
    if column.kind is None:
        return f"{heading}\n# kind = ?         # {', '.join(KINDS)}\n# {write('data.draft_untyped')}\n"
    lines = [f"{heading:<18} # {column.type or write('data.draft_as_it_seems')}", f'kind = "{column.kind}"']
    for line, code in _BOUNDS[column.kind]:
        about = "" if not code else write(code) if not line else f"{' ' * (17 - len(line))}# {write(code)}"
        lines.append(f"# {line}{about}")
    domain = column.domain
    if domain is not None and domain.high is not None:
        perhaps = write("data.draft_perhaps", low=domain.low, high=domain.high, meaning=domain.meaning)
        lines.append(f"# {perhaps}")
    return "\n".join([*lines, ""])


def _format_left_out(column: ColumnType, write: Callable[..., str]) -> str:
    if column.type is None or column.kind:
        return f"# {write('data.draft_unprintable', name=ascii(column.name))}\n"
    return f"# {write('data.draft_left_out', name=ascii(column.name), type=str(column.type))}\n"
