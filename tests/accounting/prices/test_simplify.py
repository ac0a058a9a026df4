"""Groups, readings and post-processing disappear where a larger sensitivity says the same; nothing else changes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import basic, rho, simplify
from celosia.accounting.prices.simplify import count_touched, leaves
from celosia.core import (
    ZCDP,
    AboveThresholdEvent,
    AddRemove,
    ApproxDP,
    ComposedEvent,
    ExponentialEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NoisyMaxEvent,
    ParallelEvent,
    PermuteAndFlipEvent,
    PoissonSampledEvent,
    PostProcessedEvent,
    PureDP,
    RandomizedResponseEvent,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
)

if TYPE_CHECKING:
    from celosia.core import Event

COUNT = LaplaceEvent(scale=10, sensitivity=1)
NOISE = GaussianEvent(variance=16, sensitivity_squared=2, dimension=3, unit="person")
SAMPLED = PoissonSampledEvent(event=COUNT, probability="0.1")


def test_a_group_is_a_larger_sensitivity() -> None:
    cases: list[tuple[Event, Event]] = [
        (COUNT, LaplaceEvent(scale=10, sensitivity=3)),
        (NOISE, GaussianEvent(variance=16, sensitivity_squared=18, dimension=3, unit="person")),
        (ExponentialEvent(epsilon="0.1"), ExponentialEvent(epsilon="0.3")),
        (PermuteAndFlipEvent(epsilon=1), PermuteAndFlipEvent(epsilon=3)),
        (NoisyMaxEvent(epsilon=1), NoisyMaxEvent(epsilon=3)),
        (AboveThresholdEvent(epsilon=1, answers=2), AboveThresholdEvent(epsilon=3, answers=2)),
        (RandomizedResponseEvent(epsilon=1), RepeatedEvent(event=RandomizedResponseEvent(epsilon=1), times=3)),
        (GuaranteedEvent(guarantee=ZCDP(rho=1)), GuaranteedEvent(guarantee=ZCDP(rho=9))),
        (GuaranteedEvent(guarantee=GaussianDP(mu=1)), GuaranteedEvent(guarantee=GaussianDP(mu=3))),
        (SAMPLED, GroupEvent(event=SAMPLED, size=3)),
    ]
    for event, expected in cases:
        assert simplify(GroupEvent(event=event, size=3)) == expected
        assert simplify(GroupEvent(event=event, size=1)) == event
        processed = PostProcessedEvent(event=PostProcessedEvent(event=event, by="one"), by="two")
        assert simplify(GroupEvent(event=processed, size=3)) == expected


def test_add_remove_read_under_replace_one_is_a_group_of_two() -> None:
    assert simplify(ReplacedEvent(event=COUNT)) == LaplaceEvent(scale=10, sensitivity=2, adjacency=ReplaceOne)
    noise = simplify(ReplacedEvent(event=NOISE))
    assert isinstance(noise, GaussianEvent)
    assert (noise.sensitivity_squared, noise.adjacency, noise.unit) == (Fraction(8), ReplaceOne, "person")
    assert simplify(ReplacedEvent(event=GuaranteedEvent(guarantee=PureDP(epsilon=1)))) == GuaranteedEvent(
        guarantee=PureDP(epsilon=2, adjacency=ReplaceOne)
    )
    assert simplify(ReplacedEvent(event=SAMPLED)) == ReplacedEvent(event=SAMPLED)


def test_groups_of_groups_multiply() -> None:
    assert simplify(GroupEvent(event=GroupEvent(event=COUNT, size=2), size=3)) == LaplaceEvent(scale=10, sensitivity=6)
    assert simplify(GroupEvent(event=GroupEvent(event=SAMPLED, size=2), size=3)) == GroupEvent(event=SAMPLED, size=6)
    of_group = ReplacedEvent(event=GroupEvent(event=SAMPLED, size=3))
    assert simplify(of_group) == of_group
    assert simplify(GroupEvent(event=ReplacedEvent(event=COUNT), size=3)) == LaplaceEvent(
        scale=10, sensitivity=6, adjacency=ReplaceOne
    )


def test_a_group_of_an_approximate_guarantee_is_the_guarantee_s_own() -> None:
    known = ApproxDP(epsilon=1, delta="1e-6")
    assert simplify(GroupEvent(event=GuaranteedEvent(guarantee=known), size=3)) == GuaranteedEvent(
        guarantee=known.group(3)
    )


def test_a_composition_for_a_group_is_the_composition_of_its_parts_for_the_group() -> None:
    both = ComposedEvent(events=(COUNT, RepeatedEvent(event=COUNT, times=4)))
    larger = LaplaceEvent(scale=10, sensitivity=2)
    assert leaves(GroupEvent(event=both, size=2)) == ((larger, 5),)
    assert leaves(ReplacedEvent(event=both)) == ((LaplaceEvent(scale=10, sensitivity=2, adjacency=ReplaceOne), 5),)


def test_only_a_replaced_unit_in_free_parts_touches_two() -> None:
    for replaced, fixed, parts in ((0, 0, 1), (0, 1, 1), (1, 0, 2), (1, 1, 1)):
        count = LaplaceEvent(scale=10, sensitivity=1, adjacency=ReplaceOne if replaced else AddRemove)
        assert count_touched(ParallelEvent(events=(count, count, count), fixed=bool(fixed))) == parts


def test_leaves_count_equal_events() -> None:
    other = LaplaceEvent(scale=5, sensitivity=1)
    processed = PostProcessedEvent(event=COUNT, by="rounding")
    mixed = ComposedEvent(events=(COUNT, other, processed, RepeatedEvent(event=COUNT, times=7), COUNT))
    assert leaves(RepeatedEvent(event=mixed, times=10)) == ((COUNT, 100), (other, 10))
    assert leaves(RepeatedEvent(event=RepeatedEvent(event=COUNT, times=10**6), times=10**6)) == ((COUNT, 10**12),)
    beside = ParallelEvent(events=(COUNT, COUNT))
    assert leaves(beside) == ((beside, 1),)


EVENTS = st.recursive(
    st.builds(
        LaplaceEvent, scale=st.integers(1, 5), sensitivity=st.integers(0, 4)
    ) | st.builds(ExponentialEvent, epsilon=st.sampled_from(["0.1", "1", "1/3"])),
    lambda inner: st.one_of(
        st.builds(lambda event, size: GroupEvent(event=event, size=size), inner, st.integers(1, 4)),
        st.builds(lambda event, times: RepeatedEvent(event=event, times=times), inner, st.integers(1, 4)),
        st.builds(lambda events: ComposedEvent(events=events), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda event: PostProcessedEvent(event=event, by="rounding"), inner),
    ),
    max_leaves=6,
)  # fmt: skip


def naive(event: Event) -> Fraction:
    """Price by the definitions alone: a sum, a multiple."""
    match event:
        case GroupEvent(event=inner, size=size):
            return size * naive(inner)
        case RepeatedEvent(event=inner, times=times):
            return times * naive(inner)
        case ComposedEvent(events=events):
            return sum(map(naive, events), Fraction(0))
        case PostProcessedEvent(event=inner):
            return naive(inner)
        case _:
            return basic(event)[0]


@given(EVENTS)
def test_simplifying_changes_no_price_and_is_done_once(event: Event) -> None:
    plain = simplify(event)
    assert simplify(plain) == plain
    assert sum((times * basic(leaf)[0] for leaf, times in leaves(event)), Fraction(0)) == naive(event)
    assert sum(times * rho(leaf) for leaf, times in leaves(event)) >= 0
    assert (plain.adjacency, plain.unit) == (event.adjacency, event.unit)
