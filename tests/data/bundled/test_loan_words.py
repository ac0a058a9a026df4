from __future__ import annotations

from celosia.data.bundled.loan_words import LOAN_WORDS


def test_words_differ_and_fit_into_ten_letters() -> None:
    assert len(set(LOAN_WORDS)) == len(LOAN_WORDS) == 161
    assert all(word.isascii() and word.isalpha() and word.islower() and len(word) <= 10 for word in LOAN_WORDS)
