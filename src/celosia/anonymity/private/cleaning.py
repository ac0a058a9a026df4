"""Columns as their kinds declare them: steps of an axis, or the place in a list of categories.

What is declared decides alone, so no record can raise an error: values outside are clipped, and those that are missing
or unknown follow the null rule.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Boolean, Category, Integer, Kind, Real
from celosia.statistics.arrays.reading import Column
from celosia.statistics.arrays.stepping import steps_on

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def check_schema(schema: object, kinds: tuple[type[Kind], ...]) -> dict[str, Kind]:
    """Return the declared columns, all of some kinds; there must be one."""
    if not isinstance(schema, Mapping) or not schema:
        raise ParameterError("anonymity_private.schema_not_a_mapping", value=safe_repr(schema))
    for name, kind in schema.items():
        if not isinstance(kind, kinds):
            known = ", ".join(each.__name__ for each in kinds)
            raise ParameterError(
                "anonymity_private.kind_not_supported", name=safe_repr(name), kind=safe_repr(kind), known=known
            )
    return dict(schema)


def check_columns(data: Microdata, schema: Mapping[str, Kind]) -> None:
    """Raise unless each declared column may be released, and has a type that its kind can be read from.

    Types are public. No error depends on the values of a column.
    """
    for name, kind in schema.items():
        found = data.get_column(name).type
        if name in (*data.roles.identifiers, data.roles.household, data.roles.weight):
            raise SchemaError("anonymity_private.role_not_released", name=safe_repr(name))
        if not _can_read(found, kind):
            raise SchemaError("anonymity_private.type_not_of_kind", name=safe_repr(name), type=str(found))


def _can_read(found: "pa.DataType", kind: Kind) -> bool:
    """Return whether values of a type can be of a kind."""
    import pyarrow as pa

    if isinstance(kind, Category) and isinstance(kind.values[0], str):
        plain = found.value_type if pa.types.is_dictionary(found) else found
        return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_null(plain))
    return bool(pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_boolean(found))


def read_steps(data: Microdata, name: str, kind: Kind) -> "tuple[NDArray[np.int64], NDArray[np.bool_]]":
    """Return each record's step above the lower end, or its place in the categories, and which have a value."""
    if isinstance(kind, Category):
        return _find_places(data, name, kind)
    numbers = data.get_numbers(name)
    column = Column(values=numbers, present=~np.isnan(numbers), nullable=True)
    if isinstance(kind, Boolean):
        return steps_on(
            kind.axis, column, Integer(0, 1, null=kind.null if isinstance(kind.null, str) else int(kind.null))
        )
    assert isinstance(kind, Integer | Real)  # noqa: S101 - for the type checker: schemas are checked
    return steps_on(kind.axis, column, kind)


def _find_places(data: Microdata, name: str, kind: Category) -> "tuple[NDArray[np.int64], NDArray[np.bool_]]":
    import pyarrow as pa
    import pyarrow.compute as pc

    values: pa.Array
    if isinstance(kind.values[0], str):
        values, known = data.get_column(name).cast(pa.string()), pa.array(kind.values, pa.string())
    else:
        values, known = pa.array(data.get_numbers(name)), pa.array([float(value) for value in kind.values])
    places = pc.index_in(values, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    if kind.nullable:
        return np.maximum(places, 0), places >= 0
    return np.where(places >= 0, places, kind.values.index(kind.null)), np.ones(places.size, dtype=np.bool_)


def to_values(steps: "NDArray[Any]", kind: Integer | Real) -> "NDArray[np.float64]":
    """Return the values of steps above the lower end, within the bounds."""
    axis = kind.axis
    values = (steps + axis.lowest) * float(axis.grid)
    return np.asarray(np.clip(values, float(kind.low), float(kind.high)), dtype=np.float64)


def get_axis(kind: Kind) -> Axis:
    """Return the axis of a kind that has one."""
    axis = kind.axis
    assert axis is not None  # noqa: S101 - for the type checker: only numeric kinds come here
    return axis
