"""Many outputs of a mechanism, in a form for whole-array operations.

An audit treats a mechanism as a black box: the outputs may be numbers, arrays, choices, or sequences that stop early.
Here they become a matrix of numbers (NaN where an output has no such coordinate), their lengths, and a 64-bit key per
output, equal for equal outputs. A collision of keys only merges two outputs into one event; no bound becomes wrong.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from celosia.core import Mechanism, ParameterError, Source

Runner = Callable[[Any, int, Source], Any]
"""``run(value, count, source)``: ``count`` independent outputs, as an array whose first axis counts them or a list."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
_LONGEST_TEXT = 60


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Draws:
    """Independent outputs of one mechanism on one input.

    >>> draws = gather([3, 1, 3])
    >>> len(draws), draws.numbers[:, 0].tolist(), bool(draws.keys[0] == draws.keys[2])
    (3, [3.0, 1.0, 3.0], True)
    """

    raw: Any
    numbers: NDArray[np.float64]
    lengths: NDArray[np.int64]
    keys: NDArray[np.uint64]
    fractional: bool

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, start: int, stop: int) -> Self:
        """Return the outputs from ``start`` to ``stop``.

        >>> len(gather([3, 1, 3]).part(0, 2))
        2
        """
        cut = slice(start, stop)
        return type(self)(
            raw=self.raw[cut],
            numbers=self.numbers[cut],
            lengths=self.lengths[cut],
            keys=self.keys[cut],
            fractional=self.fractional,
        )

    def show(self, index: int) -> str:
        """Return one output as text short enough for a report.

        >>> gather([3, 1, 3]).show(1)
        '1'
        """
        output = self.raw[index]
        text = repr(output.tolist() if hasattr(output, "tolist") else output)
        return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."


def repeat(run: Mechanism | Callable[[Any, Source], Any]) -> Runner:
    """Return a runner that calls a mechanism, or a function of a value and a source, once per output.

    >>> from celosia.noise import Seeded
    >>> repeat(lambda value, source: value)(5, 3, Seeded(0))
    [5, 5, 5]
    """
    if isinstance(run, Mechanism):
        release = run.release
        return lambda value, count, source: [release(value, source=source).value for _ in range(count)]
    function = run
    return lambda value, count, source: [function(value, source) for _ in range(count)]


def gather(outputs: Any) -> Draws:
    """Return outputs, given as an array whose first axis counts them or as a list, as ``Draws``.

    >>> gather([[True], [False, True]]).lengths.tolist()
    [1, 2]
    """
    if not isinstance(outputs, np.ndarray | Sequence) or len(outputs) == 0:
        raise ParameterError("audit.malformed_outputs")
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf":
        return _from_array(outputs)
    if isinstance(outputs[0], np.ndarray | list | tuple):
        return _from_sequences(list(outputs))
    kinds = set(map(type, outputs))
    if all(issubclass(kind, bool | int | float | np.bool_ | np.integer | np.floating) for kind in kinds):
        array = np.asarray(outputs)
        # One kind of number only: a difference between int and float would distinguish the neighbours.
        if array.dtype.kind in "biuf" and len(kinds) == 1:
            return _from_array(array)
    return _from_objects(list(outputs))


def _from_array(array: NDArray[Any]) -> Draws:
    rows = array.reshape(len(array), -1)
    if array.dtype.kind == "f":
        numbers = rows.astype(np.float64)
        words = numbers.view(np.uint64)
    else:
        numbers = rows.astype(np.float64)
        words = rows.astype(np.int64).view(np.uint64)
    lengths = np.full(len(rows), rows.shape[1], dtype=np.int64)
    keys = _hash(words, lengths, ord(array.dtype.kind))
    return Draws(raw=array, numbers=numbers, lengths=lengths, keys=keys, fractional=array.dtype.kind == "f")


def _from_sequences(outputs: Sequence[Any]) -> Draws:
    if isinstance(outputs[0], np.ndarray) and len({(output.shape, output.dtype) for output in outputs}) == 1:
        if outputs[0].dtype.kind in "biuf":
            return _from_array(np.stack(list(outputs)))
    elif not isinstance(outputs[0], np.ndarray):
        outputs = [_row(output) for output in outputs]
    lengths = np.array([output.size for output in outputs], dtype=np.int64)
    kinds = {output.dtype.kind for output in outputs if output.size}
    if not kinds <= set("biuf"):
        return _from_objects(outputs)
    present = np.arange(lengths.max(initial=0)) < lengths[:, None]
    numbers = np.full(present.shape, np.nan)
    joined = np.concatenate([output.ravel() for output in outputs])
    numbers[present] = joined
    words = np.zeros(present.shape, dtype=np.uint64)
    exact = joined.astype(np.float64) if joined.dtype.kind == "f" else joined.astype(np.int64)
    words[present] = exact.view(np.uint64)
    keys = _hash(words, lengths, ord(joined.dtype.kind))
    return Draws(raw=outputs, numbers=numbers, lengths=lengths, keys=keys, fractional=joined.dtype.kind == "f")


def _row(output: Sequence[Any]) -> NDArray[Any]:
    """Return a list or tuple as an array; items that are not numbers (a None for "no answer") become NaN."""
    if any(item is None for item in output):
        return np.array([np.nan if item is None else item for item in output], dtype=np.float64)
    return np.asarray(output) if len(output) else np.zeros(0)


def _from_objects(outputs: Sequence[Any]) -> Draws:
    """Take outputs that are no arrays of numbers: labels, integers beyond 64 bits, mixtures."""
    known: dict[str, int] = {}
    keys = np.zeros(len(outputs), dtype=np.uint64)
    for index, output in enumerate(outputs):
        text = repr(output)
        if text not in known:
            known[text] = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        keys[index] = known[text]
    numbers = np.array([[_number(output)] for output in outputs])
    lengths = np.ones(len(outputs), dtype=np.int64)
    return Draws(raw=outputs, numbers=numbers, lengths=lengths, keys=keys, fractional=False)


def _number(output: object) -> float:
    try:
        return float(output)  # type: ignore[arg-type]  # what has no number is caught
    except (TypeError, ValueError):
        return float("nan")
    except OverflowError:
        return float("inf")


def _hash(words: NDArray[np.uint64], lengths: NDArray[np.int64], kind: int) -> NDArray[np.uint64]:
    """Mix the columns of each row into 64 bits (the finaliser of splitmix64 after each word)."""
    state = lengths.astype(np.uint64) * np.uint64(1 << 8) + np.uint64(kind)
    for column in words.T:
        state = (state ^ column) * _MIX
        state ^= state >> np.uint64(30)
        state *= np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(27)
        state *= np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state
