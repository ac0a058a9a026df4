"""Privacy models in plain Python, record by record, as the papers define them."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Row = tuple[Any, ...]


def match(one: Row, two: Row, *, wildcard: bool) -> bool:
    """Whether an attacker who looks for one record finds the other."""
    return all(a == b or (wildcard and (a is None or b is None)) for a, b in zip(one, two, strict=True))


def find_matches(keys: Sequence[Row], *, wildcard: bool) -> list[list[int]]:
    """The places of the records that match each."""
    return [[j for j, other in enumerate(keys) if match(key, other, wildcard=wildcard)] for key in keys]


def list_values(values: Sequence[Any], places: Sequence[int], *, wildcard: bool) -> list[Any]:
    """The known values of some records."""
    return [values[place] for place in places if not (wildcard and values[place] is None)]


def entropy(values: Sequence[Any]) -> float:
    counts = Counter(values)
    return math.exp(-sum(c / len(values) * math.log(c / len(values)) for c in counts.values()))


def recursive(values: Sequence[Any], c: float) -> int:
    counts = sorted(Counter(values).values(), reverse=True)
    return max((l for l in range(1, len(counts) + 1) if counts[0] < c * sum(counts[l - 1 :])), default=0)  # noqa: E741


def largest(values: Sequence[Any]) -> float:
    return max(Counter(values).values()) / len(values)


def move(class_values: Sequence[Any], file_values: Sequence[Any], cost: Any) -> float:
    """The earth mover's distance as the linear program that defines it."""
    domain = sorted(set(class_values) | set(file_values), key=lambda v: (v is not None, v))
    if len(domain) == 1:
        return 0.0
    p = np.array([class_values.count(v) / len(class_values) for v in domain])
    q = np.array([file_values.count(v) / len(file_values) for v in domain])
    m = len(domain)
    costs = np.array([[cost(i, j, domain) for j in range(m)] for i in range(m)])
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)]
    columns = [np.kron(np.ones(m), np.eye(m)[j]) for j in range(m)]
    solved = linprog(costs.ravel(), A_eq=np.array(rows + columns), b_eq=np.concatenate([p, q]))
    assert solved.fun is not None
    return float(solved.fun)


def equal_cost(i: int, j: int, _domain: Sequence[Any]) -> float:
    return float(i != j)


def ordered_cost(i: int, j: int, domain: Sequence[Any]) -> float:
    return abs(i - j) / (len(domain) - 1)


def hierarchy_cost(lines: Mapping[Any, Sequence[str]]) -> Any:
    """The level at which two values meet, of all levels; lines are the labels above each value, `*` last."""

    def cost(i: int, j: int, domain: Sequence[Any]) -> float:
        one, two = domain[i], domain[j]
        if one == two:
            return 0.0
        height = len(next(iter(lines.values())))
        if one is None or two is None:
            return 1.0
        return next(level for level in range(1, height + 1) if lines[one][level - 1] == lines[two][level - 1]) / height

    return cost


def distance_equal(told: Sequence[Any], file: Sequence[Any]) -> float:
    """Half the sum of the differences of two distributions."""
    return sum(abs(told.count(v) / len(told) - file.count(v) / len(file)) for v in {*told, *file}) / 2


def distance_ordered(told: Sequence[Any], file: Sequence[Any]) -> float:
    """The sum of the differences of two cumulative distributions, over one less than the number of values."""
    domain = sorted({*told, *file}, key=lambda v: (v is not None, v))
    gaps = [told.count(v) / len(told) - file.count(v) / len(file) for v in domain]
    return sum(abs(sum(gaps[: place + 1])) for place in range(len(gaps))) / max(len(gaps) - 1, 1)


def distance_hierarchical(told: Sequence[Any], file: Sequence[Any], lines: Mapping[Any, Sequence[str]]) -> float:
    """The cost of each node of the hierarchy, as section 5 of the paper on t-closeness defines it."""
    height = len(next(iter(lines.values())))
    paths = {value: (value, *line) for value, line in lines.items()} | {None: (*[None] * height, "*")}
    total = 0.0
    for level in range(1, height + 1):
        for node in {path[level] for path in paths.values()}:
            children = {path[level - 1] for path in paths.values() if path[level] == node}
            extras = [
                sum(
                    told.count(v) / len(told) - file.count(v) / len(file) for v in paths if paths[v][level - 1] == child
                )
                for child in children
            ]
            excess, lack = sum(e for e in extras if e > 0), -sum(e for e in extras if e < 0)
            total += level / height * min(excess, lack)
    return total
