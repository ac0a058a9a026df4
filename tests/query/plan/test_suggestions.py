"""A mistyped name gets the nearest one suggested, quickly also among a million."""

from __future__ import annotations

from celosia.query.plan.suggestions import suggest


def test_sentences() -> None:
    cases: list[tuple[str, list[object], str]] = [
        ("agge", ["age", "sex"], "Did you mean age?"),
        ("AGE", ["age", "sex"], "Did you mean age?"),
        ("deths", ["visits", "deaths"], "Did you mean deaths?"),
        ("zzz", ["age", "sex"], "There are age, sex."),
        ("zzz", [], "There are none."),
        ("9", [1, 2, 3], "There are 1, 2, 3."),
        ("zzz", list("abcdefghij"), "There are a, b, c, d, e, f, g, h and others."),
    ]
    for name, known, sentence in cases:
        assert suggest(name, known) == sentence


def test_long_lists_and_long_names_are_cut() -> None:
    sentence = suggest("q" * 100_000, (f"{i}" * 100 for i in range(10**9)))
    assert len(sentence) < 800
    assert sentence.endswith("and others.")
