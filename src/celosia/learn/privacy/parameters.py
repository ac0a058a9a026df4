"""The parameters that every estimator takes: the privacy target of a fit, and the public bounds of the data.

With an epsilon alone the guarantee is pure and the noise is Laplace; with a delta or a rho it is Gaussian, divided as a
rho. An (epsilon, delta) is certified exactly, by Gaussian privacy, unless the budget that pays is itself a rho or a
curve: there the rho that implies it costs least. ``epsilon=inf`` means no privacy at all: the baseline that private
models are compared with.

Bounds are stated by the caller and never read from the data: two numbers for all features, two arrays, or the kinds of
a schema. What lies outside is clipped. From them follow the axes on which columns are rounded, the same in memory and
in a database.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError, UnboundedDataError
from celosia.core.events import Event
from celosia.core.exact import Exact, exact_adjacency, exact_epsilon, exact_non_negative, exact_rho, safe_repr
from celosia.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from celosia.core.structure import CertifiedEvent, ComposedEvent
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Category, Kind, Real
from celosia.statistics.base.noise import ContributionBounds, Noise, Sensitivity

if TYPE_CHECKING:
    from celosia.ledger.budget_account import BudgetAccount

_WHOLE = Fraction(1)
_MIN_DELTA = Fraction(1, 10**200)
_MIN_TARGET = Fraction(1, 10**100)  # of epsilon or rho: no noise that can be drawn is wide enough for less


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An epsilon, an epsilon with a delta, a rho, or none of them."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    adjacency: Adjacency = AddRemove
    unit: str = "row"
    exact: bool = True

    @classmethod
    def of(
        cls,
        *,
        epsilon: Exact | None = 1.0,
        delta: Exact | None = None,
        rho: Exact | None = None,
        adjacency: Adjacency | str | None = None,
        unit: str = "row",
        account: "BudgetAccount | None" = None,
        exact: bool = True,
    ) -> "Target":
        """Return the target that an estimator's parameters name; neighbours and unit are the budget's if there is one.

        ``exact``: whether who pays takes an (epsilon, delta) as such, and not as a rho.
        """
        if account is not None:
            unit = account.budget.unit
            adjacency = account.budget.adjacency if adjacency is None else adjacency
            exact = exact and isinstance(account.limit, PureDP | ApproxDP)
        near = AddRemove if adjacency is None else exact_adjacency(adjacency)
        if rho is not None:
            if (epsilon is not None and epsilon != 1) or delta is not None:
                raise ParameterError("learn.both_rho_and_epsilon", rho=safe_repr(rho))
            return cls(rho=_exact_rho(rho), adjacency=near, unit=unit)
        if epsilon is None:
            raise ParameterError("learn.missing_privacy_target")
        if is_infinite(epsilon):
            return cls(adjacency=near, unit=unit)
        return cls(
            epsilon=_exact_epsilon(epsilon),
            delta=Fraction(0) if delta is None else _exact_delta(delta),
            adjacency=near,
            unit=unit,
            exact=exact,
        )

    @property
    def kind(self) -> Literal["pure", "approximate", "concentrated", "none"]:
        """The kind of guarantee."""
        if self.rho is not None:
            return "concentrated"
        if self.epsilon is None:
            return "none"
        return "approximate" if self.delta > 0 else "pure"

    @property
    def private(self) -> bool:
        """Whether there is a guarantee."""
        return self.kind != "none"

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee; None without privacy."""
        if self.rho is not None:
            return ZCDP(rho=self.rho, adjacency=self.adjacency, unit=self.unit)
        if self.epsilon is None:
            return None
        if self.delta > 0:
            return ApproxDP(epsilon=self.epsilon, delta=self.delta, adjacency=self.adjacency, unit=self.unit)
        return PureDP(epsilon=self.epsilon, adjacency=self.adjacency, unit=self.unit)

    @property
    def total_rho(self) -> Fraction:
        """The rho that Gaussian noise may spend.

        Given, or the largest under an exact certificate, or that implies it.
        """
        if self.rho is not None:
            return self.rho
        if self.epsilon is None or self.delta == 0:
            raise ParameterError("learn.pure_target_has_no_rho")
        from celosia.accounting.prices.certified import certified_rhos
        from celosia.accounting.prices.gaussian import largest_rho

        return next(certified_rhos(self.epsilon, self.delta)) if self.exact else largest_rho(self.epsilon, self.delta)

    def _rho(self, sensitivity: Sensitivity, width: int, share: Fraction) -> Fraction:
        """Return the rho of all noise, of which this one has a share: noise on a grid spends a little more."""
        if self.kind != "approximate" or not self.exact:
            return self.total_rho
        from celosia.accounting.prices.certified import certified_rho

        return certified_rho(self.epsilon or Fraction(0), self.delta, Fraction(sensitivity.l2_squared), width, share)

    def noise(self, sensitivity: Sensitivity, width: int, share: Fraction = _WHOLE) -> Noise:
        """Return noise for ``width`` integers that spends a share: of epsilon if pure, else of rho.

        The whole of an (epsilon, delta) goes to whichever noise is smaller.
        """
        bounding = self.bounding
        if self.kind == "pure":
            return Noise.laplace((self.epsilon or 0) * share, sensitivity, 1, width, bounding)
        rho = self._rho(sensitivity, width, share)
        found = Noise.gaussian(rho * share, sensitivity, 1, width, bounding)
        if self.kind == "approximate" and share == 1:
            other = Noise.laplace(self.epsilon or 0, sensitivity, 1, width, bounding)
            return other if other.variance < found.variance else found
        return found

    @property
    def bounding(self) -> ContributionBounds:
        """One row of one unit: what data in memory are."""
        return ContributionBounds(adjacency=self.adjacency, unit=self.unit)

    def event(self, *events: Event) -> Event:
        """Return one event of all that is run, with the pair (epsilon, delta) that was meant where there is a delta."""
        together = events[0] if len(events) == 1 else ComposedEvent(events=events)
        if self.kind != "approximate":
            return together
        from celosia.core.events import LaplaceEvent

        if isinstance(together, LaplaceEvent):  # pure, and with no delta at all
            return together
        return CertifiedEvent(event=together, epsilon=self.epsilon or 0, delta=self.delta)

    def with_epsilon(self, epsilon: Exact | None, delta: Exact | None = None, rho: Exact | None = None) -> "Target":
        """Return the same target with another amount, where one is given: what a forecast is made for."""
        if rho is not None:
            return replace(self, epsilon=None, delta=Fraction(0), rho=_exact_rho(rho))
        found = self
        if epsilon is not None:
            spent = None if is_infinite(epsilon) else _exact_epsilon(epsilon)
            found = replace(found, epsilon=spent, rho=None)
        return found if delta is None else replace(found, delta=_exact_delta(delta))


