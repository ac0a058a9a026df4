"""What one run of a search may spend: as much as the whole allows, and never more."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.accounting import basic, certificate_holds, rho
from celosia.core import (
    Adjacency,
    CertifiedEvent,
    LaplaceEvent,
    ParallelEvent,
    ParameterError,
    PrivateSelectionEvent,
    ReplaceOne,
)
from celosia.learn.model_selection.held_out import Scoring
from celosia.learn.model_selection.search_price import affordable
from celosia.mechanisms.repetition import Repetitions
from celosia.statistics.base.target import Target

_SCORING = Scoring(name="accuracy")


@settings(max_examples=25, deadline=None)
@given(
    st.fractions("0.05", 10, max_denominator=100),
    st.integers(2, 50),
    st.sampled_from(["-1/2", 0, 1, 2]),
    st.sampled_from([None, ReplaceOne]),
)
def test_a_pure_search_keeps_its_epsilon_and_wastes_little(
    epsilon: Fraction, mean: int, eta: str, adjacency: Adjacency | None
) -> None:
    target = Target.of(epsilon=epsilon, adjacency=adjacency)
    run = affordable(target, Repetitions(mean=mean, eta=eta), _SCORING)
    assert basic(run.event)[0] <= epsilon
    assert basic(run.event)[0] >= epsilon * Fraction(99, 100)
    assert run.event.adjacency is target.adjacency
    assert run.spending == {"epsilon": run.target.epsilon, "delta": None, "rho": None}


@pytest.mark.parametrize("repetitions", [Repetitions(mean=8), Repetitions(mean=8, distribution="poisson")])
def test_a_search_with_a_delta_is_certified(repetitions: Repetitions) -> None:
    run = affordable(Target.of(epsilon=1, delta="1e-5"), repetitions, _SCORING)
    assert isinstance(run.event, CertifiedEvent)
    assert certificate_holds(run.event)
    assert (run.event.epsilon, run.event.delta) == (Fraction(1), Fraction(1, 10**5))
    search = run.event.event
    assert isinstance(search, PrivateSelectionEvent)
    assert isinstance(search.event, ParallelEvent)
    assert rho(search.event) == run.target.rho
    tighter = replace(run.event, epsilon=Fraction(9, 10))
    assert not certificate_holds(tighter)


def test_a_search_with_a_rho_has_pure_runs() -> None:
    run = affordable(Target.of(rho="0.1"), Repetitions(mean=8), _SCORING)
    assert run.target.kind == "pure"
    assert Fraction("0.099") <= rho(run.event) <= Fraction("0.1")


def test_a_fit_that_spends_more_than_its_share_is_not_covered() -> None:
    run = affordable(Target.of(epsilon=1), Repetitions(mean=8), _SCORING)
    share = run.target.epsilon
    assert share is not None
    assert run.covers(LaplaceEvent(scale=1 / share, sensitivity=1))
    assert not run.covers(LaplaceEvent(scale=Fraction(9, 10) / share, sensitivity=1))
    assert not run.covers(LaplaceEvent(scale=1 / share, sensitivity=1, arithmetic="real"))
    assert not run.covers(None)
    real = affordable(Target.of(epsilon=1), Repetitions(mean=8), _SCORING, real=True)
    assert real.event.arithmetic == "real"
    assert real.covers(LaplaceEvent(scale=1 / share, sensitivity=1, arithmetic="real"))


def test_what_no_search_can_keep_is_said() -> None:
    with pytest.raises(ParameterError, match="too small for any search"):
        affordable(Target.of(epsilon="1e-9", delta="1e-150"), Repetitions(mean=5000), _SCORING)
