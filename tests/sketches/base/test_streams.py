"""Digests in pieces are the digests of the whole."""

import numpy as np
import pyarrow as pa
import pytest

from celosia.core import InputError
from celosia.sketches.base.streams import digest_chunks
from celosia.sketches.hashing.digest import digest


def test_pieces_are_the_whole() -> None:
    for size in (0, 1, 32_768, 32_769, 100_000):
        values = np.arange(size)
        chunks = list(digest_chunks(values, 7))
        assert sum(chunk.size for chunk in chunks) == size
        assert np.array_equal(np.concatenate([np.empty(0, dtype=np.uint64), *chunks]), digest(values, seed=7))


def test_texts_of_a_sliced_arrow_array() -> None:
    values = pa.array([f"value {i}" for i in range(70_000)]).slice(3)
    assert np.array_equal(np.concatenate(list(digest_chunks(values, 0))), digest(values))


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError):
        list(digest_chunks([1.5], 0))
