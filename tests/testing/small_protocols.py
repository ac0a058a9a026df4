"""Every protocol of the local model in a configuration so small that its law can be listed."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from celosia.local import (
    LOLOHA,
    CountMeanSketch,
    DBitFlip,
    DirectEncoding,
    DistinctCount,
    Duchi,
    HadamardCountMeanSketch,
    HadamardResponse,
    HierarchicalHistogram,
    Hybrid,
    LocalHashing,
    LocalLaplace,
    OneBitMean,
    OptimizedUnary,
    Piecewise,
    PrefixExtension,
    Rappor,
    SequenceFragmentPuzzle,
    SubsetSelection,
)

if TYPE_CHECKING:
    from celosia.local.base.protocol import Protocol

Make = Callable[[Any], "Protocol[Any]"]

FOUR = [0, 1, 2, 3]
NUMBERS = [-1.0, -0.25, 0.0, 1.0]
WORDS = ["sun", "rain", "nieve", "雪"]


def rappor(epsilon: Any, f: Any) -> Rappor:
    """One whose first report spends about epsilon: it is told in probabilities."""
    shown = 1 / (1 + math.exp(-float(epsilon) / 2))
    q = Fraction((shown - float(Fraction(f)) / 2) / (1 - float(Fraction(f)))).limit_denominator(1000)
    return Rappor(bits=8, hashes=1, cohorts=8, f=f, p=1 - q, q=q, seed=7)


SMALL: dict[str, tuple[Make, list[Any]]] = {
    "CountMeanSketch": (lambda e: CountMeanSketch(epsilon=e, hashes=2, width=4, seed=7), FOUR),
    "CountMeanSketch of texts": (lambda e: CountMeanSketch(epsilon=e, hashes=1, width=5, seed=7), WORDS),
    "DBitFlip": (lambda e: DBitFlip(buckets=3, d=2, epsilon=e, seed=3), FOUR[:3]),
    "DBitFlip of one bit": (lambda e: DBitFlip(buckets=3, d=1, epsilon=e, seed=3), FOUR[:3]),
    "DirectEncoding": (lambda e: DirectEncoding(domain=4, epsilon=e), FOUR),
    "DirectEncoding of texts": (lambda e: DirectEncoding(domain=WORDS, epsilon=e), WORDS),
    "DistinctCount": (lambda e: DistinctCount(epsilon=e, buckets=4, hashes=3), FOUR),
    "Duchi": (lambda e: Duchi(epsilon=e, low=-1, high=1), NUMBERS),
    "HadamardCountMeanSketch": (lambda e: HadamardCountMeanSketch(epsilon=e, hashes=2, width=4, seed=7), FOUR),
    "HadamardResponse": (lambda e: HadamardResponse(domain=4, epsilon=e), FOUR),
    "HadamardResponse in blocks": (lambda e: HadamardResponse(domain=8, epsilon=e, blocks=2), list(range(8))),
    "HierarchicalHistogram": (lambda e: HierarchicalHistogram(domain=4, epsilon=e, fanout=2), FOUR),
    "HierarchicalHistogram of rows": (
        lambda e: HierarchicalHistogram(domain=4, epsilon=e, fanout=2, oracle="hadamard"),
        FOUR,
    ),
    "Hybrid": (lambda e: Hybrid(epsilon=e, low=-1, high=1, grid=8), NUMBERS),
    "LOLOHA": (lambda e: LOLOHA(domain=4, epsilon=e, epsilon_infinity=6, g=2, functions=4), FOUR),
    "LocalHashing": (lambda e: LocalHashing(domain=4, epsilon=e, hashes=8, buckets=3), FOUR),
    "LocalLaplace": (lambda e: LocalLaplace(epsilon=e, low=-1, high=1, grid=4), NUMBERS),
    "OneBitMean": (lambda e: OneBitMean(low=-1, high=1, epsilon=e), NUMBERS),
    "OptimizedUnary": (lambda e: OptimizedUnary(domain=4, epsilon=e), FOUR),
    "OptimizedUnary, symmetric": (lambda e: OptimizedUnary(domain=4, epsilon=e, symmetric=True), FOUR),
    "Piecewise": (lambda e: Piecewise(epsilon=e, low=-1, high=1, grid=8), NUMBERS),
    "PrefixExtension": (lambda e: PrefixExtension(domain=16, epsilon=e, step=2, hashes=4), [0, 1, 9, 15]),
    "Rappor": (lambda e: rappor(e, "1/8"), WORDS),
    "Rappor without permanent response": (lambda e: rappor(e, 0), FOUR),
    "SequenceFragmentPuzzle": (
        lambda e: SequenceFragmentPuzzle(
            epsilon=e, alphabet="ab", length=4, fragment=2, hashes=1, width=3, fragment_hashes=1, fragment_width=2
        ),
        ["a", "abba", "ba"],
    ),
    "SubsetSelection": (lambda e: SubsetSelection(domain=4, epsilon=e), FOUR),
    "SubsetSelection of two": (lambda e: SubsetSelection(domain=5, epsilon=e, chosen=2), list(range(5))),
}
"""How to make each, given epsilon, and values that it takes."""
