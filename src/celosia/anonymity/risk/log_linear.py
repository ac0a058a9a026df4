"""Population uniques, and right matches of sample uniques, from a log-linear model of the classes.

Each class of the population has a Poisson number of persons, whose mean follows a log-linear model of the quasi-
identifiers: independence, or all interactions of two columns. The model is fitted to the counts of the sample by
iterative proportional fitting. The persons of a class outside the sample then have a Poisson number too, with mean ``v
= m (1 - p) / p`` where ``m`` is the fitted count and ``p`` the sampling fraction, so that a unique of the sample is
unique in the population with probability ``exp(-v)``, and a match of it is right with probability ``(1 - exp(-v)) /
v``.

The answer depends on the model: independence usually overstates the risk, and too many interactions understate it.
``dispersion`` says how well a model fits. sdcMicro's ``modRisk`` does not divide by p, and states other numbers.
Skinner and Holmes 1998; Skinner and Shlomo 2008.
"""

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding import Coded, group_rows
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.microdata.figures import Figure, is_number, write_figures, write_number
from celosia.core.errors import ParameterError, SchemaError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MAX_CELLS: Final = 1 << 25  # of the table that is fitted
_ROUNDS: Final = 500
_ENOUGH: Final = 1e-10  # change of a fitted margin, as a part of the sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PopulationUniques:
    """What a log-linear model says of the sample uniques. ``estimate_population_uniques`` makes one.

    Attributes
    ----------
    interactions
        The most columns that interact: 1 is independence.
    uniques
        The rows of the sample uniques.
    unique_probabilities
        The probability that each of them is unique in the population.
    match_probabilities
        The probability that a match of each of them is right.
    dispersion
        The excess variance of the counts over the model, per record: near 0 where the model fits, above 0 where it has
        too few interactions, which overstates the risk.
    """

    interactions: int
    uniques: "NDArray[np.int64]" = field(repr=False)
    unique_probabilities: "NDArray[np.float64]" = field(repr=False)
    match_probabilities: "NDArray[np.float64]" = field(repr=False)
    dispersion: float

    @property
    def population_uniques(self) -> float:
        """The expected number of sample uniques that are unique in the population (tau 1)."""
        return float(self.unique_probabilities.sum())

    @property
    def right_matches(self) -> float:
        """The expected number of right matches, if each sample unique is matched with a person that fits (tau 2)."""
        return float(self.match_probabilities.sum())

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What the table shows: the name of each figure, and its value."""
        return (
            (Message("anonymity_risk.sample_uniques"), write_number(len(self.uniques))),
            (Message("anonymity_risk.population_uniques"), write_number(self.population_uniques)),
            (Message("anonymity_risk.right_matches"), write_number(self.right_matches)),
            (Message("anonymity_risk.dispersion"), write_number(self.dispersion)),
        )

    def describe(self, language: str = "en") -> str:
        """Return the table in a language."""
        return write_figures(self.figures, language)

    def __str__(self) -> str:
        return self.describe()


def estimate_population_uniques(
    data: Microdata, *, interactions: int = 2, fraction: float | None = None
) -> PopulationUniques:
    """Return how many records that are unique in the sample are expected to be so in the population.

    Parameters
    ----------
    data
        The sample. Its quasi-identifiers span a table, of which at most 2**25 cells are fitted. A null is a value.
    interactions
        1 for independent columns, 2 for all interactions of two columns.
    fraction
        The part of the population that is in the sample; by default one over the weight of each record.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"sex": list("MMMFFF"), "age": [40, 40, 50, 40, 50, 60]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["sex", "age"]))
    >>> found = estimate_population_uniques(data, interactions=1, fraction=0.5)
    >>> found.uniques.tolist(), round(found.population_uniques, 3), round(found.right_matches, 3)
    ([2, 3, 4, 5], 1.565, 2.569)
    """
    if isinstance(interactions, bool) or interactions not in {1, 2}:
        raise ParameterError("anonymity_risk.wrong_interactions", value=safe_repr(interactions))
    if fraction is not None and (not is_number(fraction) or not 0 < fraction <= 1):
        raise ParameterError("anonymity_risk.not_a_fraction", name="fraction", value=safe_repr(fraction))
    if fraction is None and data.roles.weight is None:
        raise SchemaError("anonymity_risk.fraction_missing")
    keys = _use_labels(data.encode_quasi_identifiers())
    groups = group_rows(keys)
    alone = np.flatnonzero(groups.sizes[groups.ids] == 1)
    parts = np.full(len(data), fraction) if fraction is not None else np.minimum(1 / data.weights, 1.0)
    fitted, counts = _fit(keys, interactions)
    means = fitted[tuple(key.codes[alone] for key in keys)]
    outside = means * (1 - parts[alone]) / parts[alone]
    return PopulationUniques(
        interactions=interactions,
        uniques=alone,
        unique_probabilities=np.exp(-outside),
        match_probabilities=np.where(outside > 0, -np.expm1(-outside) / np.where(outside > 0, outside, 1.0), 1.0),
        dispersion=_measure_dispersion(counts, fitted),
    )


def _use_labels(keys: "Sequence[Coded]") -> tuple[Coded, ...]:
    """Return columns whose codes are all used, with null as one of them; the table must be small enough."""
    import pyarrow as pa

    used = [np.unique(key.codes, return_inverse=True) for key in keys]
    cells = math.prod(len(labels) for labels, _ in used)
    if cells > _MAX_CELLS:
        raise ParameterError("anonymity_risk.table_too_large", cells=cells, most=_MAX_CELLS)
    return tuple(Coded(codes.astype(np.int32), pa.nulls(len(labels))) for labels, codes in used)


def _fit(keys: "Sequence[Coded]", interactions: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the fitted counts of all classes, and the counts of the sample."""
    shape = tuple(len(key.labels) for key in keys)
    places = np.ravel_multi_index(tuple(key.codes for key in keys), shape)
    counts = np.bincount(places, minlength=math.prod(shape)).reshape(shape).astype(np.float64)
    margins = list(itertools.combinations(range(len(keys)), min(interactions, len(keys))))
    others = [tuple(axis for axis in range(len(keys)) if axis not in margin) for margin in margins]
    targets = [counts.sum(axis=rest, keepdims=True) for rest in others]
    fitted = np.full(shape, counts.sum() / counts.size)
    for _ in range(_ROUNDS):
        change = 0.0
        for rest, target in zip(others, targets, strict=True):
            margin = fitted.sum(axis=rest, keepdims=True)
            change = max(change, float(np.abs(margin - target).max()))
            fitted *= np.divide(target, margin, out=np.zeros_like(target), where=margin > 0)
        if change <= _ENOUGH * counts.sum():
            break
    return fitted, counts


def _measure_dispersion(counts: "NDArray[np.float64]", fitted: "NDArray[np.float64]") -> float:
    """Return the sum of (f - m)**2 - f over the classes, per record: it is 0 on average if counts are Poisson."""
    return float(((counts - fitted) ** 2 - counts).sum() / counts.sum())
