"""Changes to the JSON of a model file, drawn from a seed: values, keys, whole subtrees, and bytes."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

__all__ = ["mutate"]

_POOL: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**9, 10**39, 0.5, -2.5, 1e300, 5e-324, "", "x", "1/3", "1/0", "0", "-1", "inf",
    "person", "replace-one", "KMeans", "auto", [], [1], [[]], [None], [1.0, [2.0]], {}, {"float": "NaN"}, {"float": []},
    {"float": "Infinity"}, {"tuple": [1]}, {"tuple": 1}, {"mapping": {}}, {"mapping": []}, {"fraction": "1/3"},
    {"fraction": 3}, {"decimal": "1e5"}, {"decimal": []}, {"adjacency": "add-remove"}, {"adjacency": []}, {"kind": ""},
    {"schema": "[columns.x]\nkind = 'text'"}, {"record": {}}, {"record": {"kind": "PureDP", "version": 1}},
    {"value": {"is": "Ball", "of": {"radius": 1.0}}}, {"value": {"is": [], "of": {}}}, {"array": {}},
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from _places(item, (*path, key))


def mutate(sound: dict[str, Any], random: Random) -> bytes:
    """Return the text of a file with one to three changes."""
    made = copy.deepcopy(sound)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = list(_places(made))
        path = random.choice(places)
        at = made
        for key in path[:-1]:
            at = at[key]
        _change(at, path[-1], made, random.choice(places), random)
    text = json.dumps(made).encode()
    if random.random() < 0.1:
        cut = random.randrange(len(text))
        text = text[:cut] + random.randbytes(random.randrange(4)) + text[cut + random.randrange(4) :]
    return text


def _change(at: Any, key: Any, whole: Any, other: tuple[Any, ...], random: Random) -> None:
    kind = random.random()
    if kind < 0.6:
        at[key] = copy.deepcopy(random.choice(_POOL))
    elif kind < 0.7:
        del at[key]
    elif kind < 0.9:
        found = whole
        for step in other:
            found = found[step]
        at[key] = copy.deepcopy(found)
    elif isinstance(at, dict):
        at[random.choice(("x", "is", "mean_", "kind", "epsilon"))] = at.pop(key)
    else:
        at.append(copy.deepcopy(at[key]))
