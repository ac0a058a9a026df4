"""Guarantees: the algebra against its formulas, the partial order, and the texts that never change."""

import copy
import dataclasses
import decimal
import itertools
import operator
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import celosia.core
from celosia.core import (
    ZCDP,
    AddRemove,
    Adjacency,
    ApproxDP,
    FormatError,
    GaussianDP,
    Guarantee,
    GuaranteeMismatchError,
    ParameterError,
    PureDP,
    RenyiDP,
    ReplaceOne,
    SameChanges,
)
from celosia.core.record import Record

# What version 1 writes. Ledgers keep these texts for years: a change here is a new version, never an edit.
GOLDEN: list[tuple[Guarantee, str]] = [
    (
        PureDP(epsilon="0.1"),
        '{"adjacency": "add-remove", "epsilon": "1/10", "kind": "PureDP", "unit": "row", "version": 1}',
    ),
    (
        ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne),
        (
            '{"adjacency": "replace-one", "delta": "1/1000000", "epsilon": "1", "kind": "ApproxDP", "unit": "row", '
            '"version": 1}'
        ),
    ),
    (
        ZCDP(rho=0.5, unit="person"),
        '{"adjacency": "add-remove", "kind": "ZCDP", "rho": "1/2", "unit": "person", "version": 1}',
    ),
    (
        RenyiDP(orders=("1.5", 8), epsilons=(0, "1/3"), unit="niña"),
        (
            '{"adjacency": "add-remove", "epsilons": ["0", "1/3"], "kind": "RenyiDP", "orders": ["3/2", "8"], '
            '"unit": "niña", "version": 1}'
        ),
    ),
    (
        GaussianDP(mu=0.1),
        (
            '{"adjacency": "add-remove", "kind": "GaussianDP", "mu": "3602879701896397/36028797018963968", '
            '"unit": "row", '
            '"version": 1}'
        ),
    ),
]
_SAME_CHANGES = PureDP(epsilon=2, adjacency=SameChanges, unit="person")
_SAME_CHANGES_TEXT = '{"adjacency": "same-changes", "epsilon": "2", "kind": "PureDP", "unit": "person", "version": 1}'
KINDS: list[type[Guarantee]] = [type(guarantee) for guarantee, _ in GOLDEN]

_ORDERS = (Fraction(3, 2), Fraction(4), Fraction(64))
_numbers = st.one_of(
    st.just(Fraction(0)),
    st.fractions(min_value=0, max_value=20, max_denominator=10**6),
    st.floats(min_value=1e-12, max_value=1e6).map(Fraction),
)
_deltas = st.one_of(st.just(Fraction(0)), st.just(Fraction(1)), st.fractions(min_value=0, max_value=1))
_scopes = st.fixed_dictionaries({"adjacency": st.sampled_from(Adjacency), "unit": st.sampled_from(["row", "person"])})
_additive: list[Callable[[Any], st.SearchStrategy[Any]]] = [
    lambda scope: st.builds(PureDP, epsilon=_numbers, **scope),
    lambda scope: st.builds(ApproxDP, epsilon=_numbers, delta=_deltas, **scope),
    lambda scope: st.builds(ZCDP, rho=_numbers, **scope),
    lambda scope: st.builds(RenyiDP, orders=st.just(_ORDERS), epsilons=st.tuples(*[_numbers] * 3), **scope),
]
_every = [*_additive, lambda scope: st.builds(GaussianDP, mu=_numbers, **scope)]


