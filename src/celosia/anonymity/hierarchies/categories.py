"""A hierarchy that is written down: a line for each value, with what it becomes at each level."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.anonymity.hierarchies.levels import ANY, Levels, check_nested, make_levels
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa

_DELIMITERS = ";,\t|"


@dataclass(frozen=True, slots=True, init=False)
class Categories:
    """A hierarchy from lines: a value, then what it becomes at levels 1, 2 and so on. The level ``*`` is added.

    Values are compared as text, so that ``30`` in a file is the number 30 of a column.

    Parameters
    ----------
    lines
        The lines, or a dictionary from each value to its group, or to its list of groups.

    Examples
    --------
    >>> import pyarrow as pa
    >>> jobs = Categories({"Python": "Back end", "Java": "Back end", "React": "Front end"})
    >>> levels = jobs.generalize(pa.array(["Java", "React"]), name="job")
    >>> [labels.to_pylist() for labels in levels.labels]
    [['Java', 'React'], ['Back end', 'Front end'], ['*']]
    """

    lines: tuple[tuple[str, ...], ...]

    def __init__(self, lines: Mapping[Any, str | Sequence[str]] | Iterable[Sequence[Any]]) -> None:
        given = [_join_line(*item) for item in lines.items()] if isinstance(lines, Mapping) else lines
        texts = tuple(tuple(map(str, line)) for line in given)
        _check_lines(texts)
        object.__setattr__(self, "lines", _end_with_any(texts))
        codes = self._number_labels()
        if level := check_nested(codes):
            raise ParameterError("anonymity.hierarchy_not_nested", level=level)

    @property
    def height(self) -> int:
        """The number of levels, with the values themselves."""
        return len(self.lines[0])

    def generalize(self, values: "pa.Array", *, name: str) -> Levels:
        """Return values at every level; each must have a line."""
        places = {line[0]: place for place, line in enumerate(self.lines)}
        rows = [places.get(text, -1) for text in write_values(values)]
        if -1 in rows:
            raise SchemaError("anonymity.hierarchy_with_gap", name=safe_repr(name))
        codes = self._number_labels()[:, rows]
        sizes = [np.bincount(line) / len(self.lines) for line in self._number_labels()]
        texts = [[self.lines[row][level] for row in rows] for level in range(1, self.height - 1)]
        return make_levels(values, texts, [size[line] for size, line in zip(sizes, codes, strict=True)])

    def find_missing(self, values: "pa.Array") -> list[Any]:
        """Return the values that have no line. They are values of the data: do not publish them."""
        known = {line[0] for line in self.lines}
        return [
            value for value, text in zip(values.to_pylist(), write_values(values), strict=True) if text not in known
        ]

    def _number_labels(self) -> "np.ndarray[tuple[int, int], np.dtype[np.int32]]":
        columns = [np.unique(column, return_inverse=True)[1] for column in zip(*self.lines, strict=True)]
        return np.array(columns, dtype=np.int32)


def write_values(values: "pa.Array") -> list[str]:
    """Return values as texts: a whole number has no decimal point, whatever its type is."""
    return [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in values.to_pylist()
    ]


def _join_line(value: Any, groups: str | Sequence[str]) -> tuple[Any, ...]:
    return (value, groups) if isinstance(groups, str) else (value, *groups)


def _check_lines(lines: tuple[tuple[str, ...], ...]) -> None:
    if not lines or not all(lines):
        raise ParameterError("anonymity.empty_hierarchy")
    if len({len(line) for line in lines}) > 1:
        raise ParameterError("anonymity.ragged_hierarchy")
    if len({line[0] for line in lines}) < len(lines):
        raise ParameterError("anonymity.hierarchy_value_repeated")


def _end_with_any(lines: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    ends = {line[-1] for line in lines if len(line) > 1}
    return lines if ends == {ANY} else tuple((*line, ANY) for line in lines)


def read_hierarchy(path: str | Path, *, delimiter: str | None = None) -> Categories:
    r"""Return the hierarchy in a CSV file without a header: a value in each line, then its labels from fine to coarse.

    The delimiter is the one of ``;``, ``,``, tab and ``|`` that the first line has most often, unless it is given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "jobs.csv")
    ...     _ = file.write_text("nurse;health\ncook;services", encoding="utf-8")
    ...     read_hierarchy(file).lines[0]
    ('nurse', 'health', '*')
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise ParameterError("anonymity.hierarchy_not_readable", path=safe_repr(str(path))) from None
    first = text.partition("\n")[0]
    chosen = delimiter or max(_DELIMITERS, key=first.count)
    return Categories([line for line in csv.reader(io.StringIO(text, newline=""), delimiter=chosen) if line])