def is_infinite(epsilon: object) -> bool:
    """Return whether an epsilon means no privacy at all."""
    return isinstance(epsilon, float) and math.isinf(epsilon) and epsilon > 0


def _exact_epsilon(epsilon: Exact) -> Fraction:
    number = exact_epsilon(epsilon)
    if number < _MIN_TARGET:
        raise ParameterError("learn.epsilon_too_small", epsilon=safe_repr(epsilon))
    return number


def _exact_delta(delta: Exact) -> Fraction:
    number = exact_non_negative(delta, name="delta")
    if number >= 1 or 0 < number < _MIN_DELTA:
        raise ParameterError("core.delta_out_of_range", delta=safe_repr(delta))
    return number


def _exact_rho(rho: Exact) -> Fraction:
    number = exact_rho(rho)
    if number < _MIN_TARGET:
        raise ParameterError("learn.rho_too_small", rho=safe_repr(rho))
    return number


# ----------------------------------------------------------------------------------------------------------- bounds


def feature_kinds(bounds: object, count: int, names: Sequence[str] | None = None) -> tuple[Kind, ...]:
    """Return the kind of each of ``count`` features: numbers between public bounds, or the kinds of a schema."""
    if bounds is None:
        raise UnboundedDataError("learn.missing_bounds")
    if isinstance(bounds, Mapping):
        return _from_schema(bounds, count, names)
    low, high = _two(bounds, "learn.bounds_not_a_pair")
    if np.ndim(low) == 0 and np.ndim(high) == 0:
        return (_real(low, high, "learn.bounds_invalid"),) * count
    lows, highs = (_one_each(side, count) for side in (low, high))
    return tuple(
        _real(low, high, "learn.feature_bounds_invalid", feature=place + 1)
        for place, (low, high) in enumerate(zip(lows, highs, strict=True))
    )


