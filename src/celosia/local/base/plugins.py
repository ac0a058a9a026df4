"""Protocols of other packages, which register themselves under the entry point group ``celosia.protocols``.

An entry point names an ``Entry`` of ``celosia.local.catalogue``: the protocol's class, short name, task and options.
Loading it imports the class, so that ``Protocol.from_json`` knows its kind; the catalogue lists it for commands.
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any

ENTRY_POINTS = "celosia.protocols"
"""The entry point group of protocols."""


@cache
def load_plugins() -> tuple[Any, ...]:
    """Load the catalogue entries of other packages, once per process."""
    return tuple(point.load() for point in entry_points(group=ENTRY_POINTS))
