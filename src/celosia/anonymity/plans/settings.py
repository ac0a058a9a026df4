"""Whether a setting of a plan file has the type of the parameter that it is for.

A file says ``relaxed = "no"`` as easily as ``relaxed = false``, and Python takes any text for true. So each value is
held against the annotation of its parameter before anything is made of it.
"""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.exact import safe_repr

T = TypeVar("T")
_LISTS: Final = (tuple, list, Sequence, Iterable)
_PLAIN: Final[dict[type, Any]] = {
    bool: bool,
    int: int,
    float: (int, float),
    str: str,
    date: date,
    type(None): type(None),
}
_IN_SECTION: Final = "anonymity.in_section"


def make_of_settings(maker: Callable[..., T], settings: Mapping[str, Any], where: str) -> T:
    """Return what a class or function makes of settings, or raise the error that names the section.

    >>> from celosia.anonymity.models import KAnonymity
    >>> make_of_settings(KAnonymity, {"k": 3}, "require[1]")
    KAnonymity(k=3)
    """
    hints = get_type_hints(vars(maker)["__init__"] if isinstance(maker, type) else maker)
    for name, value in settings.items():
        if not fits(value, hints.get(name, Any)):
            raise ParameterError("anonymity.setting_of_other_type", name=f"{where}.{name}", value=safe_repr(value))
    with name_section(where):
        return maker(**settings)


@contextmanager
def name_section(where: str) -> Iterator[None]:
    """Say in errors which section they are about: a plan may have several steps with a parameter of one name.

    >>> with name_section("steps[2]"):
    ...     raise ParameterError("anonymity.dates_not_rising")
    Traceback (most recent call last):
    celosia.core.errors.ParameterError: steps[2]: low must not be after high.
    """
    try:
        yield
    except CelosiaError as error:
        if error.code == _IN_SECTION:
            raise
        raise ParameterError(_IN_SECTION, section=where, error=error) from error


def fits(value: object, hint: Any) -> bool:
    """Return whether a value of a file can be meant for a parameter with a type hint.

    >>> fits(True, bool), fits("no", bool), fits([1, 2], tuple[float, ...]), fits({"a": "x"}, Mapping[str, int])
    (True, False, True, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if origin in _LISTS:
        return isinstance(value, list | tuple) and all(fits(one, inner[0]) for one in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(fits(one, inner[1]) for one in value.values())
    if isinstance(value, bool) and hint in {int, float}:
        return False
    return not isinstance(hint, type) or hint not in _PLAIN or isinstance(value, _PLAIN[hint])