def target_kind(bounds_y: object) -> Kind:
    """Return the kind of a target that is a number."""
    if bounds_y is None:
        raise UnboundedDataError("learn.missing_target_bounds")
    if isinstance(bounds_y, Kind):
        return _numeric(bounds_y)
    low, high = _two(bounds_y, "learn.bounds_y_not_a_pair")
    return _real(low, high, "learn.bounds_y_invalid")


def known_count(bounds: object) -> int | None:
    """Return how many features bounds speak of; None if they are the same for all."""
    if isinstance(bounds, Mapping):
        return len(bounds)
    if bounds is None:
        return None
    sizes = {np.size(side) for side in _two(bounds, "learn.bounds_not_a_pair") if np.ndim(side)}
    return sizes.pop() if len(sizes) == 1 else None


def axis_of(kind: Kind) -> Axis:
    """Return the axis of a kind that is a number; refuse any other."""
    axis = _axis(kind)
    if axis is None:
        raise ParameterError("learn.column_not_a_number", kind=type(kind).__name__)
    return axis


@functools.lru_cache(maxsize=1024)
def _axis(kind: Kind) -> Axis | None:
    """The axis of a kind; columns are often alike, and exact numbers take their time."""
    return kind.axis


def ends_of(kind: Kind) -> tuple[float, float]:
    """Return what numbers in a column of this kind are clipped to; for categories, nothing."""
    if kind.axis is None:
        return -math.inf, math.inf
    low, high = getattr(kind, "low", None), getattr(kind, "high", None)
    if not isinstance(low, int | Fraction) or not isinstance(high, int | Fraction):  # booleans, days, moments
        low, high = kind.axis.low, kind.axis.high
    return float(low), float(high)


def _from_schema(schema: "Mapping[str, Any]", count: int, names: Sequence[str] | None) -> tuple[Kind, ...]:
    if names is None:
        if len(schema) != count:
            raise ParameterError("learn.bounds_column_mismatch", in_bounds=len(schema), in_data=count)
        names = list(schema)
    missing = [name for name in names if name not in schema]
    if missing:
        raise UnboundedDataError("learn.column_without_bounds", column=safe_repr(missing[0]))
    return tuple(schema[name] if isinstance(schema[name], Kind) else _pair_kind(schema[name]) for name in names)


def _pair_kind(bounds: object) -> Kind:
    return _real(*_two(bounds, "learn.column_bounds_not_a_pair"), "learn.bounds_invalid")


def _numeric(kind: Kind) -> Kind:
    if isinstance(kind, Category) or kind.axis is None:
        raise ParameterError("learn.target_not_a_number", value=repr(kind))
    return kind


def _two(bounds: object, code: str) -> tuple[Any, Any]:
    if isinstance(bounds, np.ndarray):
        bounds = list(bounds)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(code, value=safe_repr(bounds))
    return bounds[0], bounds[1]


def _one_each(side: Any, count: int) -> list[Any]:
    if np.ndim(side) == 0:
        return [side] * count
    items: list[Any] = np.asarray(side).tolist()
    if np.ndim(side) != 1 or len(items) != count:
        # Not how many there are: of a table that was turned on its side that would be the number of rows.
        raise ParameterError("learn.malformed_bounds")
    return items


def _real(low: Any, high: Any, code: str, **fields: object) -> Real:
    plain = [value.item() if isinstance(value, np.generic) else value for value in (low, high)]
    try:
        return Real(*plain)
    except ParameterError as error:
        raise type(error)(code, error=error, **fields) from None
