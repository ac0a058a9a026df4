"""The parties of a federation: names, and the records of each, which never leave it.

A person's records must all be with one party. Then what a party sends is the only message about that person, and the
guarantee of one party's message is the guarantee of all messages together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import EngineError, InputError, ParameterError, QueryError, SchemaError, UnboundedDataError
from celosia.core.exact import exact_integer, safe_repr
from celosia.federated.parties.outline import Outline
from celosia.federated.parties.table import PartyTable
from celosia.noise.keyed import Keyed, derive
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Source

_MIN_PARTIES: Final = 2
_MAX_PARTIES: Final = 100_000
_MAX_NAME_LENGTH: Final = 100


@dataclass(frozen=True, slots=True, eq=False)
class Party:
    """One holder of records: features, and a target where one is learned.

    ``X`` may be a table made by ``celosia.table``: the federation then names the features and the target. It is left
    out where the records are elsewhere: a federation over a network knows its other parties by name. ``records`` is
    their number, where it must be public. ``outline`` has what is public of records that are withheld.

    >>> Party("north", [[0.1], [0.4]], [1.0, 2.0]), Party("south", records=900)
    (Party('north'), Party('south'))
    """

    name: str
    X: Any = field(default=None, repr=False)
    y: Any = field(default=None, repr=False)
    records: int | None = None
    outline: Outline | PartyTable | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        check_party_name(self.name)
        if self.records is not None:
            exact_integer(self.records, name="records")

    @property
    def is_remote(self) -> bool:
        """Whether the records are elsewhere."""
        return self.X is None

    def withhold(self) -> "Party":
        """Return the party with what is public of its records instead of them; no record is read.

        >>> party = Party("north", [[0.1], [0.4]], [1.0, 2.0]).withhold()
        >>> party.is_remote, party.outline.X.shape, party.count_records()
        (True, (0, 1), 2)
        """
        if self.is_remote:
            return self
        outline = self.X if isinstance(self.X, PartyTable) else Outline.of(self.X, self.y)
        return Party(self.name, records=self.records, outline=outline)

    def count_records(self) -> int | None:
        """Return how many records are stated or, of withheld ones, how many there are; for replace-one only."""
        return self.outline.count if self.records is None and isinstance(self.outline, Outline) else self.records

    @property
    def table(self) -> PartyTable | None:
        """The table of the records, which may be withheld; None for arrays."""
        held = self.outline if self.is_remote else self.X
        return held if isinstance(held, PartyTable) else None

    def open(self, opened: ExitStack) -> "Party":
        """Return the party with its table open, to be closed with the others; one with arrays as it is."""
        held = self.X
        if not isinstance(held, PartyTable):
            return self
        table: PartyTable = read_from(self, held.open)
        opened.callback(table.close)
        return replace(self, X=table)

    def __repr__(self) -> str:
        return f"Party({self.name!r})"


def check_party_name(name: object) -> str:
    """Return ``name`` if it is a short, non-empty, printable text."""
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME_LENGTH or not name.isprintable():
        raise ParameterError("federated.invalid_party_name", most=_MAX_NAME_LENGTH, name=safe_repr(name))
    return name


def read_parties(parties: object) -> tuple[Party, ...]:
    """Return the parties of a list, or of a mapping from names to records (X, or X and y); at least two."""
    if isinstance(parties, Mapping):
        found = [_make_party(name, records) for name, records in parties.items()]
    elif isinstance(parties, Iterable) and not isinstance(parties, str | bytes):
        found = list(parties)
    else:
        raise ParameterError("federated.not_parties", parties=type(parties).__name__)
    for one in found:
        if not isinstance(one, Party):
            raise ParameterError("federated.not_parties", parties=type(one).__name__)
    if not _MIN_PARTIES <= len(found) <= _MAX_PARTIES:
        raise ParameterError("federated.number_of_parties", least=_MIN_PARTIES, most=_MAX_PARTIES, found=len(found))
    [(name, times)] = Counter(one.name for one in found).most_common(1)
    if times > 1:
        raise ParameterError("federated.party_named_twice", name=safe_repr(name))
    return tuple(found)


def _make_party(name: Any, records: Any) -> Party:
    if isinstance(records, tuple):
        if len(records) != 2:
            raise InputError("federated.records_not_a_pair", name=safe_repr(name))
        return Party(name, *records)
    return Party(name, records)


def read_from(party: Party, read: "Callable[[], Any]") -> Any:
    """Return what is read from a party's records; an error about them names the party."""
    kind: type[InputError | EngineError] = InputError
    try:
        return read()
    except UnboundedDataError:  # of the estimator, and the same for all
        raise
    except (InputError, SchemaError, QueryError) as error:
        problem = error.message
    except EngineError as error:
        problem, kind = error.message, EngineError
    raise kind("federated.records_not_usable", name=safe_repr(party.name), error=problem)


class PartySources:
    """The source of noise of each party in each round.

    Every party draws from the system. A seeded source gives each party and round a stream of its own, so that the
    noise does not depend on the order in which parties are asked, or on where they run.
    """

    def __init__(self, source: "Source | None") -> None:
        self._source = source_or_system(source)
        self._secret = self._source.words(4).tobytes() if self._source.seeded else None

    @property
    def seeded(self) -> bool:
        """Whether the noise can be repeated."""
        return self._source.seeded

    def get(self, party: str, number: int) -> "Source":
        """Return the source of a party in a round."""
        if self._secret is None:
            return self._source
        return Keyed(derive(self._secret, f"celosia.federated/1/{number}/{party}".encode()))
