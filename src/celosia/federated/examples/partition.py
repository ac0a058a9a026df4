"""Divide the records of one table among parties, to simulate a federation.

The division is drawn from a public seed: it says how an experiment was made, and protects nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from celosia.core.errors import InputError
from celosia.core.exact import exact_integer, exact_positive, exact_probability
from celosia.noise import Seeded, permutation

Parties = dict[str, tuple[NDArray[Any], NDArray[Any]]]

_WORD = 2.0**64


def split_evenly(X: Any, y: Any, parties: int, *, seed: int = 0) -> Parties:  # noqa: N803 - scikit-learn's names
    """Return records in random order, as many for each party as for the others, or one more.

    >>> [len(y) for _, y in split_evenly(np.zeros((10, 2)), np.arange(10), 3).values()]
    [4, 3, 3]
    """
    features, targets = _read(X, y)
    order = permutation(len(targets), Seeded(seed))
    return _name(features, targets, np.array_split(order, exact_integer(parties, name="parties", least=2)))


def split_by_label(X: Any, y: Any) -> Parties:  # noqa: N803 - scikit-learn's names
    """Return one party for each label, with all its records: as different as parties can be.

    >>> list(split_by_label(np.zeros((3, 1)), np.array(["b", "a", "b"])))
    ['party 1', 'party 2']
    """
    features, targets = _read(X, y)
    return _name(features, targets, [np.flatnonzero(targets == label) for label in np.unique(targets)])


def split_dirichlet(
    X: Any,  # noqa: N803 - scikit-learn's names
    y: Any,
    parties: int,
    *,
    concentration: float = 0.5,
    seed: int = 0,
) -> Parties:
    """Return parties among which each label is divided by a draw from a symmetric Dirichlet law.

    A small concentration gives each label to few parties, a large one divides evenly (Hsu, Qi and Brown 2019).

    >>> y = np.repeat([0, 1], 500)
    >>> sizes = [len(part) for _, part in split_dirichlet(np.zeros((1000, 1)), y, 4, concentration=100).values()]
    >>> sum(sizes), min(sizes) > 200
    (1000, True)
    """
    features, targets = _read(X, y)
    count = exact_integer(parties, name="parties", least=2)
    source, shape = Seeded(seed), float(exact_positive(concentration, name="concentration"))
    places: list[list[NDArray[np.int64]]] = [[] for _ in range(count)]
    for label in np.unique(targets):
        uniform = (source.words(count) + 0.5) / _WORD
        # In logarithms: for a small shape most of the gamma draws are 0 as doubles.
        sizes = np.log(np.maximum(special.gammaincinv(shape, uniform), np.finfo(float).tiny))
        shares = np.exp(sizes - special.logsumexp(sizes))
        own = np.flatnonzero(targets == label)[permutation(int((targets == label).sum()), source)]
        ends = np.round(np.cumsum(shares)[:-1] * len(own)).astype(np.int64)
        for party, part in zip(places, np.split(own, ends), strict=True):
            party.append(part)
    return _name(features, targets, [np.concatenate(part) for part in places])


def split_test(
    parties: Parties, *, share: float = 0.2, seed: int = 0
) -> tuple[Parties, tuple[NDArray[Any], NDArray[Any]]]:
    """Return parties with a part of their records, and the other records together, to score models on.

    ``share`` is of each party, rounded down, and drawn at random.

    >>> parties = split_evenly(np.zeros((21, 2)), np.arange(21), 2)
    >>> trained, (rows, targets) = split_test(parties)
    >>> [len(own) for _, own in trained.values()], rows.shape, len(targets)
    ([9, 8], (4, 2), 4)
    """
    part = exact_probability(share, name="share")
    source, trained, kept = Seeded(seed), {}, []
    for name, (features, targets) in parties.items():
        rows, labels = _read(features, targets)
        order = permutation(len(labels), source)
        apart, own = np.split(order, [int(len(order) * part)])
        trained[name] = rows[own], labels[own]
        kept.append((rows[apart], labels[apart]))
    rows, labels = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return trained, (rows, labels)


def split_by_column(X: Any, parties: int) -> dict[str, NDArray[Any]]:  # noqa: N803 - scikit-learn's names
    """Return all rows for every party, with different columns.

    >>> [part.shape for part in split_by_column(np.zeros((5, 3)), 2).values()]
    [(5, 2), (5, 1)]
    """
    features = np.asarray(X)
    count = exact_integer(parties, name="parties", least=2)
    if features.ndim != 2 or features.shape[1] < count:
        raise InputError("federated.fewer_columns_than_parties", parties=count)
    return {f"party {place + 1}": part for place, part in enumerate(np.array_split(features, count, axis=1))}


def _read(X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:  # noqa: N803 - scikit-learn's names
    features, targets = np.asarray(X), np.asarray(y)
    if features.ndim != 2 or targets.ndim != 1 or len(features) != len(targets):
        raise InputError("federated.rows_without_targets")
    return features, targets


def _name(features: NDArray[Any], targets: NDArray[Any], places: "list[NDArray[Any]]") -> Parties:
    return {f"party {number + 1}": (features[rows], targets[rows]) for number, rows in enumerate(places)}
