"""Simplification of structures of events, before they are priced.

Reading an event for a group, or an add-remove event under replace-one, only means a larger sensitivity where the noise
is added to a number: then the larger event is priced exactly instead of by the general rule for groups. Post-processing
costs nothing and disappears. Equal events are counted, not listed: a million steps are one step and a number. Dwork and
Roth 2014 for groups and post-processing.
"""

import dataclasses
from functools import singledispatch
from itertools import groupby

from celosia.core import (
    AboveThresholdEvent,
    AddRemove,
    Adjacency,
    CertifiedEvent,
    ComposedEvent,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    GaussianEvent,
    GroupEvent,
    Guarantee,
    GuaranteedEvent,
    LaplaceEvent,
    NoisyMaxEvent,
    NotPricedError,
    ParallelEvent,
    ParameterError,
    PermuteAndFlipEvent,
    PoissonSampledEvent,
    PostProcessedEvent,
    PrivateSelectionEvent,
    RandomizedResponseEvent,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
    ShuffledEvent,
    SummedGaussianEvent,
)
from celosia.core.events import KeySelectionEvent, KNormEvent
from celosia.core.exact import refuse_same_changes

_WRAPPED = (
    CertifiedEvent,
    FixedSampledEvent,
    GroupEvent,
    PoissonSampledEvent,
    PostProcessedEvent,
    PrivateSelectionEvent,
    RepeatedEvent,
    ReplacedEvent,
    ShuffledEvent,
)


def simplify(event: Event) -> Event:
    """Return an equally priced event without groups, replacements and post-processing, where that is possible.

    >>> simplify(GroupEvent(event=LaplaceEvent(scale=10, sensitivity=1), size=3))
    LaplaceEvent(scale=10, sensitivity=3)
    >>> simplify(ReplacedEvent(event=GaussianEvent(variance=4, sensitivity_squared=1)))
    GaussianEvent(variance=4, sensitivity_squared=4, adjacency=ReplaceOne)
    """
    if isinstance(event, PostProcessedEvent):
        return simplify(event.event)
    if isinstance(event, PoissonSampledEvent | FixedSampledEvent) and event.probability == 1:
        return simplify(event.event)  # all records are in the sample
    if isinstance(event, GroupEvent):
        inner = simplify(event.event)
        return inner if event.size == 1 else simplify_group(inner, event.size, inner.adjacency)
    if isinstance(event, ReplacedEvent):
        return simplify_group(simplify(event.event), 2, ReplaceOne)
    return event


def split_group(event: GroupEvent | ReplacedEvent | PostProcessedEvent) -> tuple[Event, int]:
    """Return the simplified event and 1, or the inner event and the number of units that stay a group."""
    plain = simplify(event)
    return (plain, 1) if plain != event else (event.event, event.size if isinstance(event, GroupEvent) else 2)


def leaves(event: Event) -> tuple[tuple[Event, int], ...]:
    """Return the simplified events of a composition, each with its count."""
    counted: dict[Event, int] = {}
    _count(event, 1, counted)
    return tuple(counted.items())


def inner(event: PoissonSampledEvent | FixedSampledEvent | ShuffledEvent) -> Event:
    """Return the simplified event inside a sample or a shuffle, as the theorems of amplification need it.

    They compare a sample with one in which *another* unit stands in the place of the one that matters, and that unit
    may be in another part: inside, no partition counts as fixed. They are about one unit, too: several units of a group
    may be in the sample, so a group is refused inside and belongs outside.
    """
    return simplify(_of_one_unit(event.event))


def count_touched(event: ParallelEvent) -> int:
    """Return how many parts of a partition a change of one unit can reach.

    A unit is in one part; a replaced one leaves a part and enters another, unless public identifiers fix the parts.
    """
    return 1 if event.adjacency is AddRemove or event.fixed else 2


def plain_guarantee(event: GuaranteedEvent) -> Guarantee:
    """Return the guarantee of an event; refuse one that holds only between histories that change at the same times."""
    refuse_same_changes(event.adjacency, "accounting.same_changes_priced")
    return event.guarantee


def _of_one_unit(event: Event) -> Event:
    if isinstance(event, GroupEvent) and event.size > 1:
        raise NotPricedError("accounting.group_event_inside")
    if isinstance(event, ParallelEvent):
        return ParallelEvent(events=[_of_one_unit(part) for part in event.events])
    if isinstance(event, ComposedEvent):
        return ComposedEvent(events=[_of_one_unit(part) for part in event.events])
    if isinstance(event, _WRAPPED):
        return dataclasses.replace(event, event=_of_one_unit(event.event))
    return event


