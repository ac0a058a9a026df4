"""Warnings can be turned into errors, or off, one by one."""

import warnings

import pytest

from celosia.core import NotPrivateWarning, TuningWarning


def test_each_is_a_user_warning_of_its_own() -> None:
    cases: list[type[UserWarning]] = [NotPrivateWarning, TuningWarning]
    for kind in cases:
        other = TuningWarning if kind is NotPrivateWarning else NotPrivateWarning
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", other)
            with pytest.raises(kind, match="said"):
                warnings.warn("said", kind, stacklevel=1)
            warnings.warn("not said", other, stacklevel=1)
