"""Inspect a source: columns, kinds, a format, and bounds suggested by names.

Types come from their declarations, or for a CSV file from what its first rows seem to hold. Bounds come from the domain
of a column's name and kind, never from the rows. Everything is a suggestion to the owner, who answers the questions of
``celosia schema`` or fills in a draft.
"""

from dataclasses import dataclass
from typing import Final

from celosia.data.drafting.domains import Domain, has_identifier_name, suggest_domain, suggest_person
from celosia.data.sources.classify import Database, DataSource, SparkTable, classify, suggest_name
from celosia.data.sources.column_types import ColumnType, column_types
from celosia.data.sources.files import Files
from celosia.data.sources.sniffing import Suggestion, sniff_file
from celosia.data.sources.text_format import TextFormat

_PLAIN: Final = TextFormat()


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedColumn:
    """A column: its declared type (None in a CSV file), and the suggested kind and bounds.

    ``identifying`` columns seem to identify persons, by their name: queries should not use them.
    """

    name: str
    type: str | None = None
    kind: str | None = None

    @property
    def domain(self) -> Domain | None:
        """The bounds that its name and kind suggest."""
        return None if self.kind is None else suggest_domain(self.name, self.kind)

    @property
    def identifying(self) -> bool:
        """Whether its name suggests that it identifies persons."""
        return has_identifier_name(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """The suggestions for a source: its name in SQL, its columns, and its text format.

    ``left_out`` are columns of unsupported types; ``untyped`` means that the source declares no types.
    """

    source: DataSource
    name: str
    columns: tuple[InspectedColumn, ...]
    left_out: tuple[ColumnType, ...] = ()
    text: TextFormat = _PLAIN
    untyped: bool = False

    @property
    def person(self) -> str | None:
        """The column that seems to identify a person."""
        return suggest_person(column.name for column in self.columns)


def inspect_source(
    source: object, *, name: str | None = None, delimiter: str | None = None, encoding: str | None = None
) -> Inspection:
    """Inspect a source; ``delimiter`` and ``encoding`` of a CSV file are guessed unless given.

    ``source`` is as in ``table``, ``name`` the table of a database, or the SQL name of another source.
    """
    found, seems = classify(source, name=name), Suggestion()
    untyped = isinstance(found, Files) and found.format == "csv"
    if isinstance(found, Files) and untyped:
        seems = sniff_file(found, delimiter=delimiter, encoding=encoding)
        # In its own encoding, for the letters of the names.
        found = classify(source, text=TextFormat(encoding=seems.text.encoding, delimiter=delimiter))
    types = column_types(found)
    fit = [one.name.isprintable() and one.name != "" and (one.type is None or one.kind is not None) for one in types]
    return Inspection(
        source=found,
        name=(suggest_name(found if isinstance(found, Database | SparkTable) else source) if name is None else name),
        columns=tuple(
            InspectedColumn(name=one.name, type=one.type, kind=seems.kinds.get(one.name) if untyped else one.kind)
            for one, fits in zip(types, fit, strict=True)
            if fits
        ),
        left_out=tuple(one for one, fits in zip(types, fit, strict=True) if not fits),
        text=seems.text,
        untyped=untyped,
    )
