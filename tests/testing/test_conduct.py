"""Each rule of conduct has a mechanism that breaks it, and is caught."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from celosia.audit import gather
from celosia.core import ConformanceError, InputError, LaplaceEvent, Mechanism, PureDP, Release
from celosia.noise import Seeded
from celosia.testing.conduct import (
    check_extremes,
    check_forks,
    check_protocol,
    check_seeding,
    check_threads,
    enough_releases,
)
from tests.testing.mutants import HasAFixedSeed, HidesTheSeed, IgnoresSource, Mutant, SharesItsPool, correct, turned

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.core import Source


@dataclass(frozen=True)
class Altered:
    """The correct mechanism, whose releases pass through a function of the true value and the release."""

    alter: Callable[[Any, Release[Any]], Any]
    event: LaplaceEvent = LaplaceEvent(scale=1, sensitivity=1)  # noqa: RUF009 - frozen
    guarantee: PureDP = PureDP(epsilon=1)  # noqa: RUF009 - frozen

    def release(self, value: Any, /, *, source: Source | None = None) -> Any:
        return self.alter(value, correct().release(value, source=source))

    def __repr__(self) -> str:
        return "Altered()"


def rebuilt(release: Release[Any], **changes: Any) -> Release[Any]:
    fields = {"value": release.value, "event": release.event, "guarantee": release.guarantee, "seeded": release.seeded}
    return Release(**(fields | changes))


def test_the_correct_mechanism_behaves() -> None:
    assert check_protocol(correct(), 0, 1) == "LaplaceEvent, PureDP(epsilon=1)"
    assert check_seeding(correct(), 0, 40) == "40 releases repeat with a seed and not without"
    assert check_seeding(correct(), 0, 0) == "8 releases repeat with a seed"
    assert check_extremes(correct(), 0) == "5 extreme values: 5 answered, 0 refused"
    assert check_forks(correct(), 0, 0, processes=1) == "not checked: the output hardly varies"


def test_releases_that_say_something_else_are_caught() -> None:
    cases: list[tuple[Callable[[Any, Release[Any]], Any], str]] = [
        (lambda _value, release: release.value, "protocol: release must return a celosia.Release, not a int"),
        (lambda _value, release: rebuilt(release, guarantee=PureDP(epsilon=2)), "protocol: a release says PureDP"),
        (
            lambda value, release: rebuilt(release, event=LaplaceEvent(scale=1 + abs(value), sensitivity=1)),
            "sideways: the event or the error bar",
        ),
        (
            lambda value, release: rebuilt(release, margin=lambda _level: value),
            "sideways: the event or the error bar",
        ),
    ]
    for alter, complaint in cases:
        with pytest.raises(ConformanceError, match=complaint):
            check_protocol(Altered(alter), 0, 1)


def test_what_is_no_mechanism_is_caught() -> None:
    nothing: Mechanism = object()  # type: ignore[assignment]  # what a third party might pass
    with pytest.raises(ConformanceError, match="protocol: object needs the members"):
        check_protocol(nothing, 0, 1)


def test_an_event_that_is_none_of_ours_is_caught() -> None:
    claim: Any = "laplace"
    with pytest.raises(ConformanceError, match=r"event must be a celosia\.core\.Event"):
        check_protocol(Mutant(event=claim, guarantee=PureDP(epsilon=1), draw=correct().draw), 0, 1)


def test_floats_in_a_guarantee_are_caught() -> None:
    guarantee = PureDP(epsilon=1)
    object.__setattr__(guarantee, "epsilon", 1.0)
    with pytest.raises(ConformanceError, match=r"fractions: PureDP\.epsilon is a float"):
        check_protocol(Mutant(event=correct().event, guarantee=guarantee, draw=correct().draw), 0, 1)


def test_a_mechanism_that_keeps_the_data_is_caught() -> None:
    class Keeps(Altered):
        last: Any = None

        def __repr__(self) -> str:
            return f"Keeps({type(self).last})"

    def keep(value: Any, release: Release[Any]) -> Release[Any]:
        Keeps.last = value
        return release

    with pytest.raises(ConformanceError, match="sideways: the repr"):
        check_protocol(Keeps(keep), 0, 1)


def test_seeding_mutants_are_caught() -> None:
    cases: list[tuple[type[Mutant], str]] = [
        (IgnoresSource, "the same seed gave two different releases"),
        (HidesTheSeed, r"a release from source=Seeded\(11\) must say seeded=True"),
        (HasAFixedSeed, "the default source repeats itself"),
    ]
    for kind, complaint in cases:
        with pytest.raises(ConformanceError, match=f"seeding: {complaint}"):
            check_seeding(turned(kind, correct()), 0, 40)


def test_a_constant_stream_is_caught() -> None:
    def stuck(_value: Any, release: Release[Any]) -> Release[Any]:
        return rebuilt(release, value=4)

    with pytest.raises(ConformanceError, match="two seeds gave the same releases"):
        check_seeding(Altered(stuck), 0, 40)


def test_a_pool_that_forks_copy_is_caught() -> None:
    with pytest.raises(ConformanceError, match="fork safety"):
        check_forks(turned(SharesItsPool, correct()), 0, 40, processes=4)


def test_threads_that_start_alike_are_caught() -> None:
    local = threading.local()

    def per_thread(value: Any, release: Release[Any]) -> Release[Any]:
        local.source = getattr(local, "source", None) or Seeded(1)
        return rebuilt(release, value=correct().release(value, source=local.source).value)

    with pytest.raises(ConformanceError, match="thread safety"):
        check_threads(Altered(per_thread), 0, 40, threads=2)
    assert check_threads(correct(), 0, 40, threads=4) == "4 threads, no equal streams"
    assert check_threads(correct(), 0, 0, threads=4) == "not checked: the output hardly varies"


def test_enough_releases_grow_with_certainty() -> None:
    source = Seeded(1)
    coin = gather((source.words(10_000) & np.uint64(1)).astype(np.int64))
    rare = gather((source.words(10_000) < np.uint64(2**64 // 100)).astype(np.int64))
    words = gather(source.words(10_000) >> np.uint64(1))
    assert enough_releases(words, 10) == 8
    assert 8 < enough_releases(coin, 10) < enough_releases(rare, 10) < 4_096
    assert enough_releases(gather([1] * 100), 10) == 0


def test_extreme_inputs_are_answered_soundly() -> None:
    cases: list[tuple[Callable[[Any, Release[Any]], Any], str]] = [
        (lambda value, release: rebuilt(release, value=1 // abs(value - 1)), "ZeroDivisionError was raised"),
        (lambda value, release: rebuilt(release, value=float("nan") if value > 1 else 1.0), "the answer is NaN"),
        (lambda value, release: rebuilt(release, value="?" if value > 1 else release.value), "a str came out"),
    ]
    for alter, complaint in cases:
        with pytest.raises(ConformanceError, match=f"extreme inputs: {complaint}"):
            check_extremes(Altered(alter), 0)


def test_refusing_is_allowed_but_not_with_the_value_in_the_message() -> None:
    def refuse(value: Any, release: Release[Any]) -> Release[Any]:
        if abs(value) > 10:
            raise InputError
        return release

    def blab(value: Any, release: Release[Any]) -> Release[Any]:
        if abs(value) > 10:
            raise InputError(value)
        return release

    assert check_extremes(Altered(refuse), 0) == "5 extreme values: 3 answered, 2 refused"
    with pytest.raises(ConformanceError, match="quotes the true value"):
        check_extremes(Altered(blab), 0)


def test_labels_have_no_extremes() -> None:
    def answer(_value: Any, _count: int, _source: Source) -> list[str]:
        return ["yes"]

    labels = Mutant(event=correct().event, guarantee=PureDP(epsilon=1), draw=answer)
    assert check_extremes(labels, "yes") == "not checked: no numbers go in"
