"""The error tree: the drawing in the docstring is what the classes are. Warnings can be turned off one by one."""

import builtins
import inspect
import re
import warnings

import pytest

from celosia.core import NotPrivateWarning, TuningWarning, errors
from celosia.core.errors import CelosiaError

_LINE = re.compile(r"^    [├└]── (?P<name>\w+) +\((?P<builtin>\w+)\) +(?P<meaning>\S.*)$", re.MULTILINE)


def _drawn() -> dict[str, str]:
    assert errors.__doc__ is not None
    return {line["name"]: line["builtin"] for line in _LINE.finditer(errors.__doc__)}


def _defined() -> dict[str, type[Exception]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, CelosiaError) and value is not CelosiaError
    }


def test_the_drawing_names_every_class_and_no_other() -> None:
    assert errors.__doc__ is not None
    assert len(_drawn()) == errors.__doc__.count("── ") > 0
    assert _drawn().keys() == _defined().keys()


def test_every_class_is_an_error_of_the_tree_or_a_warning() -> None:
    classes = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert classes == {"CelosiaError", *_defined(), "NotPrivateWarning", "TuningWarning"}


def test_each_inherits_the_root_and_the_builtin_drawn_beside_it() -> None:
    for name in sorted(_defined()):
        assert _defined()[name].__bases__ == (CelosiaError, getattr(builtins, _drawn()[name]))


def test_each_is_caught_by_its_builtin_and_keeps_its_message() -> None:
    for name in sorted(_defined()):
        message = "What was wrong, and what to do."
        with pytest.raises(getattr(builtins, _drawn()[name])) as caught:
            raise _defined()[name](message)
        assert isinstance(caught.value, CelosiaError)
        assert str(caught.value) == message


def test_the_root_is_a_plain_exception() -> None:
    assert CelosiaError.__bases__ == (Exception,)


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
