"""A first draft of a schema, from the types of the columns.

The owner fills in what the types do not say: bounds and categories. They are never read from the rows, because the
least and the greatest value of a column are somebody's. A CSV file has no types: what it seems to hold stands beside
its columns, as comments (``sniffing``).
"""

import json
from typing import Final

from celosia.data.column_types import ColumnType, column_types
from celosia.data.files import Files
from celosia.data.schema import KINDS
from celosia.data.sniffing import Suggestion, sniff_file
from celosia.data.sources import Database, classify, suggested_name
from celosia.data.text_format import TextFormat

__all__ = ["draft_schema"]

_HEAD: Final = """\
# A draft, made from the types of the columns. Fill in every line with a "?" and take away the sign before it.
# Write what is publicly known: a form, a law, a code book. Do not look it up in the data: the least and the greatest
# value of a column are somebody's. What lies outside the bounds is clipped to them; what is no value at all is left
# out, unless the column has a line such as null = 0. Strike out columns that nobody needs to ask about.
"""
_TABLE: Final = """\
[table]
name = {name}
# If a person can have several rows:
# person = ?                  # which column tells whose row it is; it is then no column of the schema
# max_groups_per_person = ?   # in how many groups of a query one person counts
# max_rows_per_group = ?      # and with how many rows in each
"""
_FORMAT: Final = """\
# What the first rows seem to be written in. Take away the sign before a line if it is right:
"""
_BOUNDS: Final = {
    "integer": ("# low = ?", "# high = ?"),
    "real": ("# low = ?", "# high = ?", '# grid = "0.1"     # if the column is measured in such steps'),
    "boolean": (),
    "text": ('# or, if the list is public: kind = "category" and values = ["...", "..."]',),
    "date": ('# low = ?          # such as "2021-01-01"', "# high = ?"),
    "timestamp": ('# low = ?          # such as "2021-01-01 00:00:00"', "# high = ?"),
}
_UNTYPED: Final = '# and, as the kind needs it, low and high, or values = ["...", "..."]'


def draft_schema(source: object, *, name: str | None = None) -> str:
    """Return the text of a schema file with a section for every column, in which the owner replaces every ``?``.

    ``source`` is what ``table`` takes, ``name`` the table of a database.

    >>> import pyarrow as pa
    >>> text = draft_schema(pa.table({"age": [34, 71]}))
    >>> print(text[text.index("[columns"):])
    [columns.age]       # int64
    kind = "integer"
    # low = ?
    # high = ?
    <BLANKLINE>
    """
    found, seems = classify(source, name=name), Suggestion()
    if isinstance(found, Files):
        seems = sniff_file(found)
        found = classify(source, text=TextFormat(encoding=seems.text.encoding))  # for the letters of the names
    called = suggested_name(found if isinstance(found, Database) else source) if name is None else name
    sections = [_section(column, seems.kinds.get(column.name)) for column in column_types(found)]
    return "\n".join([_HEAD, _TABLE.format(name=json.dumps(called)) + _format(seems.text), *sections])


def _format(text: TextFormat) -> str:
    given = {name: value for name, value in text.declared().items() if (name, value) != ("delimiter", ",")}
    lines = [f"# {name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in given.items()]
    return _FORMAT + "".join(lines) if lines else ""


def _section(column: ColumnType, seems: str | None) -> str:
    if column.kind is None and column.type is not None:
        return f"# {column.name!a} is left out: {column.type} cannot be asked about.\n"
    if not column.name.isprintable() or not column.name:
        return f"# {column.name!a} is left out: a column needs a printable name.\n"
    heading = f"[columns.{_key(column.name)}]"
    if column.kind is None:
        perhaps = "" if seems is None else f'# perhaps kind = "{seems}"\n'
        return f"{heading}\n# kind = ?         # {', '.join(KINDS)}\n{perhaps}{_UNTYPED}\n"
    return "\n".join([f"{heading:<18} # {column.type}", f'kind = "{column.kind}"', *_BOUNDS[column.kind], ""])


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "_").isidentifier()
    return name if bare else json.dumps(name, ensure_ascii=False)
