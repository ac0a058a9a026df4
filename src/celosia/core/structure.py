"""Events made of events: in sequence, repeated, in parallel, on a sample, shuffled, for a group.

A structure is itself an event, so that a ledger stores a whole training run as one record and an accountant prices it
by its shape: ten thousand equal steps are one step and a number. A structure has the adjacency and the unit of its
parts, and ``arithmetic="real"`` if one part has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from celosia.core.adjacency import AddRemove, Adjacency, ReplaceOne
from celosia.core.errors import GuaranteeMismatchError, ParameterError
from celosia.core.events import Arithmetic, Event, check_event
from celosia.core.exact import (
    Exact,
    exact_adjacency,
    exact_integer,
    exact_positive,
    exact_probability,
    exact_text,
    refuse_same_changes,
    safe_repr,
)
from celosia.core.guarantees import Guarantee

_MAX_PARTS = 10_000  # bounds the size of a record; a run of equal events is one RepeatedEvent


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class _Structure(Event):
    """Base of the events made of others: its scope is theirs."""

    def _set_scope_of_parts(
        self,
        parts: tuple[Event, ...],
        adjacency: Adjacency | None,
        unit: str | None,
        arithmetic: Arithmetic | None,
    ) -> None:
        first = parts[0]
        for part in parts:
            refuse_same_changes(part.adjacency, "core.same_changes_part", kind=type(self).__name__)
            if part.adjacency is not first.adjacency:
                raise GuaranteeMismatchError(
                    "core.parts_differ_in_adjacency", first=repr(first.adjacency), other=repr(part.adjacency)
                )
            if part.unit != first.unit:
                raise GuaranteeMismatchError("core.parts_differ_in_unit", first=repr(first.unit), other=repr(part.unit))
        real: Arithmetic = "real" if any(part.arithmetic == "real" for part in parts) else "integer"
        _check_same_scope("adjacency", adjacency, first.adjacency)
        _check_same_scope("unit", unit, first.unit)
        _check_same_scope("arithmetic", arithmetic, real)
        self._set_scope(first.adjacency, first.unit, real)

    def _derived_fields(self) -> tuple[str, ...]:
        return ("adjacency", "unit", "arithmetic")


def _check_same_scope(name: str, given: Adjacency | str | None, found: Adjacency | str) -> None:
    """Refuse a scope other than that of the parts; only reading a record passes one."""
    if given is not None and (exact_adjacency(given, histories=True) if name == "adjacency" else given) != found:
        raise GuaranteeMismatchError(
            "core.scope_differs_from_parts", name=name, wanted=repr(found), value=safe_repr(given)
        )


def _check_events(values: object) -> tuple[Event, ...]:
    if not isinstance(values, tuple | list) or not 1 <= len(values) <= _MAX_PARTS:
        raise ParameterError("core.events_not_a_list", most=_MAX_PARTS, value=safe_repr(values))
    return tuple(check_event(value, "events") for value in values)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ComposedEvent(_Structure):
    """Events in sequence on the same data; the query of each may depend on the earlier answers.

    The list itself, the kinds of events and their parameters must *not* depend on them. For a list that grows as one
    goes, use a filter (``celosia.accounting``).

    >>> from celosia.core import LaplaceEvent
    >>> ComposedEvent(events=(LaplaceEvent(scale=10, sensitivity=1), LaplaceEvent(scale=5, sensitivity=1)))
    ComposedEvent(events=(LaplaceEvent(scale=10, sensitivity=1), LaplaceEvent(scale=5, sensitivity=1)))
    """

    events: tuple[Event, ...]

    def __init__(
        self,
        *,
        events: Sequence[Event],
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(events=_check_events(events))
        self._set_scope_of_parts(self.events, adjacency, unit, arithmetic)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class RepeatedEvent(_Structure):
    """One event repeated ``times`` times on the same data, as one record.

    >>> from celosia.core import LaplaceEvent
    >>> RepeatedEvent(event=LaplaceEvent(scale=10, sensitivity=1), times=1000)
    RepeatedEvent(event=LaplaceEvent(scale=10, sensitivity=1), times=1000)
    """

    event: Event
    times: int

    def __init__(
        self,
        *,
        event: Event,
        times: int,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(event=check_event(event), times=exact_integer(times, name="times"))
        self._set_scope_of_parts((self.event,), adjacency, unit, arithmetic)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ParallelEvent(_Structure):
    """Events on the parts of a partition of the data, one for each part.

    Each event's sensitivity is stated for a change of the *whole* data set. One unit is in one part, so adding or
    removing it touches one event; replacing it can touch two, the part that it leaves and the part that it enters,
    unless the parts are ``fixed`` by public identifiers. Parts whose number of answers is visible, as with randomized
    answers and shuffles, must be fixed.

    >>> from celosia.core import LaplaceEvent
    >>> count = LaplaceEvent(scale=10, sensitivity=1)
    >>> ParallelEvent(events=(count, count)).fixed
    False
    """

    events: tuple[Event, ...]
    fixed: bool = False

    def __init__(
        self,
        *,
        events: Sequence[Event],
        fixed: bool = False,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        if not isinstance(fixed, bool):
            raise ParameterError("core.fixed_not_boolean", fixed=safe_repr(fixed))
        self._set(events=_check_events(events), fixed=fixed)
        self._set_scope_of_parts(self.events, adjacency, unit, arithmetic)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class GroupEvent(_Structure):
    """An event for groups: neighbours differ in up to ``size`` units together.

    >>> from celosia.core import LaplaceEvent
    >>> GroupEvent(event=LaplaceEvent(scale=10, sensitivity=1), size=3)
    GroupEvent(event=LaplaceEvent(scale=10, sensitivity=1), size=3)
    """

    event: Event
    size: int

    def __init__(
        self,
        *,
        event: Event,
        size: int,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(event=check_event(event), size=exact_integer(size, name="size"))
        self._set_scope_of_parts((self.event,), adjacency, unit, arithmetic)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ReplacedEvent(Event):
    """An add-remove event under replace-one: one unit is removed and another one added.

    >>> from celosia.core import LaplaceEvent
    >>> ReplacedEvent(event=LaplaceEvent(scale=10, sensitivity=1)).adjacency
    ReplaceOne
    """

    event: Event

    def __init__(
        self,
        *,
        event: Event,
        adjacency: Adjacency = ReplaceOne,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(event=check_event(event))
        if self.event.adjacency is not AddRemove:
            raise GuaranteeMismatchError("core.already_replace_one", adjacency=repr(self.event.adjacency))
        if exact_adjacency(adjacency) is not ReplaceOne:
            raise GuaranteeMismatchError("core.adjacency_not_replace_one")
        _check_same_scope("unit", unit, self.event.unit)
        _check_same_scope("arithmetic", arithmetic, self.event.arithmetic)
        self._set_scope(ReplaceOne, self.event.unit, self.event.arithmetic)

    def _derived_fields(self) -> tuple[str, ...]:
        return ("adjacency", "unit", "arithmetic")


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class PostProcessedEvent(_Structure):
    """An event whose answer is post-processed without the data, ``by`` the named step, at no further cost.

    >>> from celosia.core import LaplaceEvent
    >>> PostProcessedEvent(event=LaplaceEvent(scale=10, sensitivity=1), by="rounding to tens").by
    'rounding to tens'
    """

    event: Event
    by: str

    def __init__(
        self,
        *,
        event: Event,
        by: str,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(event=check_event(event), by=exact_text(by, name="by"))
        self._set_scope_of_parts((self.event,), adjacency, unit, arithmetic)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class CertifiedEvent(_Structure):
    """An event with one point of its privacy profile, for accountants that add epsilons and deltas.

    Gaussian noise has a delta for every epsilon, so a sum of epsilons and deltas needs one chosen pair. Accountants
    check the pair; those that do more than add price the event inside.

    >>> from celosia.core import GaussianEvent
    >>> noise = GaussianEvent(variance=25, sensitivity_squared=1)
    >>> CertifiedEvent(event=noise, epsilon=1, delta="1e-6")
    CertifiedEvent(event=GaussianEvent(variance=25, sensitivity_squared=1), epsilon=1, delta='1e-06')
    """

    event: Event
    epsilon: Fraction
    delta: Fraction

    def __init__(
        self,
        *,
        event: Event,
        epsilon: Exact,
        delta: Exact,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(
            event=check_event(event),
            epsilon=exact_positive(epsilon, name="epsilon"),
            delta=exact_probability(delta, name="delta"),
        )
        self._set_scope_of_parts((self.event,), adjacency, unit, arithmetic)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class GuaranteedEvent(Event):
    """A mechanism known only by its guarantee, such as another library's or a paper's.

    >>> from celosia.core import PureDP
    >>> GuaranteedEvent(guarantee=PureDP(epsilon="0.1"))
    GuaranteedEvent(guarantee=PureDP(epsilon='0.1'))
    """

    guarantee: Guarantee

    def __init__(
        self,
        *,
        guarantee: Guarantee,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic = "integer",
    ) -> None:
        if not isinstance(guarantee, Guarantee):
            raise ParameterError("core.not_a_guarantee", guarantee=safe_repr(guarantee))
        _check_same_scope("adjacency", adjacency, guarantee.adjacency)
        _check_same_scope("unit", unit, guarantee.unit)
        self._set_scope(ReplaceOne, guarantee.unit, arithmetic)
        self._set(guarantee=guarantee, adjacency=guarantee.adjacency)  # SameChanges too, which no other event may have

    def _derived_fields(self) -> tuple[str, ...]:
        return ("adjacency", "unit")


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class PoissonSampledEvent(_Structure):
    """An event on a secret sample that contains each unit independently with ``probability``. Add-remove only.

    >>> from celosia.core import GaussianEvent
    >>> step = GaussianEvent(variance=10**6, sensitivity_squared=10**6)
    >>> PoissonSampledEvent(event=step, probability="0.01").probability
    Fraction(1, 100)
    """

    event: Event
    probability: Fraction

    def __init__(
        self,
        *,
        event: Event,
        probability: Exact,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(event=check_event(event), probability=exact_probability(probability, name="probability"))
        self._set_scope_of_parts((self.event,), adjacency, unit, arithmetic)
        if self.adjacency is not AddRemove:
            raise ParameterError("core.poisson_needs_add_remove")


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class FixedSampledEvent(_Structure):
    """An event on a secret sample of ``size`` units out of ``population``, without replacement. Replace-one only.

    >>> from celosia.core import GaussianEvent, ReplaceOne
    >>> step = GaussianEvent(variance=10**6, sensitivity_squared=10**6, adjacency=ReplaceOne)
    >>> FixedSampledEvent(event=step, size=256, population=60_000).probability
    Fraction(8, 1875)
    """

    event: Event
    size: int
    population: int

    def __init__(
        self,
        *,
        event: Event,
        size: int,
        population: int,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(
            event=check_event(event),
            size=exact_integer(size, name="size", least=0),
            population=exact_integer(population, name="population"),
        )
        self._set_scope_of_parts((self.event,), adjacency, unit, arithmetic)
        if self.size > self.population:
            raise ParameterError("core.sample_exceeds_population", population=self.population, size=self.size)
        if isinstance(self.event, ShuffledEvent) and self.event.reports > self.size:
            raise ParameterError("core.size_below_shuffled_reports", reports=self.event.reports, size=self.size)
        if self.adjacency is not ReplaceOne:
            raise ParameterError("core.fixed_sample_needs_replace_one")

    @property
    def probability(self) -> Fraction:
        """The probability that a unit is in the sample."""
        return Fraction(self.size, self.population)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ShuffledEvent(_Structure):
    """The reports of ``reports`` people through the local randomizer ``event``, in random order. Replace-one only.

    >>> from celosia.core import RandomizedResponseEvent
    >>> ShuffledEvent(event=RandomizedResponseEvent(epsilon=1), reports=10_000).reports
    10000
    """

    event: Event
    reports: int

    def __init__(
        self,
        *,
        event: Event,
        reports: int,
        adjacency: Adjacency | None = None,
        unit: str | None = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self._set(event=check_event(event), reports=exact_integer(reports, name="reports"))
        self._set_scope_of_parts((self.event,), adjacency, unit, arithmetic)
        if self.adjacency is not ReplaceOne:
            raise ParameterError("core.shuffling_needs_replace_one")
