"""The protocols are structural: a class of somebody else's is a mechanism as soon as it has the members."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from celosia.core import Event, ExponentialEvent, Guarantee, Mechanism, PureDP, Release, Source, Tabulated


class Counter:
    """A source, though a bad one."""

    seeded = True

    def word(self) -> int:
        return 7

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.full(count, 7, dtype=np.uint64)


@dataclass(frozen=True)
class Constant:
    """A mechanism that ignores its input."""

    event: Event
    guarantee: Guarantee

    def release(self, value: Any, /, *, source: Source | None = None) -> Release[int]:
        del value
        seeded = source is not None and source.seeded
        return Release(value=0, event=self.event, guarantee=self.guarantee, seeded=seeded)

    def outputs(self, value: Any, /) -> Sequence[int]:
        del value
        return [0]

    def log_masses(self, value: Any, outputs: Sequence[Any], /) -> NDArray[np.float64]:
        del value
        return np.where(np.asarray(outputs) == 0, 0.0, -np.inf)


CONSTANT = Constant(event=ExponentialEvent(epsilon=1), guarantee=PureDP(epsilon=0))


def test_a_foreign_class_is_a_source_a_mechanism_and_tabulated_by_its_members() -> None:
    source: Source = Counter()  # mypy checks the signatures, isinstance the names
    mechanism: Mechanism = CONSTANT
    tabulated: Tabulated = CONSTANT
    assert isinstance(source, Source)
    assert isinstance(mechanism, Mechanism)
    assert isinstance(tabulated, Tabulated)
    assert mechanism.release(108, source=source) == Release(
        value=0, event=ExponentialEvent(epsilon=1), guarantee=PureDP(epsilon=0), seeded=True
    )
    assert tabulated.log_masses(108, [0, 1]).tolist() == [0.0, -np.inf]


def test_every_member_is_needed_and_no_other() -> None:
    cases: list[tuple[type, set[str]]] = [
        (Source, {"seeded", "word", "words"}),
        (Mechanism, {"event", "guarantee", "release"}),
        (Tabulated, {"outputs", "log_masses"}),
    ]
    for protocol, members in cases:
        assert isinstance(type("Complete", (), dict.fromkeys(members, len))(), protocol)
        for missing in members:
            partial = type("Partial", (), dict.fromkeys(members - {missing}, len))
            assert not isinstance(partial(), protocol)


def test_what_is_something_else_is_none_of_them() -> None:
    for protocol in (Source, Mechanism, Tabulated):
        assert not isinstance(object(), protocol)
        assert not isinstance(PureDP(epsilon=1), protocol)
    assert not isinstance(Counter(), Mechanism)
    assert not isinstance(CONSTANT, Source)
