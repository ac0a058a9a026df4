"""A party's records from a file: columns of CSV or Parquet, as the arrays that a federation takes.

Errors name the file and the columns, and never a value.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError
from celosia.core.exact import safe_repr
from celosia.data.sources.files import find_files

if TYPE_CHECKING:
    import pyarrow as pa


def load_records(
    path: str, features: Sequence[str], target: str | None, classes: Sequence[Any] | None
) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """Return the features and the target of a file's records.

    Features are numbers. So is a target, unless ``classes`` are texts or booleans. A missing number is NaN, which the
    federation then treats as its estimator does.
    """
    import pyarrow as pa

    sample = classes[0] if classes else 0.0
    type_ = pa.string() if isinstance(sample, str) else pa.bool_() if isinstance(sample, bool) else pa.float64()
    types = dict.fromkeys(features, pa.float64()) | ({} if target is None else {target: type_})
    files = find_files(path)
    try:
        rows = pa.concat_tables([_read(file, files.format, files.delimiter, types) for file in files.paths])
    except (pa.ArrowException, OSError, ValueError, KeyError):
        raise InputError("federated.file_not_readable", path=safe_repr(path), columns=", ".join(types)) from None
    values = np.column_stack([rows.column(name).to_numpy() for name in features])
    return values, None if target is None else rows.column(target).to_numpy(zero_copy_only=False)


def _read(path: str, form: str, delimiter: str, types: "dict[str, pa.DataType]") -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv, parquet

    if form == "parquet":
        found = parquet.read_table(path, columns=list(types))
    else:
        wanted = csv.ConvertOptions(column_types=types, include_columns=list(types))
        found = csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=delimiter), convert_options=wanted)
    return pa.table({name: found.column(name).cast(type_) for name, type_ in types.items()})
