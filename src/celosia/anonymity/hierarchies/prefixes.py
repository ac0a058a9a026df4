"""Prefixes of codes: postal codes, occupations, diagnoses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.hierarchies.categories import write_values
from celosia.anonymity.hierarchies.levels import Levels, make_levels
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa

_MASK: Final = "*"


@dataclass(frozen=True, slots=True, init=False)
class Prefixes:
    """A hierarchy that keeps fewer and fewer characters of a code, and writes ``*`` for the others.

    Parameters
    ----------
    length
        The number of characters of every code; numbers get leading zeros.
    keep
        How many characters are kept at levels 1, 2 and so on; by default one less at each.
    symbols
        How many characters there are, which is 10 for digits. It says how much of the domain a prefix stands for.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes = Prefixes(5, keep=[4, 2])
    >>> levels = codes.generalize(pa.array(["28013", "41001"]), name="postal code")
    >>> [labels.to_pylist() for labels in levels.labels]
    [['28013', '41001'], ['2801*', '4100*'], ['28***', '41***'], ['*']]
    """

    length: int
    keep: tuple[int, ...]
    symbols: int

    def __init__(self, length: int, *, keep: Sequence[int] | None = None, symbols: int = 10) -> None:
        kept = tuple(range(length - 1, 0, -1)) if keep is None else tuple(keep)
        if length < 1 or symbols < 2 or list(kept) != sorted(set(kept), reverse=True):
            raise ParameterError("anonymity.prefixes_not_falling")
        if kept and not 0 < kept[-1] <= kept[0] < length:
            raise ParameterError("anonymity.prefixes_not_falling")
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "keep", kept)
        object.__setattr__(self, "symbols", symbols)

    @property
    def height(self) -> int:
        """The number of levels, with the values themselves and ``*``."""
        return len(self.keep) + 2

    def generalize(self, values: "pa.Array", *, name: str) -> Levels:
        """Return values at every level; each must have the length."""
        import pyarrow as pa

        texts = write_values(values)
        if pa.types.is_integer(values.type):
            texts = [text.zfill(self.length) for text in texts]
        if any(len(text) != self.length for text in texts):
            raise SchemaError("anonymity.code_of_other_length", name=safe_repr(name), length=self.length)
        lines = [[text[:kept] + _MASK * (self.length - kept) for text in texts] for kept in self.keep]
        sizes = [np.full(len(texts), float(self.symbols) ** -kept) for kept in (self.length, *self.keep, 0)]
        return make_levels(values, lines, sizes)
