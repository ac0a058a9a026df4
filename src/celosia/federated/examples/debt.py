"""Synthetic public debt by creditor, with the correlations of a published table.

The columns are those of the debt of Mexico City that the source document analyses: balance, days and days left of the
contract, amortization and interest of the period. Its records are not available, so these are invented: normal columns
whose correlations over all parties are those of the document's table 4.1, to the last digit that it prints.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.exact import exact_integer
from celosia.mechanisms.real_gaussian import RealGaussian
from celosia.noise import Seeded

Numbers = NDArray[np.float64]

COLUMNS: Final = ("days", "days_left", "amortization", "interest", "balance")
"""The columns; the last is the target."""

CORRELATIONS: Final = (
    (1.000, 0.881, -0.184, 0.456, 0.628),
    (0.881, 1.000, -0.185, 0.481, 0.675),
    (-0.184, -0.185, 1.000, 0.148, -0.102),
    (0.456, 0.481, 0.148, 1.000, 0.674),
    (0.628, 0.675, -0.102, 0.674, 1.000),
)
"""The correlations of the columns (the document's table 4.1, in this order)."""

_DEVIATIONS: Final = 3.0  # columns are scaled so that 1 is so many standard deviations, and clipped there


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleParties:
    """Records of parties, with public bounds: ``Federation(parties=example.parties, ...)``.

    >>> make_debt(parties=2, rows=50).bounds
    (-1.0, 1.0)
    """

    parties: dict[str, tuple[Numbers, NDArray[np.generic]]] = field(repr=False)
    features: tuple[str, ...]
    bounds: tuple[float, float]
    bounds_y: tuple[float, float] | None = None

    def together(self) -> tuple[Numbers, NDArray[np.generic]]:
        """Return the records of all parties, to compare with."""
        features, targets = zip(*self.parties.values(), strict=True)
        return np.concatenate(features), np.concatenate(targets)


def make_debt(parties: int = 7, rows: int = 200, *, seed: int = 2024) -> ExampleParties:
    """Return invented debt records of some creditors, all columns between -1 and 1.

    >>> example = make_debt()
    >>> len(example.parties), example.features
    (7, ('days', 'days_left', 'amortization', 'interest'))
    >>> features, balance = example.together()
    >>> round(float(np.corrcoef(features[:, 3], balance)[0, 1]), 2)
    0.67
    """
    count, each = exact_integer(parties, name="parties", least=2), exact_integer(rows, name="rows", least=2)
    drawn = RealGaussian(1).sample((count * each, len(COLUMNS)), source=Seeded(seed))
    if len(drawn) > 2 * len(COLUMNS):  # the sample's own correlations are taken out first
        drawn = drawn - drawn.mean(axis=0)
        drawn = drawn @ np.linalg.inv(np.linalg.cholesky(drawn.T @ drawn / len(drawn))).T
    table = np.clip(drawn @ np.linalg.cholesky(np.array(CORRELATIONS)).T / _DEVIATIONS, -1, 1)
    blocks = {f"creditor {number + 1}": table[number * each : (number + 1) * each] for number in range(count)}
    return ExampleParties(
        parties={name: (block[:, :-1], block[:, -1]) for name, block in blocks.items()},
        features=COLUMNS[:-1],
        bounds=(-1.0, 1.0),
        bounds_y=(-1.0, 1.0),
    )
