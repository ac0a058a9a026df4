"""One data set: the source of its rows, its declarations, and its card.

It has one private table, with the name of the data set, and optional public tables. Sources may contain environment
variables, which are expanded when the rows are opened: passwords need not be stored.
"""

from dataclasses import dataclass, replace

from celosia.data.schema.schema import Schema
from celosia.data.schema_file import SchemaFile, parse_schema_file
from celosia.data.sources.classify import Frame, has_tables, suggest_name
from celosia.data.table import Table, table
from celosia.guard.auth.identity import Identity
from celosia.guard.datasets.cards import make_table_card
from celosia.guard.datasets.declarations import declared_table
from celosia.guard.datasets.places import find_places
from celosia.guard.roles import Role
from celosia.guard.schema.replies import DatasetCard
from celosia.serving.addresses import expand_variables, hide_secrets


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PublicTable:
    """A table without personal data, joined by its key. Its schema is read from its rows when it is added.

    >>> PublicTable(source="regions.csv", key=("code",))
    <PublicTable regions>
    """

    source: str
    key: tuple[str, ...]
    name: str = ""
    schema: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", tuple(self.key))  # JSON has lists
        object.__setattr__(self, "name", self.name or suggest_name(self.source))

    def open_tables(self) -> Table:
        """Open the table, with its schema if there is one."""
        schema = Schema.from_toml(self.schema) if self.schema else None
        return table(
            expand_variables(self.source, name="public"), schema=schema, name=self.name, public=True, key=self.key
        )

    def __repr__(self) -> str:
        return f"<PublicTable {self.name}>"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Dataset:
    """One data set; ``relation`` is the table in a database or catalogue, ``analysts`` may see it (None for all).

    ``former`` are the sources and relations of its earlier versions, without passwords: the spending on their rows is
    in this budget, so they must not get another. A ``retired`` data set takes no questions.
    """

    name: str
    source: str
    schema: str
    title: str = ""
    relation: str | None = None
    public: tuple[PublicTable, ...] = ()
    analysts: tuple[str, ...] | None = None
    version: int = 1
    revision: int = 1
    former: tuple[tuple[str, str | None], ...] | None = None
    retired: bool = False

    @property
    def schema_file(self) -> SchemaFile:
        """The parsed schema file."""
        return parse_schema_file(self.schema)

    def card(self) -> DatasetCard:
        """Return the card of the data set, without opening it."""
        private = declared_table(self.name, self.schema_file)
        others = [
            Table(name=one.name, source=Frame(None), schema=Schema.from_toml(one.schema), public=True, key=one.key)
            for one in self.public
        ]
        tables = tuple(make_table_card(one) for one in (private, *others))
        return DatasetCard(
            name=self.name, title=self.title, version=str(self.version), tables=tables, retired=self.retired
        )

    def open_tables(self) -> list[Table]:
        """Return the tables for a session; of the private one only the column names are read."""
        source = expand_variables(self.source, name="source")
        relation = self.relation if has_tables(source) else self.name
        private = replace(self.schema_file.table(source, name=relation), name=self.name)
        return [private, *(one.open_tables() for one in self.public)]

    def is_shared_with(self, identity: Identity) -> bool:
        """Whether its budget and its past are open to an identity: to all roles but analysts, and to its analysts."""
        return identity.role is not Role.ANALYST or self.analysts is None or identity.name in self.analysts

    def is_visible_to(self, identity: Identity) -> bool:
        """Whether an identity may see it; no analyst sees a retired one."""
        return self.is_shared_with(identity) and not (self.retired and identity.role is Role.ANALYST)

    def sources(self) -> frozenset[tuple[str, str | None]]:
        """Return its source and its former ones with their relations, without passwords."""
        return frozenset({(hide_secrets(self.source), self.relation), *(self.former or ())})

    def places(self) -> frozenset[str]:
        """Return the places of its private rows, now and in earlier versions."""
        sources = ((self.source, self.relation), *(self.former or ()))
        return frozenset(place for source, relation in sources for place in find_places(source, relation))

    def public_places(self) -> frozenset[str]:
        """Return the places of its public rows."""
        return frozenset(place for one in self.public for place in find_places(one.source))

    def __repr__(self) -> str:
        return f"<Dataset {self.name}, version {self.version}>"
