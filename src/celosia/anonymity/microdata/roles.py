"""The role of each column, which the owner of the data declares. Nothing is guessed from names or values."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias

from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr

Nulls: TypeAlias = Literal["category", "wildcard"]
_NULLS: Final = ("category", "wildcard")


@dataclass(frozen=True, slots=True, init=False)
class Roles:
    """What each column of a file is.

    Parameters
    ----------
    identifiers
        Columns that name a person. They are never released.
    quasi_identifiers
        Columns that others may know of a person, such as age, sex and postal code.
    sensitive
        Columns that nobody should learn of a person.
    weight
        The sampling weight: how many persons of the population a record stands for. It is released, and no class
        counts it.
    household
        The number of the household of a person. It is replaced by a random one at release.
    stratum
        The column within whose values methods work separately. It may also have another role. Without one it is
        released, and no class counts it: declare it as a quasi-identifier if others may know it.
    others
        Columns that reveal nothing about a person. They are released as they are.
    nulls
        ``"category"``: a null is a value of its own. ``"wildcard"``: it may be any value, so that it matches all.

    Examples
    --------
    >>> Roles(quasi_identifiers=["age", "postal code"], sensitive=["illness"]).names
    ('age', 'postal code', 'illness')
    """

    identifiers: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    weight: str | None
    household: str | None
    stratum: str | None
    others: tuple[str, ...]
    nulls: Nulls

    def __init__(  # noqa: PLR0913 - one parameter for each role
        self,
        *,
        identifiers: Iterable[str] = (),
        quasi_identifiers: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        weight: str | None = None,
        household: str | None = None,
        stratum: str | None = None,
        others: Iterable[str] = (),
        nulls: Nulls = "category",
    ) -> None:
        lists = {
            "identifiers": identifiers,
            "quasi_identifiers": quasi_identifiers,
            "sensitive": sensitive,
            "others": others,
        }
        for role, names in lists.items():
            object.__setattr__(self, role, _list_names(role, names))
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "household", household)
        object.__setattr__(self, "stratum", stratum)
        if nulls not in _NULLS:
            raise ParameterError("anonymity.unknown_null_meaning", value=safe_repr(nulls))
        object.__setattr__(self, "nulls", nulls)
        repeated = [name for name, count in Counter(self._list_all()).items() if count > 1]
        if repeated:
            raise ParameterError("anonymity.column_with_two_roles", name=safe_repr(repeated[0]))

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that have a role."""
        extra = () if self.stratum is None or self.stratum in self._list_all() else (self.stratum,)
        return (*self._list_all(), *extra)

    def _list_all(self) -> tuple[str, ...]:
        single = tuple(name for name in (self.weight, self.household) if name is not None)
        return (*self.identifiers, *self.quasi_identifiers, *self.sensitive, *single, *self.others)

    def drop_identifiers(self) -> "Roles":
        """Return the roles of a released file, which has no identifiers."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return Roles(**{**given, "identifiers": ()})

    def keep_columns(self, columns: Iterable[str]) -> "Roles":
        """Return the roles of some columns: synthetic records may lack others."""
        kept = set(columns)
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in given.items():
            if isinstance(value, tuple):
                given[name] = tuple(one for one in value if one in kept)
            elif name != "nulls" and value not in kept:
                given[name] = None
        return Roles(**given)

    def check_columns(self, columns: Iterable[str]) -> None:
        """Raise unless each column of a table has a role, and each role a column."""
        present = list(columns)
        if missing := [name for name in self.names if name not in present]:
            raise SchemaError("anonymity.unknown_column", name=safe_repr(missing[0]), known=_join(present))
        if undeclared := [name for name in present if name not in self.names]:
            raise SchemaError("anonymity.column_without_role", names=_join(undeclared))


def _list_names(role: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ParameterError("anonymity.names_not_a_list", role=role, value=safe_repr(names))
    return tuple(names)


def _join(names: Iterable[str]) -> str:
    return ", ".join(map(safe_repr, names))
