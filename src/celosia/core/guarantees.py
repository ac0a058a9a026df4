"""Privacy guarantees: a kind, its numbers, an adjacency and a privacy unit. Never a naked float.

This module has the algebra that needs no accountant: the sum of one kind (sequential composition), comparison, groups,
and the step from add-remove to replace-one. Results are exact or rounded towards *less* privacy (a sum is exact as long
as it can be written in a thousand digits). Converting one kind into another is the accountants' work and is always
explicit.

Dwork and Roth 2014 (pure, approximate); Bun and Steinke 2016 (zCDP); Mironov 2017 (Rényi, proposition 2 for groups);
Dong, Roth and Su 2022 (Gaussian).
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from celosia.core.adjacency import AddRemove, Adjacency, ReplaceOne
from celosia.core.enclosure import exp_at_least, log_at_least, root_at_least
from celosia.core.errors import GuaranteeMismatchError, ParameterError
from celosia.core.exact import (
    Exact,
    exact,
    exact_adjacency,
    exact_integer,
    exact_non_negative,
    exact_probability,
    exact_text,
    refuse_same_changes,
    safe_repr,
    short_at_least,
)
from celosia.core.messages.message import Field, Message, freeze_field
from celosia.core.record import Record


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class Guarantee(Record, ABC):
    """Base of all guarantees: a neighbouring relation, a privacy unit, and the algebra.

    ``a + b`` composes; ``a <= b`` means that ``a`` is at least as private as ``b`` (a partial order); ``a.group(k)`` is
    the guarantee for ``k`` units together.

    >>> from celosia import PureDP
    >>> PureDP(epsilon=1) + PureDP(epsilon="0.5"), PureDP(epsilon=1).group(3)
    (PureDP(epsilon=1.5), PureDP(epsilon=3))
    >>> print(PureDP(epsilon=0.1) + PureDP(epsilon=0.2))
    PureDP(epsilon=≈0.3)
    """

    adjacency: Adjacency = AddRemove
    unit: str = "row"

    def _set_scope(self, adjacency: Adjacency, unit: str) -> None:
        self._set(adjacency=exact_adjacency(adjacency, histories=True), unit=exact_text(unit, name="unit"))

    @abstractmethod
    def _add(self, other: Self) -> Self: ...

    @abstractmethod
    def _at_most(self, other: Self) -> bool: ...

    @abstractmethod
    def group(self, size: int) -> Self:
        """Return the guarantee for ``size`` privacy units together.

        >>> from celosia import ZCDP
        >>> ZCDP(rho=1).group(2)
        ZCDP(rho=4)
        """

    def __add__(self, other: object) -> Self:
        return self._add(self._check_same_kind(other, "core.added"))

    def __radd__(self, other: object) -> Self:
        # sum() starts with the integer 0.
        return self if isinstance(other, int) and other == 0 else self + other

    def __le__(self, other: object) -> bool:
        return self._at_most(self._check_same_kind(other, "core.compared"))

    def __ge__(self, other: object) -> bool:
        return self._check_same_kind(other, "core.compared") <= self

    def __lt__(self, other: object) -> bool:
        return self <= other and self != other

    def __gt__(self, other: object) -> bool:
        return self >= other and self != other

    def as_replace_one(self) -> Self:
        """Return the guarantee under replace-one, which removes one unit and adds another.

        >>> from celosia import PureDP
        >>> PureDP(epsilon=1).as_replace_one()
        PureDP(epsilon=2, adjacency=ReplaceOne)
        """
        refuse_same_changes(self.adjacency, "core.same_changes_replace_one")
        return self if self.adjacency is ReplaceOne else dataclasses.replace(self.group(2), adjacency=ReplaceOne)

    def _check_same_kind(self, other: object, operation: str) -> Self:
        """Return the other guarantee if it can be combined with this one; ``operation`` is the code of the verb."""
        if not isinstance(other, type(self)):
            shown = (
                repr(other)
                if isinstance(other, Guarantee)
                else Message("core.value_of_type", type=type(other).__name__)
            )
            raise GuaranteeMismatchError(
                "core.different_guarantee_kinds", left=repr(self), right=shown, operation=Message(operation)
            )
        if self.unit != other.unit:
            raise GuaranteeMismatchError(
                "core.different_units", left=repr(self), right=repr(other), operation=Message(operation)
            )
        if self.adjacency is not other.adjacency:
            for one in (self, other):
                refuse_same_changes(
                    one.adjacency,
                    "core.same_changes_pair",
                    left=repr(self),
                    right=repr(other),
                    operation=Message(operation),
                )
            raise GuaranteeMismatchError(
                "core.different_adjacencies", left=repr(self), right=repr(other), operation=Message(operation)
            )
        return other


@freeze_field.register(Guarantee)
def _(guarantee: Guarantee) -> Field:
    return guarantee


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class PureDP(Guarantee):
    """Pure differential privacy: no event is more than ``exp(epsilon)`` times likelier for a neighbour.

    >>> PureDP(epsilon="0.1") + PureDP(epsilon="0.2") == PureDP(epsilon="0.3")
    True
    """

    epsilon: Fraction

    def __init__(self, *, epsilon: Exact, adjacency: Adjacency = AddRemove, unit: str = "row") -> None:
        self._set_scope(adjacency, unit)
        self._set(epsilon=exact_non_negative(epsilon, name="epsilon"))

    def _add(self, other: Self) -> Self:
        return dataclasses.replace(self, epsilon=short_at_least(self.epsilon + other.epsilon))

    def _at_most(self, other: Self) -> bool:
        return self.epsilon <= other.epsilon

    def group(self, size: int) -> Self:
        """Return the guarantee for a group: ``size * epsilon``.

        >>> PureDP(epsilon=1).group(2)
        PureDP(epsilon=2)
        """
        return dataclasses.replace(self, epsilon=short_at_least(exact_integer(size, name="size") * self.epsilon))


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ApproxDP(Guarantee):
    """Approximate differential privacy: ``exp(epsilon)`` times likelier at most, but for a probability ``delta``.

    >>> ApproxDP(epsilon=1, delta="1e-6") + ApproxDP(epsilon=2, delta="1e-6")
    ApproxDP(epsilon=3, delta='2e-06')
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Exact, delta: Exact, adjacency: Adjacency = AddRemove, unit: str = "row") -> None:
        self._set_scope(adjacency, unit)
        self._set(
            epsilon=exact_non_negative(epsilon, name="epsilon"),
            delta=exact_probability(delta, name="delta"),
        )

    def _add(self, other: Self) -> Self:
        # A delta of 1 guarantees nothing: cap it there, so that a long sum of guarantees stays valid.
        return dataclasses.replace(
            self,
            epsilon=short_at_least(self.epsilon + other.epsilon),
            delta=min(short_at_least(self.delta + other.delta), Fraction(1)),
        )

    def _at_most(self, other: Self) -> bool:
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def group(self, size: int) -> Self:
        """Return the guarantee for a group: ``(k epsilon, sum of exp(i epsilon) delta for i < k)``, rounded up.

        >>> ApproxDP(epsilon=0, delta="0.01").group(3)
        ApproxDP(epsilon=0, delta='0.03')
        """
        size = exact_integer(size, name="size")
        return dataclasses.replace(self, epsilon=short_at_least(size * self.epsilon), delta=self._group_delta(size))

    def _group_delta(self, size: int) -> Fraction:
        largest = (size - 1) * self.epsilon
        if self.delta == 0:
            return self.delta
        if largest >= log_at_least(1 / self.delta):  # one term alone reaches 1, and its digits could fill the memory
            return Fraction(1)
        # The geometric sum is at most k times its largest term; the sum itself where it has few terms.
        if size > _MAX_SUM_TERMS:
            growth = size * exp_at_least(largest)
        else:
            growth = sum((exp_at_least(i * self.epsilon) for i in range(size)), Fraction(0))
        return min(short_at_least(self.delta * growth), Fraction(1))