def _several(count: int, kinds: list[Callable[[Any], st.SearchStrategy[Any]]]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Tuples of guarantees of one kind and scope: what can be added and compared."""

    def build(chosen: tuple[Callable[[Any], st.SearchStrategy[Any]], dict[str, Any]]) -> st.SearchStrategy[Any]:
        kind, scope = chosen
        return st.tuples(*[kind({name: st.just(value) for name, value in scope.items()})] * count)

    return st.tuples(st.sampled_from(kinds), _scopes).flatmap(build)


def _neutral(guarantee: Guarantee) -> Guarantee:
    zeros: dict[str, Any] = {
        field.name: (0,) * len(_ORDERS) if field.name == "epsilons" else 0
        for field in dataclasses.fields(guarantee)
        if field.name not in ("adjacency", "unit", "orders")
    }
    return dataclasses.replace(guarantee, **zeros)


# ---- sums


@given(_several(2, _every))
def test_sums_commute(pair: tuple[Guarantee, Guarantee]) -> None:
    a, b = pair
    assert a + b == b + a


@given(_several(3, _additive))
def test_sums_associate(triple: tuple[Guarantee, Guarantee, Guarantee]) -> None:
    a, b, c = triple
    assert (a + b) + c == a + (b + c) == sum(triple)


@given(_several(1, _every))
def test_zero_is_neutral(single: tuple[Guarantee]) -> None:
    (a,) = single
    assert a + _neutral(a) == a
    assert _neutral(a) + a == a


@given(_several(3, _every))
def test_sums_are_monotone_and_keep_kind_and_scope(triple: tuple[Guarantee, Guarantee, Guarantee]) -> None:
    a, b, c = triple
    assert a <= a + b
    assert type(a + b) is type(a)
    assert ((a + b).adjacency, (a + b).unit) == (a.adjacency, a.unit)
    if a <= b:
        assert a + c <= b + c


@given(_numbers, _numbers, _deltas, _deltas)
def test_sums_are_exact(x: Fraction, y: Fraction, d: Fraction, e: Fraction) -> None:
    assert PureDP(epsilon=x) + PureDP(epsilon=y) == PureDP(epsilon=x + y)
    assert ZCDP(rho=x) + ZCDP(rho=y) == ZCDP(rho=x + y)
    assert ApproxDP(epsilon=x, delta=d) + ApproxDP(epsilon=y, delta=e) == ApproxDP(
        epsilon=x + y, delta=min(d + e, Fraction(1))
    )
    assert RenyiDP(orders=(2, 3), epsilons=(x, y)) + RenyiDP(orders=(2, 3), epsilons=(y, x)) == RenyiDP(
        orders=(2, 3), epsilons=(x + y, x + y)
    )


@given(st.lists(_numbers, min_size=1, max_size=12))
@example([Fraction(2.0**-1022)] * 3)
@example([Fraction(10**300), Fraction(1)])
def test_gaussian_sums_are_never_below_the_root_and_within_1e_15(mus: list[Fraction]) -> None:
    total = sum(GaussianDP(mu=mu) for mu in mus)
    assert isinstance(total, GaussianDP)
    exact = sum(mu**2 for mu in mus)
    assert total.mu**2 >= exact
    assert total.mu**2 <= exact * (1 + Fraction(1, 10**15)) ** 2


def test_gaussian_sums_of_whole_triangles_are_exact() -> None:
    assert GaussianDP(mu=3) + GaussianDP(mu=4) == GaussianDP(mu=5)
    assert GaussianDP(mu="0.3") + GaussianDP(mu="0.4") == GaussianDP(mu="0.5")


@pytest.mark.parametrize("make", [lambda k: GaussianDP(mu=Fraction(1, k)), lambda k: PureDP(epsilon=Fraction(1, k))])
def test_long_sums_stay_short_and_readable(make: Callable[[int], Guarantee]) -> None:
    total = sum((make(k) for k in range(2, 3000)), start=make(1))
    assert len(total.to_json()) < 2500
    assert type(total).from_json(total.to_json()) == total == eval(repr(total))
    exact = sum(Fraction(1, k) ** (2 if isinstance(total, GaussianDP) else 1) for k in range(1, 3000))
    reached = total.mu**2 if isinstance(total, GaussianDP) else operator.attrgetter("epsilon")(total)
    assert 0 <= reached - exact < Fraction(1, 10**15)


def test_sum_of_nothing_but_guarantees_needs_no_start() -> None:
    assert sum([PureDP(epsilon=1), PureDP(epsilon=2)]) == PureDP(epsilon=3)
    with pytest.raises(GuaranteeMismatchError):
        sum([PureDP(epsilon=1)], start=1)


# ---- order


@given(_several(3, _every))
def test_the_order_is_partial(triple: tuple[Guarantee, Guarantee, Guarantee]) -> None:
    a, b, c = triple
    assert [operation(a, a) for operation in (operator.le, operator.ge, operator.lt, operator.gt)] == [1, 1, 0, 0]
    assert (a <= b <= a) == (a == b)
    assert (a <= b) == (b >= a)
    assert (a < b) == (b > a) == (a <= b and a != b)
    if a <= b <= c:
        assert a <= c


def test_what_is_ordered_and_what_is_not() -> None:
    assert PureDP(epsilon=1) < PureDP(epsilon=2)
    assert ZCDP(rho="0.1") < ZCDP(rho=0.2)
    assert GaussianDP(mu=1) < GaussianDP(mu=2)
    assert ApproxDP(epsilon=1, delta=0) < ApproxDP(epsilon=1, delta="1e-9")
    assert RenyiDP(orders=(2, 4), epsilons=(1, 2)) < RenyiDP(orders=(2, 4), epsilons=(1, 3))
    for a, b in (
        (ApproxDP(epsilon=1, delta="0.1"), ApproxDP(epsilon=2, delta="0.01")),
        (RenyiDP(orders=(2, 4), epsilons=(1, 3)), RenyiDP(orders=(2, 4), epsilons=(2, 2))),
    ):
        assert not a <= b
        assert not b <= a
        assert not a < b
        assert not a > b


# ---- what does not mix

_SCOPES = [
    {"adjacency": AddRemove, "unit": "row"},
    {"adjacency": ReplaceOne, "unit": "row"},
    {"adjacency": SameChanges, "unit": "row"},
    {"adjacency": AddRemove, "unit": "person"},
]
_OPERATIONS = [operator.add, operator.le, operator.lt, operator.ge, operator.gt]
_ALL = [dataclasses.replace(guarantee, **scope) for guarantee, _ in GOLDEN for scope in _SCOPES]  # type: ignore[arg-type]


def test_nothing_of_another_kind_adjacency_or_unit_mixes() -> None:
    for operation in _OPERATIONS:
        for a, b in itertools.permutations(_ALL, 2):
            with pytest.raises(GuaranteeMismatchError) as caught:
                operation(a, b)
            assert isinstance(caught.value, TypeError)
            assert repr(a) in str(caught.value)
            assert repr(b) in str(caught.value)
            assert a != b


def test_a_naked_number_is_no_guarantee() -> None:
    for operation, other in product(_OPERATIONS, (1, 1.0, 0.0, "1", None, Fraction(1), [1], object())):
        for guarantee in _ALL:
            with pytest.raises(GuaranteeMismatchError):
                operation(guarantee, other)
            with pytest.raises(GuaranteeMismatchError):
                operation(other, guarantee)


def test_a_mismatch_never_quotes_what_is_no_guarantee() -> None:
    with pytest.raises(GuaranteeMismatchError) as caught:
        operator.add(PureDP(epsilon=1), ["patient 4711"])
    assert "4711" not in str(caught.value)
    assert "list" in str(caught.value)


def test_renyi_curves_mix_only_at_the_same_orders() -> None:
    for operation in _OPERATIONS:
        with pytest.raises(GuaranteeMismatchError, match="orders"):
            operation(RenyiDP(orders=(2, 4), epsilons=(1, 2)), RenyiDP(orders=(2, 5), epsilons=(1, 2)))


# ---- groups and replace-one


@given(_numbers, st.integers(1, 50))
def test_groups_of_the_simple_kinds(number: Fraction, size: int) -> None:
    assert PureDP(epsilon=number).group(size) == PureDP(epsilon=size * number)
    assert ZCDP(rho=number).group(size) == ZCDP(rho=size**2 * number)
    assert GaussianDP(mu=number).group(size) == GaussianDP(mu=size * number)


def _group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """Sum the e^(i epsilon) delta with sixty digits."""
    context = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    growth = context.exp(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))
    return delta * sum(Fraction(context.power(growth, i)) for i in range(size))


@given(
    st.fractions(min_value=0, max_value=3, max_denominator=10**6),
    st.fractions(min_value=0, max_value=1).filter(lambda d: d == 0 or d > 1e-200),
    st.integers(1, 40),
)
@example(Fraction(0), Fraction(1, 100), 3)
@example(Fraction(1), Fraction(1, 10**9), 2)
@example(Fraction(1, 2), Fraction(1, 10**300), 1000)
def test_groups_of_approximate_guarantees_are_the_geometric_sum_rounded_up(
    epsilon: Fraction, delta: Fraction, size: int
) -> None:
    group = ApproxDP(epsilon=epsilon, delta=delta).group(size)
    exact = _group_delta(epsilon, delta, size)
    assert group.epsilon == size * epsilon
    if exact >= 1:
        assert group.delta == 1
    else:
        assert group.delta >= exact * (1 - Fraction(1, 10**50))
        assert group.delta <= min(exact * (1 + Fraction(1, 2**64)), Fraction(1))


@pytest.mark.timeout(120)  # a sum of 10^12 terms, or a number of 10^300 digits, would never end
def test_extreme_groups_end() -> None:
    cases: list[tuple[Any, Any, int, Fraction | int]] = [
        (1, 0, 10**9, 0),
        (2**60, 0, 1000, 0),
        (2**60, "1e-9", 2, 1),
        (1e300, "1e-300", 1000, 1),
        (1, "1e-9", 10**15, 1),
        (0, "1e-9", 10**6, Fraction(1, 1000)),
        (0, "1e-9", 10**12, 1),
    ]
    for epsilon, delta, size, expected in cases:
        group = ApproxDP(epsilon=epsilon, delta=delta).group(size)
        assert group.delta == expected
        assert ApproxDP.from_json(group.to_json()) == group


def test_large_groups_use_the_larger_bound() -> None:
    epsilon, delta, size = Fraction(1, 1000), Fraction(1, 10**9), 2000
    group = ApproxDP(epsilon=epsilon, delta=delta).group(size)
    ceiling = size * delta * _group_delta((size - 1) * epsilon, Fraction(1), 2)
    assert _group_delta(epsilon, delta, size) <= group.delta <= ceiling


@given(st.lists(_numbers, min_size=1, max_size=6), st.integers(1, 40))
def test_groups_of_renyi_curves(numbers: list[Fraction], size: int) -> None:
    orders = tuple(Fraction(2) ** (i + 1) for i in range(len(numbers)))
    doublings = next(c for c in range(10) if 2**c >= size)
    expected = [
        (order / 2**doublings, 3**doublings * epsilon)
        for order, epsilon in zip(orders, numbers, strict=True)
        if order >= 2 ** (doublings + 1)
    ]
    curve = RenyiDP(orders=orders, epsilons=numbers)
    if expected:
        group = curve.group(size)
        assert list(zip(group.orders, group.epsilons, strict=True)) == expected
    else:
        with pytest.raises(ParameterError, match=f"at least {2 ** (doublings + 1)}"):
            curve.group(size)


def test_a_group_of_one_is_the_guarantee_itself_at_every_order() -> None:
    curve = RenyiDP(orders=("1.1", 3), epsilons=(1, 2))
    assert curve.group(1) == curve


@given(_several(2, _every), st.integers(1, 8))
def test_groups_keep_scope_and_order(pair: tuple[Guarantee, Guarantee], size: int) -> None:
    a, b = pair
    group = a.group(size)
    assert (type(group), group.adjacency, group.unit) == (type(a), a.adjacency, a.unit)
    assert a.group(1) == a
    if a <= b:
        assert group <= b.group(size)


def test_groups_have_a_whole_size() -> None:
    size_cases: list[Any] = [0, -1, 1.0, "2", True, None, Fraction(2)]
    guarantee_cases: list[Guarantee] = [guarantee for guarantee, _ in GOLDEN]
    for size in size_cases:
        for guarantee in guarantee_cases:
            with pytest.raises(ParameterError, match="size must be"):
                guarantee.group(size)


@given(_numbers, st.fractions(min_value=0, max_value=1, max_denominator=10**9))
def test_replace_one_from_add_remove(number: Fraction, delta: Fraction) -> None:
    scope: dict[str, Any] = {"adjacency": ReplaceOne, "unit": "person"}
    assert PureDP(epsilon=number, unit="person").as_replace_one() == PureDP(epsilon=2 * number, **scope)
    assert ZCDP(rho=number, unit="person").as_replace_one() == ZCDP(rho=4 * number, **scope)
    assert GaussianDP(mu=number, unit="person").as_replace_one() == GaussianDP(mu=2 * number, **scope)
    renyi = RenyiDP(orders=(3, 4, 8), epsilons=(number, number, 1), unit="person").as_replace_one()
    assert renyi == RenyiDP(orders=(2, 4), epsilons=(3 * number, 3), **scope)
    assume(number < 500)
    replaced = ApproxDP(epsilon=number, delta=delta, unit="person").as_replace_one()
    exact = min(_group_delta(number, delta, 2), Fraction(1))
    assert (replaced.epsilon, replaced.adjacency, replaced.unit) == (2 * number, ReplaceOne, "person")
    assert exact * (1 - Fraction(1, 10**50)) <= replaced.delta <= exact * (1 + Fraction(1, 2**64))


@given(_several(1, _every))
def test_replace_one_stays_replace_one(single: tuple[Guarantee]) -> None:
    (guarantee,) = single
    assume(guarantee.adjacency is ReplaceOne)
    assert guarantee.as_replace_one() is guarantee


def test_histories_that_change_alike_imply_nothing_for_others() -> None:
    with pytest.raises(GuaranteeMismatchError, match="SameChanges"):
        _SAME_CHANGES.as_replace_one()
    for one, other in itertools.permutations((_SAME_CHANGES, dataclasses.replace(_SAME_CHANGES, adjacency=ReplaceOne))):
        for operation in _OPERATIONS:
            with pytest.raises(
                GuaranteeMismatchError, match="cannot be for SameChanges: that holds only between histories"
            ):
                operation(one, other)
        assert one != other
    assert (_SAME_CHANGES + _SAME_CHANGES).adjacency is SameChanges
    assert (_SAME_CHANGES + _SAME_CHANGES).epsilon == 4


# ---- parameters

_BAD_NUMBERS = [-1, "-0.1", float("nan"), float("inf"), 5e-324, "1e-400", True, None, "", "x", 1j, b"1"]


def test_parameters_without_a_meaning_are_refused_by_name() -> None:
    name_cases: list[tuple[str, Callable[[Any], Guarantee]]] = [
        ("epsilon", lambda value: PureDP(epsilon=value)),
        ("epsilon", lambda value: ApproxDP(epsilon=value, delta=0)),
        ("delta", lambda value: ApproxDP(epsilon=1, delta=value)),
        ("rho", lambda value: ZCDP(rho=value)),
        ("orders", lambda value: RenyiDP(orders=(value,), epsilons=(1,))),
        ("epsilons", lambda value: RenyiDP(orders=(2,), epsilons=(value,))),
        ("mu", lambda value: GaussianDP(mu=value)),
    ]
    for value in _BAD_NUMBERS:
        for name, make in name_cases:
            with pytest.raises(ParameterError, match=rf"^{name} must be "):
                make(value)


def test_a_delta_above_one_is_a_mistake_but_a_sum_is_capped() -> None:
    with pytest.raises(ParameterError, match="delta must be between 0 and 1, not 2"):
        ApproxDP(epsilon=1, delta=2)
    most = ApproxDP(epsilon=1, delta="0.6")
    assert (most + most).delta == most.group(2).delta == 1


def test_a_renyi_curve_has_as_many_epsilons_as_increasing_orders_above_one() -> None:
    cases: list[tuple[Any, Any]] = [
        ((), ()),
        ((2, 3), (1,)),
        ((2,), (1, 2)),
        ((1,), (1,)),
        ((0.5, 2), (1, 1)),
        ((3, 2), (1, 1)),
        ((2, 2), (1, 1)),
        ("28", "12"),
        (2, 1),
        (None, None),
        (range(2, 3000), [1] * 2998),
    ]
    for orders, epsilons in cases:
        with pytest.raises(ParameterError, match="orders"):
            RenyiDP(orders=orders, epsilons=epsilons)


def test_a_renyi_curve_is_read_from_any_sequence() -> None:
    cases: list[Callable[[Any], Any]] = [list, tuple, np.array]
    for sequence in cases:
        curve = RenyiDP(orders=sequence([2, 3]), epsilons=sequence([0.5, 1.0]))
        assert curve == RenyiDP(orders=(2, 3), epsilons=("0.5", 1))
        assert isinstance(curve.orders, tuple)


def test_a_unit_is_a_short_printable_text() -> None:
    cases: list[Any] = ["", "a\nb", "\x00", "x" * 201, 5, None, b"row", True]
    for unit in cases:
        with pytest.raises(ParameterError, match=r"^unit must be "):
            PureDP(epsilon=1, unit=unit)


def test_an_adjacency_may_be_given_by_its_text() -> None:
    assert PureDP(epsilon=1, adjacency="replace-one") == PureDP(  # type: ignore[arg-type]
        epsilon=1, adjacency=ReplaceOne
    )
    with pytest.raises(ParameterError, match="adjacency"):
        PureDP(epsilon=1, adjacency="bounded")  # type: ignore[arg-type]


def test_guarantee_itself_promises_nothing() -> None:
    with pytest.raises(TypeError):
        Guarantee()  # type: ignore[abstract]


# ---- values that are kept


def test_every_kind_of_guarantee_has_a_golden_text() -> None:
    known = {
        kind
        for kind in Record._kinds.values()
        if issubclass(kind, Guarantee) and kind.__module__.startswith("celosia.core") and kind is not Guarantee
    }
    assert known == set(KINDS)
    assert {kind.__name__ for kind in KINDS} < set(celosia.core.__all__)


def test_the_texts_of_version_1_never_change() -> None:
    cases: list[tuple[Guarantee, str]] = [*GOLDEN, (_SAME_CHANGES, _SAME_CHANGES_TEXT)]
    for guarantee, text in cases:
        assert guarantee.to_json() == text
        assert type(guarantee).from_json(text) == Guarantee.from_json(text) == Record.from_json(text) == guarantee


def test_a_guarantee_is_read_as_its_own_kind_only() -> None:
    for guarantee, text in GOLDEN:
        for kind in KINDS:
            if kind is not type(guarantee):
                with pytest.raises(FormatError, match=f"not a {kind.__name__}"):
                    kind.from_json(text)


@given(_several(1, _every))
def test_json_repr_and_copies_round_trip(single: tuple[Guarantee]) -> None:
    (guarantee,) = single
    text = guarantee.to_json()
    for twin in (
        Guarantee.from_json(text),
        eval(repr(guarantee)),
        pickle.loads(pickle.dumps(guarantee)),
        copy.deepcopy(guarantee),
        dataclasses.replace(guarantee),
    ):
        assert twin == guarantee
        assert hash(twin) == hash(guarantee)
        assert repr(twin) == repr(guarantee)
        assert twin.to_json() == text


def test_guarantees_are_frozen() -> None:
    cases: list[Guarantee] = [guarantee for guarantee, _ in GOLDEN]
    for guarantee in cases:
        before = guarantee.to_json()
        for field in dataclasses.fields(guarantee):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(guarantee, field.name, 0)
            with pytest.raises(dataclasses.FrozenInstanceError):
                delattr(guarantee, field.name)
        with pytest.raises((AttributeError, TypeError)):
            guarantee.note = "cheap"  # type: ignore[attr-defined]
        assert guarantee.to_json() == before


def test_equal_numbers_make_equal_guarantees() -> None:
    values: list[Any] = [0.5, "0.5", "1/2", Fraction(1, 2), Decimal("0.5"), np.float32(0.5)]
    same = {PureDP(epsilon=value) for value in values}
    assert same == {PureDP(epsilon=0.5)}
    assert PureDP(epsilon=0.1) != PureDP(epsilon="0.1")


def test_repr_shows_what_is_not_the_default() -> None:
    assert repr(PureDP(epsilon="0.1")) == "PureDP(epsilon='0.1')"
    assert repr(ApproxDP(epsilon=1, delta=0.5, adjacency=ReplaceOne, unit="person")) == (
        "ApproxDP(epsilon=1, delta=0.5, adjacency=ReplaceOne, unit='person')"
    )
    assert repr(RenyiDP(orders=(2,), epsilons=("1/3",))) == "RenyiDP(orders=(2,), epsilons=('1/3',))"
