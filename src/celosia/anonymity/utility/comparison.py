"""All measures of utility that apply to two files, with a table to print and arrays to draw."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from celosia.anonymity.microdata import Microdata
from celosia.anonymity.microdata.figures import Figure, write_figures, write_number
from celosia.anonymity.utility.generalized import (
    count_suppressed,
    measure_class_size,
    measure_discernibility,
    measure_loss,
)
from celosia.anonymity.utility.numbers import (
    Moments,
    compare_eigenvalues,
    compare_moments,
    compute_moments,
    measure_il1s,
)
from celosia.anonymity.utility.pairs import list_compared, list_numeric
from celosia.anonymity.utility.propensity import Propensity, measure_propensity
from celosia.anonymity.utility.tables import FrequencyTable, average, compare_tables
from celosia.core.messages.message import Message


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Comparison:
    """What masking changed. ``str`` gives a table of the measures; NaN says that one does not apply.

    ``losses`` and ``suppressed`` are by quasi-identifier, ``tables`` by column; ``before`` and ``after`` are the
    moments of the columns that are numeric in both files.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, compare_files, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 40, 50]}), roles=Roles(quasi_identifiers=["age"]))
    >>> compare_files(data, data).loss
    0.0
    """

    records: tuple[int, int]
    losses: Mapping[str, float]
    suppressed: Mapping[str, int]
    discernibility: float
    class_size: float
    il1s: float
    eigenvalues: float
    moments: Mapping[str, float]
    before: Moments = field(repr=False)
    after: Moments = field(repr=False)
    tables: Mapping[str, FrequencyTable] = field(repr=False)
    pair_divergence: float
    propensity: Propensity

    @property
    def loss(self) -> float:
        """The mean loss over the quasi-identifiers."""
        return average(list(self.losses.values()))

    @property
    def measures(self) -> Mapping[str, float]:
        """The measures by name; NaN is one that does not apply."""
        return {
            "records": float(self.records[1]),
            "dropped_records": float(self.records[0] - self.records[1]),
            "loss": self.loss,
            "suppressed_cells": float(sum(self.suppressed.values())),
            "discernibility": self.discernibility,
            "class_size": self.class_size,
            "il1s": self.il1s,
            "eigenvalues": self.eigenvalues,
            "means": self.moments["means"],
            "variances": self.moments["variances"],
            "correlations": self.moments["correlations"],
            "total_variation": average([table.total_variation for table in self.tables.values()]),
            "divergence": average([table.divergence for table in self.tables.values()]),
            "pair_divergence": self.pair_divergence,
            "pmse": self.propensity.pmse,
            "pmse_ratio": self.propensity.ratio,
        }

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What the table shows: the name of each measure that applies, and its value."""
        return tuple(
            (Message(_NAMES[name]), write_number(value))
            for name, value in self.measures.items()
            if not math.isnan(value)
        )

    def describe(self, language: str = "en") -> str:
        """Return the table in a language."""
        return write_figures(self.figures, language)

    def __str__(self) -> str:
        return self.describe()


_NAMES: Final = {
    "records": "anonymity_utility.records",
    "dropped_records": "anonymity_utility.dropped_records",
    "loss": "anonymity_utility.loss",
    "suppressed_cells": "anonymity_utility.suppressed_cells",
    "discernibility": "anonymity_utility.discernibility",
    "class_size": "anonymity_utility.class_size",
    "il1s": "anonymity_utility.il1s",
    "eigenvalues": "anonymity_utility.eigenvalues",
    "means": "anonymity_utility.means",
    "variances": "anonymity_utility.variances",
    "correlations": "anonymity_utility.correlations",
    "total_variation": "anonymity_utility.total_variation",
    "divergence": "anonymity_utility.divergence",
    "pair_divergence": "anonymity_utility.pair_divergence",
    "pmse": "anonymity_utility.pmse",
    "pmse_ratio": "anonymity_utility.pmse_ratio",
}


def compare_files(original: Microdata, masked: Microdata) -> Comparison:
    """Return all measures of utility that apply to a file and its masked version.

    Parameters
    ----------
    original
        The file as it was read.
    masked
        What steps made of it.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 30, 40]}), roles=Roles(quasi_identifiers=["age"]))
    >>> compared = compare_files(data, data.keep_rows(np.array([0, 1])))
    >>> round(compared.loss, 4), compared.discernibility, compared.class_size
    (0.3333, 7.0, 2.0)
    """
    numeric = list_numeric(original, masked)
    has_keys = bool(original.roles.quasi_identifiers)
    pairs = compare_tables(original, masked, ways=2) if len(list_compared(original)) > 1 else {}
    return Comparison(
        records=(len(original), len(masked)),
        losses=measure_loss(original, masked),
        suppressed=count_suppressed(original, masked),
        discernibility=measure_discernibility(original, masked) if has_keys else math.nan,
        class_size=measure_class_size(masked) if has_keys else math.nan,
        il1s=measure_il1s(original, masked),
        eigenvalues=compare_eigenvalues(original, masked),
        moments=compare_moments(original, masked),
        before=compute_moments(original, numeric),
        after=compute_moments(masked, numeric),
        tables={name: table for (name,), table in compare_tables(original, masked).items()},
        pair_divergence=average([table.divergence for table in pairs.values()]),
        propensity=measure_propensity(original, masked),
    )