_MAX_SUM_TERMS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ZCDP(Guarantee):
    """Zero-concentrated differential privacy: Rényi divergence of every order ``alpha`` at most ``rho * alpha``.

    >>> ZCDP(rho="1/2") + ZCDP(rho="1/2")
    ZCDP(rho=1)
    """

    rho: Fraction

    def __init__(self, *, rho: Exact, adjacency: Adjacency = AddRemove, unit: str = "row") -> None:
        self._set_scope(adjacency, unit)
        self._set(rho=exact_non_negative(rho, name="rho"))

    def _add(self, other: Self) -> Self:
        return dataclasses.replace(self, rho=short_at_least(self.rho + other.rho))

    def _at_most(self, other: Self) -> bool:
        return self.rho <= other.rho

    def group(self, size: int) -> Self:
        """Return the guarantee for a group: ``size**2 * rho``.

        >>> ZCDP(rho="0.1").group(3)
        ZCDP(rho='0.9')
        """
        return dataclasses.replace(self, rho=short_at_least(exact_integer(size, name="size") ** 2 * self.rho))


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class RenyiDP(Guarantee):
    """Rényi differential privacy at several orders at once: ``epsilons[i]`` bounds the divergence of ``orders[i]``.

    >>> curve = RenyiDP(orders=(2, 8), epsilons=("0.1", "0.4"))
    >>> curve + curve
    RenyiDP(orders=(2, 8), epsilons=('0.2', '0.8'))
    """

    orders: tuple[Fraction, ...]
    epsilons: tuple[Fraction, ...]

    def __init__(
        self,
        *,
        orders: Sequence[Exact],
        epsilons: Sequence[Exact],
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> None:
        self._set_scope(adjacency, unit)
        self._set(
            orders=tuple(exact(order, name="orders") for order in _check_length(orders, "orders")),
            epsilons=tuple(
                exact_non_negative(epsilon, name="epsilons") for epsilon in _check_length(epsilons, "epsilons")
            ),
        )
        if len(self.orders) != len(self.epsilons):
            raise ParameterError(
                "core.orders_epsilons_length_mismatch", orders=len(self.orders), epsilons=len(self.epsilons)
            )
        if self.orders[0] <= 1 or any(a >= b for a, b in zip(self.orders, self.orders[1:], strict=False)):
            raise ParameterError("core.orders_not_increasing")

    def _add(self, other: Self) -> Self:
        self._check_same_orders(other)
        return dataclasses.replace(
            self, epsilons=tuple(short_at_least(a + b) for a, b in zip(self.epsilons, other.epsilons, strict=True))
        )

    def _at_most(self, other: Self) -> bool:
        self._check_same_orders(other)
        return all(a <= b for a, b in zip(self.epsilons, other.epsilons, strict=True))

    def _check_same_orders(self, other: Self) -> None:
        if self.orders != other.orders:
            raise GuaranteeMismatchError("core.different_renyi_orders")

    def group(self, size: int) -> Self:
        """Return the guarantee for a group, taken as the next power of two ``2**c``: ``(alpha / 2**c, 3**c epsilon)``.

        Only orders of at least ``2**(c+1)`` bound such a group.

        >>> RenyiDP(orders=(2, 8), epsilons=("0.1", "0.4")).group(2)
        RenyiDP(orders=(4,), epsilons=('1.2',))
        """
        doublings = (exact_integer(size, name="size") - 1).bit_length()
        kept = [i for i, order in enumerate(self.orders) if doublings == 0 or order >= 2 ** (doublings + 1)]
        if not kept:
            raise ParameterError("core.no_order_for_group", size=size, least=2 ** (doublings + 1))
        return dataclasses.replace(
            self,
            orders=tuple(self.orders[i] / 2**doublings for i in kept),
            epsilons=tuple(short_at_least(self.epsilons[i] * 3**doublings) for i in kept),
        )


_MAX_ORDERS = 2_000


def _check_length(values: Sequence[Exact], name: str) -> Sequence[Exact]:
    # A string is a sequence too: orders="28" would be the orders 2 and 8.
    if isinstance(values, str) or not hasattr(values, "__len__") or not 1 <= len(values) <= _MAX_ORDERS:
        raise ParameterError("core.not_a_number_list", name=name, most=_MAX_ORDERS, value=safe_repr(values))
    return values


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class GaussianDP(Guarantee):
    """Gaussian differential privacy: telling neighbours apart is as hard as telling N(0, 1) from N(mu, 1).

    Composition adds squares; the root is rounded up by less than one part in 2^64.

    >>> GaussianDP(mu=3) + GaussianDP(mu=4)
    GaussianDP(mu=5)
    """

    mu: Fraction

    def __init__(self, *, mu: Exact, adjacency: Adjacency = AddRemove, unit: str = "row") -> None:
        self._set_scope(adjacency, unit)
        self._set(mu=exact_non_negative(mu, name="mu"))

    def _add(self, other: Self) -> Self:
        return dataclasses.replace(self, mu=short_at_least(root_at_least(self.mu**2 + other.mu**2)))

    def _at_most(self, other: Self) -> bool:
        return self.mu <= other.mu

    def group(self, size: int) -> Self:
        """Return the guarantee for a group: ``size * mu``.

        >>> GaussianDP(mu="0.5").group(2)
        GaussianDP(mu=1)
        """
        return dataclasses.replace(self, mu=short_at_least(exact_integer(size, name="size") * self.mu))