def _count(event: Event, times: int, counted: dict[Event, int]) -> None:
    event = simplify(event)
    if isinstance(event, RepeatedEvent):
        _count(event.event, times * event.times, counted)
    elif isinstance(event, ComposedEvent):
        for part, run in groupby(event.events):  # long runs of equal events are the usual case
            _count(part, times * sum(1 for _ in run), counted)
    else:
        counted[event] = counted.get(event, 0) + times


@singledispatch
def simplify_group(event: Event, size: int, adjacency: Adjacency) -> Event:
    """Return an event for ``size`` units together; by default a ``GroupEvent``, priced by the general rule for groups.

    A kind of event for which a group only means a larger parameter registers it: ``simplify_group.register(Kind)``.

    >>> from celosia.core import AddRemove
    >>> simplify_group(LaplaceEvent(scale=2, sensitivity=1), 3, AddRemove)
    LaplaceEvent(scale=2, sensitivity=3)
    """
    return _group(event, size, adjacency)


def _group(event: Event, size: int, adjacency: Adjacency) -> Event:
    if adjacency is event.adjacency:
        return GroupEvent(event=event, size=size)
    return ReplacedEvent(event=event if size == 2 else GroupEvent(event=event, size=size // 2))


@simplify_group.register
def _(event: GroupEvent, size: int, adjacency: Adjacency) -> Event:
    return simplify_group(event.event, size * event.size, adjacency)


@simplify_group.register
def _(event: LaplaceEvent | KNormEvent, size: int, adjacency: Adjacency) -> Event:
    return dataclasses.replace(event, sensitivity=size * event.sensitivity, adjacency=adjacency)


@simplify_group.register
def _(event: GaussianEvent | SummedGaussianEvent, size: int, adjacency: Adjacency) -> Event:
    return dataclasses.replace(event, sensitivity_squared=size**2 * event.sensitivity_squared, adjacency=adjacency)


@simplify_group.register
def _(
    event: ExponentialEvent | PermuteAndFlipEvent | NoisyMaxEvent | AboveThresholdEvent, size: int, adjacency: Adjacency
) -> Event:
    # Utilities move size times as far, so the mechanism is the one of size times the epsilon.
    return dataclasses.replace(event, epsilon=size * event.epsilon, adjacency=adjacency)


@simplify_group.register
def _(event: KeySelectionEvent, size: int, adjacency: Adjacency) -> Event:
    if adjacency is event.adjacency:  # several units may be in one key, which then shows more easily
        return _group(event, size, adjacency)
    replaced = dataclasses.replace(event, adjacency=adjacency)
    return replaced if size == 2 else GroupEvent(event=replaced, size=size // 2)


@simplify_group.register
def _(event: RandomizedResponseEvent, size: int, adjacency: Adjacency) -> Event:  # noqa: ARG001 - always replace-one
    return RepeatedEvent(event=event, times=size)  # each of them gives an answer


@simplify_group.register
def _(event: RepeatedEvent, size: int, adjacency: Adjacency) -> Event:
    return RepeatedEvent(event=simplify_group(simplify(event.event), size, adjacency), times=event.times)


@simplify_group.register
def _(event: ComposedEvent, size: int, adjacency: Adjacency) -> Event:
    return ComposedEvent(events=[simplify_group(simplify(part), size, adjacency) for part in event.events])


@simplify_group.register
def _(event: PrivateSelectionEvent, size: int, adjacency: Adjacency) -> Event:
    # The theorems are about one run, for any neighbours.
    return PrivateSelectionEvent(
        event=simplify_group(simplify(event.event), size, adjacency),
        distribution=event.distribution,
        eta=event.eta,
        gamma=event.gamma,
        mean=event.mean,
    )


@simplify_group.register
def _(event: GuaranteedEvent, size: int, adjacency: Adjacency) -> Event:
    try:
        larger = event.guarantee.group(size)
    except ParameterError:  # a Rényi curve that lacks the orders that a group needs
        return _group(event, size, adjacency)
    return GuaranteedEvent(guarantee=dataclasses.replace(larger, adjacency=adjacency), arithmetic=event.arithmetic)
