"""Keyed hashing of identifiers: the same person gets the same pseudonym, which says nothing without the key.

A hash without a key protects nothing: there are few identity numbers, so anyone hashes them all and looks up the
result. Here the hash is HMAC-SHA256 (RFC 2104) of the value with a secret key, computationally as good as a random
number to those without the key. Whoever has the key can reverse it in the same way. Keep it apart from the file, and
destroy it if nobody must ever link again. The other columns may still identify the person, pseudonym or not.
"""

import hmac
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from celosia.anonymity.generalization.recoding.columns import check_names
from celosia.anonymity.hierarchies.categories import write_values
from celosia.anonymity.microdata import Microdata, Roles
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import exact_integer, safe_repr

if TYPE_CHECKING:
    from celosia.core.mechanism import Source

MIN_KEY_BYTES: Final = 16
"""The least length of a key: 128 bits."""
_DIGITS: Final = 64  # of SHA-256, in hexadecimal


@dataclass(frozen=True, slots=True, kw_only=True)
class HashIdentifiers:
    """Replace identifiers by a keyed hash. A plan holds where the key is, never the key.

    Without a key, whoever hashes all possible identity numbers reads the column; so there is no hash without one.
    Hashed columns remain identifiers, which ``to_frame`` leaves out, unless they are declared pseudonyms.

    Parameters
    ----------
    columns
        Columns that are declared identifiers.
    key
        Where the key is: ``env:NAME`` for an environment variable, ``file:PATH`` for a file, whose bytes are the key.
    pseudonyms
        Whether to release the hashes: the columns become ``others``. Files hashed with one key can then be linked.
    digits
        How many hexadecimal digits are kept, from 16 to 64.

    Examples
    --------
    >>> HashIdentifiers(columns=["identity number"], key="env:SURVEY_KEY")
    HashIdentifiers(columns=['identity number'], key='env:SURVEY_KEY', pseudonyms=False, digits=32)
    """

    columns: Sequence[str]
    key: str
    pseudonyms: bool = False
    digits: int = 32

    def __post_init__(self) -> None:
        """Raise unless there is a column, and ``key`` says where the key is."""
        check_names(self.columns, role="columns")
        kind, _, place = str(self.key).partition(":")
        if kind not in {"env", "file"} or not place:
            raise ParameterError("anonymity_recoding.key_place_unknown")  # it may be the key itself: do not show it
        _check_digits(self.digits)

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the file with hashed identifiers; the key is read now."""
        key = _read_key(self.key)
        return hash_identifiers(data, self.columns, key=key, pseudonyms=self.pseudonyms, digits=self.digits)


def hash_identifiers(
    data: Microdata, columns: Iterable[str], *, key: str | bytes, pseudonyms: bool = False, digits: int = 32
) -> Microdata:
    """Return the file with keyed hashes in place of identifiers, for a key that the caller holds.

    ``HashIdentifiers`` is the same as a step, and describes the parameters. Nulls stay null.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"id": ["12345678Z"], "age": [30]}),
    ...                       roles=Roles(identifiers=["id"], quasi_identifiers=["age"]))
    >>> hashed = hash_identifiers(data, ["id"], key=bytes(range(32)), pseudonyms=True, digits=16)
    >>> hashed.get_column("id").to_pylist(), hashed.roles.identifiers, hashed.roles.others
    (['6daa784a6adac69a'], (), ('id',))
    """
    import pyarrow as pa

    names, secret = check_names(columns, role="columns"), key.encode() if isinstance(key, str) else bytes(key)
    if len(secret) < MIN_KEY_BYTES:
        raise ParameterError("anonymity_recoding.key_too_short", least=MIN_KEY_BYTES)
    _check_digits(digits)
    for name, coded in zip(names, data.encode(names), strict=True):
        if name not in data.roles.identifiers:
            raise SchemaError("anonymity_recoding.not_an_identifier", name=safe_repr(name))
        hashes = [hmac.digest(secret, text.encode(), "sha256").hex()[:digits] for text in write_values(coded.labels)]
        column = pa.array(hashes, pa.string()).take(pa.array(coded.codes, mask=coded.codes < 0))
        data = data.replace_columns({name: column})
    return replace(data, roles=_move_to_others(data.roles, names)) if pseudonyms else data


def _move_to_others(roles: Roles, names: tuple[str, ...]) -> Roles:
    given = {field.name: getattr(roles, field.name) for field in fields(roles)}
    given["identifiers"] = tuple(name for name in roles.identifiers if name not in names)
    given["others"] = (*roles.others, *names)
    return Roles(**given)


def _check_digits(digits: int) -> None:
    if exact_integer(digits, name="digits", least=16) > _DIGITS:
        raise ParameterError("anonymity_recoding.too_many_digits", digits=digits, most=_DIGITS)


def _read_key(where: str) -> bytes:
    """Return the key from a variable or a file; a line end after it does not count."""
    kind, _, place = where.partition(":")
    try:
        text = os.environ[place].encode() if kind == "env" else Path(place).read_bytes()
    except (KeyError, OSError):
        raise ParameterError("anonymity_recoding.key_not_found", place=safe_repr(where)) from None
    return text.rstrip(b"\r\n")
