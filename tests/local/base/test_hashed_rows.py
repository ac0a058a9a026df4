"""Tables are of a size that a server can hold; candidates are read as values are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.core import CelosiaError, InputError
from celosia.local import CountMeanSketch, HadamardCountMeanSketch
from celosia.local.base.estimate import critical_value
from celosia.local.base.hashed_rows import build_hash_family, exact_seed, exact_table, read_candidates
from celosia.noise import Seeded
from celosia.sketches.hashing.digest import digest
from celosia.sketches.hashing.family import HashFamily

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_functions_are_those_of_sketches() -> None:
    assert build_hash_family(4, 10, 7) == HashFamily(4, 10, independence=3, seed=7)
    assert build_hash_family(4, 10, 7) is build_hash_family(4, 10, 7)  # cached
    assert digest(["", "a"]).tolist() == [0xEF46DB3751D8E999, 0xD24EC4F1A98C6E5B]  # published values of XXH64


def test_candidates_are_values() -> None:
    labels, words = read_candidates([7, -1])
    assert labels == [7, -1]
    assert words.tolist() == digest([7, -1]).tolist()
    assert read_candidates([b"sun"])[0] == [b"sun"]
    assert read_candidates([])[0] == []
    with pytest.raises(InputError, match="candidates must be given"):
        read_candidates(None)


def test_sizes_that_fit() -> None:
    assert exact_table(1, 2) == (1, 2)
    assert exact_table(2**24, 256) == (2**24, 256)
    assert exact_seed(2**64 - 1) == 2**64 - 1


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: exact_table(0, 8),
        lambda: exact_table("4", 8),  # type: ignore[arg-type]
        lambda: exact_table(1, 1),
        lambda: exact_table(2**24 + 1, 2),
        lambda: exact_table(1, 2**25),
        lambda: exact_table(2**20, 2**13),
        lambda: exact_seed(-1),
        lambda: exact_seed(2**64),
        lambda: exact_seed(0.0),  # type: ignore[arg-type]
        lambda: read_candidates([0.5]),
        lambda: read_candidates("sun"),
        lambda: digest([None]),
    ]
    for ask in cases:
        with pytest.raises(CelosiaError):
            ask()


@pytest.mark.parametrize(("sketch", "hashes"), [(CountMeanSketch, 64), (HadamardCountMeanSketch, 8)])
def test_values_that_nobody_has_seldom_pass_although_they_collide_with_everybody(sketch: Any, hashes: int) -> None:
    """All people have one value: what nobody has collides in few rows or none, which is far from a normal law."""
    passed, normal, asked_about = 0, 0, 100_000
    for seed in range(20):
        protocol = sketch(epsilon=8, hashes=hashes, width=64, seed=seed)
        reports = protocol.privatize([7] * 2000, source=Seeded(seed))
        estimate = protocol.aggregate().absorb(reports).estimate(np.arange(1000, 1000 + asked_about // 20))
        passed += int((estimate.raw > estimate.critical(1e-4)).sum())
        normal += int((estimate.raw > critical_value(1e-4) * estimate.null_errors).sum())
    assert passed < 2e-4 * asked_about
    assert normal > 1e-3 * asked_about  # as a normal law would have it
