"""Two files about the same records: which records of the original are in the masked one, and where."""

from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import Coded, encode
from celosia.anonymity.hierarchies.categories import write_values
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def find_rows(original: Microdata, masked: Microdata) -> "NDArray[np.int64]":
    """Return the place in the original of each record of the masked file, or raise if one is not there."""
    order = np.argsort(original.rows, kind="stable")
    places = np.searchsorted(original.rows[order], masked.rows)
    known = places < len(order)
    if not known.all() or not np.array_equal(original.rows[order[places]], masked.rows):
        raise InputError("anonymity_utility.other_records")
    return order[places]


def encode_jointly(original: Microdata, masked: Microdata, name: str) -> tuple[Coded, Coded]:
    """Return the codes of a column in both files, with the same labels; values are compared as text.

    A column that was generalized is text, whatever it was: ``30`` that was left is still the number 30.
    """
    import pyarrow as pa

    one, two = original.get_column(name), masked.get_column(name)
    if one.type == two.type:
        both = encode(pa.concat_arrays([one, two]), name=name)
    else:
        both = encode(pa.concat_arrays([_write(one, name), _write(two, name)]), name=name)
    return Coded(both.codes[: len(one)], both.labels), Coded(both.codes[len(one) :], both.labels)


def _write(column: "pa.Array", name: str) -> "pa.Array":
    import pyarrow as pa

    coded = encode(column, name=name)
    return Coded(coded.codes, pa.array(write_values(coded.labels), pa.string())).decode()


def is_numeric(data: Microdata, name: str) -> bool:
    """Return whether a column has numbers."""
    import pyarrow as pa

    kind = data.get_column(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def list_compared(data: Microdata) -> tuple[str, ...]:
    """Return the columns that are compared: quasi-identifiers, sensitive and others."""
    return (*data.roles.quasi_identifiers, *data.roles.sensitive, *data.roles.others)


def list_numeric(original: Microdata, masked: Microdata) -> tuple[str, ...]:
    """Return the compared columns that have numbers in both files."""
    return tuple(name for name in list_compared(original) if is_numeric(original, name) and is_numeric(masked, name))
