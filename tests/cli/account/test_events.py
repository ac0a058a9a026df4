from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.cli.account.events import Sampling, amount, gaussian, laplace, one_epsilon, plain_number, read, shuffle
from celosia.cli.account.options import NoiseOptions
from celosia.core import (
    AddRemove,
    ComposedEvent,
    FixedSampledEvent,
    GaussianEvent,
    LaplaceEvent,
    ParameterError,
    PoissonSampledEvent,
    RepeatedEvent,
    ReplaceOne,
)
from celosia.core.iterations import PNSGDEvent


@pytest.mark.parametrize(("grid", "steps"), [("1", 1), ("1/3", 3), ("0.001", 1000), ("2^-20", 2**20), (" 2^-3 ", 8)])
def test_noise_and_sensitivity_are_in_grid_steps(grid: str, steps: int) -> None:
    normal = gaussian(Fraction(3, 2), NoiseOptions(grid=grid), Sampling()).event
    assert normal == GaussianEvent(
        variance=Fraction(9, 4) * steps**2, sensitivity_squared=steps**2, grid=Fraction(1, steps)
    )
    two_sided = laplace(Fraction(10), NoiseOptions(grid=grid)).event
    assert two_sided == LaplaceEvent(scale=10 * steps, sensitivity=steps, grid=Fraction(1, steps))


@given(st.fractions(min_value="0.001", max_value=1000), st.integers(1, 10**9), st.integers(1, 10**6))
def test_the_grid_never_changes_the_epsilon_of_one_release(scale: Fraction, steps: int, times: int) -> None:
    event = laplace(scale, NoiseOptions(grid=f"1/{steps}", times=times)).event
    one = event.event if isinstance(event, RepeatedEvent) else event
    assert isinstance(one, LaplaceEvent)
    assert one.sensitivity / one.scale == 1 / scale
    assert (event.times if isinstance(event, RepeatedEvent) else 1) == times


def test_a_grid_that_does_not_divide_the_sensitivity_is_refused() -> None:
    cases: list[str] = ["2", "2/3", "0.3", "2^3", "2^-", "2^-200", "1e-200", "1/0", "", "-1", "fine"]
    for grid in cases:
        with pytest.raises(ParameterError, match=r"grid must be the sensitivity divided by an integer.*2\^-20, not "):
            laplace(Fraction(1), NoiseOptions(grid=grid))


def test_sampling_decides_on_the_neighbours() -> None:
    assert Sampling().adjacency(None) is AddRemove
    assert Sampling().adjacency("replace-one") is ReplaceOne
    assert Sampling(probability="0.1").adjacency("add-remove") is AddRemove
    assert Sampling(size=1, population=2).adjacency(None) is ReplaceOne
    with pytest.raises(ParameterError, match="adjacency must be replace-one with a sample of fixed size"):
        Sampling(size=1, population=2).adjacency("add-remove")


def test_sampled_events() -> None:
    sampled = gaussian(Fraction(1), NoiseOptions(), Sampling(probability="0.01")).event
    assert isinstance(sampled, PoissonSampledEvent)
    assert sampled.probability == Fraction(1, 100)
    drawn = gaussian(Fraction(1), NoiseOptions(times=7), Sampling(size=10, population=1000)).event
    assert isinstance(drawn, RepeatedEvent)
    assert isinstance(drawn.event, FixedSampledEvent)
    assert (drawn.event.size, drawn.event.population, drawn.times) == (10, 1000, 7)


def test_sentences_say_the_grid() -> None:
    words = [laplace(Fraction(1), NoiseOptions(grid=grid)).sentence for grid in ("1", "1/3", "2^-20")]
    assert [sentence.removeprefix("Laplace noise of epsilon 1 ") for sentence in words] == [
        "on whole counts (one step is the sensitivity), once, add-remove",
        "on a grid of steps of 1/3 of the sensitivity, once, add-remove",
        "on a fine grid (steps of 2^-20 of the sensitivity), once, add-remove",
    ]
    assert "scale 7 (times the L1 sensitivity)" in laplace(Fraction(7), NoiseOptions(), by_scale=True).sentence


def test_a_record_of_an_iteration_can_be_read(tmp_path: Path) -> None:
    event = PNSGDEvent(records=9, step_size=1, lipschitz=1, smoothness=1, variance=4)
    file = tmp_path / "run.json"
    file.write_text(event.to_json(), encoding="utf-8")
    priced = read(file, times=2)
    assert priced.event == RepeatedEvent(event=event, times=2)
    assert priced.sentence == f"{event!r} as given, 2 times, replace-one, real-valued noise"
    file.write_text(ComposedEvent(events=[event] * 20).to_json(), encoding="utf-8")
    assert read(file).sentence == "ComposedEvent as given, once, replace-one, real-valued noise"


def test_a_directory_is_no_event(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be read"):
        read(tmp_path)
    with pytest.raises(ParameterError, match="cannot be read"):
        read(Path("nowhere.json"))


def test_amounts_without_meaning_are_refused() -> None:
    cases: list[str] = ["0", "-1", "inf", "nan", "", "1e101", "1e-101", "one"]
    for text in cases:
        with pytest.raises(ParameterError, match="sigma must be"):
            amount(text, name="sigma")


def test_numbers_are_plain() -> None:
    numbers = (Fraction(5), Fraction(1, 4), Fraction(1, 10**7), Fraction(1, 3), Fraction(10**30 + 1, 10**31))
    assert [plain_number(number) for number in numbers] == ["5", "0.25", "1e-7", "1/3", "≈0.1"]
    assert plain_number(Fraction(10**100)) == "1e100"


def test_times_are_counted() -> None:
    assert isinstance(one_epsilon("pure", epsilon="1", times=10**6).event, RepeatedEvent)
    with pytest.raises(ParameterError, match="times must be at least 1"):
        one_epsilon("pure", epsilon="1", times=0)
    with pytest.raises(ParameterError, match="reports must be at least 1"):
        shuffle(epsilon="1", reports=0, times=1, categories=None)
