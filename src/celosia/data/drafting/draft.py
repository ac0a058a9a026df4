"""A first draft of a schema, from the types of the columns.

The owner fills in the bounds and categories. They are never read from the rows, because the least and the greatest
value of a column belong to people. A CSV file has no types: its kinds are what the first rows seem to hold, and
comments suggest their format (``sniffing``).
"""

from typing import Final

from celosia.data.drafting.inspection import InspectedColumn, inspect_source
from celosia.data.schema.schema import KINDS, write_key, write_value
from celosia.data.sources.column_types import ColumnType
from celosia.data.sources.text_format import TextFormat

_HEAD: Final = """\
# A draft, made from the types of the columns. Fill in every line with a "?" and remove the sign before it. Write what
# is publicly known: a form, a law, a code book. Do not look it up in the data: the least and the greatest value of a
# column belong to people. Values outside the bounds are clipped to them; invalid values are left out, unless the column
# has a line such as null = 0. Delete columns that no query needs.
"""
_TABLE: Final = """\
[table]
name = {name}
# If a person can have several rows: person = ?                  # the column that identifies the person; it is then not
# a column of the schema max_groups_per_person = ?   # in how many groups of a query one person counts
# max_rows_per_group = ?      # and with how many rows in each max_rows_per_person = ?     # if it is publicly known
# that no person has more rows
"""
_FORMAT: Final = """\
# The format that the first rows seem to have. Remove the sign before a line if it is right:
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
    """Return a draft of a schema file with a section for every column; the owner replaces every ``?``.

    ``source`` is as in ``table``, ``name`` the table of a database.

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
    head = _TABLE.format(name=write_value(found.name)) + _format_text_options(found.text)
    return "\n".join([_HEAD, head, *map(_format_section, found.columns), *map(_format_left_out, found.left_out)])


def _format_text_options(text: TextFormat) -> str:
    given = {name: value for name, value in text.to_dict().items() if (name, value) != ("delimiter", ",")}
    lines = [f"# {name} = {write_value(value)}\n" for name, value in given.items()]
    return _FORMAT + "".join(lines) if lines else ""


def _format_section(column: InspectedColumn) -> str:
    heading = f"[columns.{write_key(column.name)}]"
    if column.kind is None:
        return f"{heading}\n# kind = ?         # {', '.join(KINDS)}\n{_UNTYPED}\n"
    lines = [f"{heading:<18} # {column.type or 'as it seems'}", f'kind = "{column.kind}"', *_BOUNDS[column.kind]]
    domain = column.domain
    if domain is not None and domain.high is not None:
        lines.append(f"# perhaps {domain.low} and {domain.high} ({domain.meaning})")
    return "\n".join([*lines, ""])


def _format_left_out(column: ColumnType) -> str:
    why = (
        "a column needs a printable name"
        if column.type is None or column.kind
        else f"{column.type} cannot be asked about"
    )
    return f"# {column.name!a} is left out: {why}.\n"
