"""A choice on paper: the reason, all alternatives, what it errs by, and a command that runs."""

from __future__ import annotations

import json

import pytest

from celosia.cli.collect.choice import choice_object, print_choice
from celosia.local import choose


@pytest.mark.parametrize("longitudinal", [False, True])
def test_choices(capsys: pytest.CaptureFixture[str], longitudinal: bool) -> None:  # noqa: FBT001 - a parameter of the test
    choice = choose(100, 1, bits=400, longitudinal=longitudinal)
    print_choice(choice)
    out = capsys.readouterr().out
    assert choice.reason in out
    assert ("Same changes" in out) == ("Any histories" in out) == ("ε = ∞" in out) == longitudinal
    assert all(one.name in out for one in choice.alternatives)
    told = json.loads(json.dumps(choice_object(choice), allow_nan=False))
    assert told["reason"] == choice.reason
    assert len(told["alternatives"]) == len(choice.alternatives)


@pytest.mark.parametrize(
    ("domain", "epsilon", "words"),
    [
        (1000, 1, "--protocol olh --domain 1000 --epsilon 1 "),
        (("a", "b"), "1/3", "--protocol grr --domain a,b --epsilon 1/3 "),
        (("sí", "a b"), 1, None),
        (tuple(range(100)), 1, None),
    ],
)
def test_a_choice_says_how_to_try_it(
    capsys: pytest.CaptureFixture[str], domain: int | tuple[str, ...], epsilon: int | str, words: str | None
) -> None:
    print_choice(choose(domain, epsilon))
    out = capsys.readouterr().out
    assert ("To try it" in out) == (words is not None)
    assert (words or "") in out


def test_large_numbers_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    choice = choose(1000, 1, longitudinal=True)
    print_choice(choice)
    out = capsys.readouterr().out
    assert "e+" not in out
    assert "ε = 1,000" in out
    variance = next(one.variance for one in choice.alternatives if one.protocol == choice.protocol)
    assert f"standard error of {(10_000 * variance) ** 0.5:.3g}" in out
