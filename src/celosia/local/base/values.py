"""Values as the integers that protocols work on.

A protocol over a known domain uses the index of a value in it; one over an open domain uses a 64-bit digest, the same
in every language. A value outside the domain raises an error of the client that names the domain, never the value.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, is_unicode, safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

Domain: TypeAlias = int | tuple[int, ...] | tuple[str, ...]
"""A known set of values: the number of integers from 0, or the values themselves, all strings or all integers."""

_MAX_DOMAIN = 2**31


def exact_domain(domain: object, *, name: str = "domain") -> Domain:
    """Return a domain: an integer from 2 on, or at least two different strings or integers."""
    for convert in ("tolist", "to_list", "to_pylist"):  # NumPy's and pandas', Polars' and Arrow's columns
        if hasattr(domain, convert) and not isinstance(domain, np.generic):
            domain = getattr(domain, convert)()
    if isinstance(domain, Sequence) and not isinstance(domain, str | bytes):
        values = tuple(domain)
        kinds = {bool if isinstance(value, bool) else str if isinstance(value, str) else int for value in values}
        texts = all(isinstance(value, str) for value in values)
        numbers = bool not in kinds and all(isinstance(value, int | np.integer) for value in values)
        if len(values) < 2 or not (texts or numbers) or len(set(values)) < len(values):
            raise ParameterError("local.malformed_domain", name=name)
        if not all(map(_is_encodable, values)):
            raise ParameterError("local.domain_not_encodable", name=name)
        if texts:
            return tuple(str(value) for value in values)
        return tuple(int(value) for value in values)
    if isinstance(domain, set | frozenset | dict):
        raise ParameterError("local.domain_without_order", name=name, kind=type(domain).__name__)
    size = exact_integer(domain, name=name, least=2)  # type: ignore[arg-type]  # exact_integer checks it
    if size > _MAX_DOMAIN:
        raise ParameterError("local.domain_too_large", name=name, value=safe_repr(domain))
    return size


def _is_encodable(value: str | int) -> bool:
    if isinstance(value, str):
        return is_unicode(value)
    return -(2**63) <= int(value) < 2**63


def domain_size(domain: Domain) -> int:
    """Return the number of values of a domain."""
    return domain if isinstance(domain, int) else len(domain)


def domain_labels(domain: Domain) -> list[Any]:
    """Return the values of a domain, in order."""
    return list(range(domain)) if isinstance(domain, int) else list(domain)


def codes(values: object, domain: Domain, *, name: str = "values") -> "NDArray[np.int64]":
    """Return the index of each value in its domain."""
    from celosia.sketches.hashing.columns import read_column

    column = read_column(values, name=name)
    if isinstance(domain, int):
        if column.integers is None or (len(column) and not _is_within(column.integers, domain)):
            raise InputError("local.code_out_of_range", name=name, most=domain - 1)
        return column.integers
    return _places(column, domain, name)


def read_candidates(candidates: object, domain: Domain) -> "tuple[NDArray[np.int64], list[Any]]":
    """Return the indices and labels of candidates, or of the whole domain if there are none."""
    if candidates is None:
        return np.arange(domain_size(domain)), domain_labels(domain)
    places = codes(candidates, domain, name="candidates")
    return places, places.tolist() if isinstance(domain, int) else [domain[place] for place in places.tolist()]


def _is_within(numbers: "NDArray[np.int64]", size: int) -> bool:
    return int(numbers.min()) >= 0 and int(numbers.max()) < size


def _places(column: Any, domain: tuple[int, ...] | tuple[str, ...], name: str) -> "NDArray[np.int64]":
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = isinstance(domain[0], str)
    if texts == (column.integers is not None) and len(column):
        raise InputError("local.not_texts_of_domain" if texts else "local.not_integers_of_domain", name=name)
    if not len(column):
        return np.empty(0, dtype=np.int64)
    if texts:
        buffers = [None, pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
        array = pa.Array.from_buffers(pa.large_string(), len(column), buffers)
        known = pa.array(domain, type=pa.large_string())
    else:
        array, known = pa.array(column.integers), pa.array(domain, type=pa.int64())
    places = pc.index_in(array, value_set=known)
    if places.null_count:
        raise InputError("local.value_not_in_domain", name=name, size=len(domain))
    numbers: NDArray[np.int64] = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
