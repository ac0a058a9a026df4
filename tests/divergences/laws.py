"""Distributions for the laws: small enough to shrink, with zeros, two or more on the same outcomes."""

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from hypothesis import strategies as st

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Four", "Three", "Two", "fours", "kernels", "threes", "twos"]

One: TypeAlias = "NDArray[np.float64]"
Two: TypeAlias = tuple[One, One]
Three: TypeAlias = tuple[One, One, One]
Four: TypeAlias = tuple[One, One, One, One]


def _one(draw: st.DrawFn, length: int, least: int) -> One:
    weights = draw(st.lists(st.integers(least, 20), min_size=length, max_size=length).filter(any))
    return np.array(weights) / sum(weights)


@st.composite
def twos(draw: st.DrawFn, *, least: int = 0, size: int = 5) -> Two:
    """Two distributions, as shares of whole weights of at least ``least``."""
    length = draw(st.integers(1, size))
    return _one(draw, length, least), _one(draw, length, least)


@st.composite
def threes(draw: st.DrawFn, *, least: int = 0, size: int = 5) -> Three:
    """Three distributions."""
    length = draw(st.integers(1, size))
    return _one(draw, length, least), _one(draw, length, least), _one(draw, length, least)


@st.composite
def fours(draw: st.DrawFn, *, least: int = 0, size: int = 5) -> Four:
    """Four distributions."""
    length = draw(st.integers(1, size))
    first, second = (_one(draw, length, least), _one(draw, length, least))
    return first, second, _one(draw, length, least), _one(draw, length, least)


@st.composite
def kernels(draw: st.DrawFn, rows: int) -> One:
    """A Markov kernel with that many rows."""
    columns = draw(st.integers(1, 4))
    weights = st.lists(st.integers(0, 10), min_size=columns, max_size=columns).filter(any)
    return np.array([np.array(one) / sum(one) for one in (draw(weights) for _ in range(rows))])
