"""A function of an array dressed as a mechanism, so that the conformance kit can try it."""

from collections.abc import Callable
from typing import Any

from celosia.core import Event, Guarantee, Release, Source


class FunctionMechanism:
    """``function(array, **terms)`` with the members of a mechanism; ``like`` is any array of the type that comes."""

    def __init__(self, function: Callable[..., Release[Any]], like: Any, **terms: Any) -> None:
        self._function, self._terms = function, terms
        release = function(like, **terms)
        self._event, self._guarantee = release.event, release.guarantee

    @property
    def event(self) -> Event:
        return self._event

    @property
    def guarantee(self) -> Guarantee:
        return self._guarantee

    def release(self, value: Any, /, *, source: Source | None = None) -> Release[Any]:
        return self._function(value, source=source, **self._terms)
