"""Data shuffling: sensitive values are dealt out anew, so that their relation to other columns stays.

New values are drawn from the joint distribution with the given columns, as a Gaussian copula describes it, and then
replaced by the true values of the same rank. Margins stay exactly the same; rank correlations stay but for chance. A
released value says no more about its person than the given columns do, if the copula fits. It is *not* differential
privacy. Muralidhar and Sarathy 2006.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from celosia.anonymity.coding import Coded
from celosia.anonymity.masking.draws import draw_normal
from celosia.anonymity.masking.parts import check_names, get_complete_codes, split_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle:
    """Shuffle columns given others, within strata.

    Rank correlations among the columns, and with those given, change by chance only: by about ``1/sqrt(n)`` for ``n``
    records of a stratum.

    Parameters
    ----------
    columns
        The columns to shuffle. Values of these and of ``given`` must have an order, and no nulls.
    given
        The columns that stay as they are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> frame = pa.table({"age": [20, 30, 40, 50], "pay": [1200, 1500, 2100, 2000]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["age"], sensitive=["pay"]))
    >>> shuffled = Shuffle(columns=["pay"], given=["age"]).apply(data)
    >>> sorted(shuffled.get_column("pay").to_pylist())
    [1200, 1500, 2000, 2100]
    """

    columns: Sequence[str]
    given: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_names(self.columns, name="columns"))
        object.__setattr__(self, "given", check_names(self.given, name="given", least=0))
        if both := [name for name in self.columns if name in self.given]:
            raise ParameterError("anonymity_masking.shuffled_and_given", name=safe_repr(both[0]))

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with shuffled columns."""
        import pyarrow as pa

        drawn = source_or_system(source)
        names = (*self.given, *self.columns)
        coded = [get_complete_codes(data, name) for name in names]
        origins = np.tile(np.arange(len(data)), (len(self.columns), 1))
        for rows in split_rows(data, names, least=2):
            scores = np.column_stack([_score(column.take(rows)) for column in coded])
            perturbed = _perturb(scores, len(self.given), drawn)
            for place, column in enumerate(coded[len(self.given) :]):
                ranked = np.argsort(column.codes[rows], kind="stable")
                origins[place, rows[np.argsort(perturbed[:, place], kind="stable")]] = rows[ranked]
        return data.replace_columns(
            {name: data.get_column(name).take(pa.array(origins[place])) for place, name in enumerate(self.columns)}
        )


def _score(column: Coded) -> "NDArray[np.float64]":
    """Return normal scores: the normal quantiles of the ranks; equal values share the middle rank."""
    sizes = np.bincount(column.codes)
    middle = np.cumsum(sizes) - sizes / 2
    return np.asarray(special.ndtri((middle / column.codes.size)[column.codes]), dtype=np.float64)


def _perturb(scores: "NDArray[np.float64]", given: int, source: "Source") -> "NDArray[np.float64]":
    """Return new scores of the columns after the given ones, with the same correlations with all."""
    deviations = scores.std(axis=0)
    scores = (scores - scores.mean(axis=0)) / np.where(deviations > 0, deviations, 1)
    correlations = scores.T @ scores / len(scores)
    known, cross, own = correlations[:given, :given], correlations[given:, :given], correlations[given:, given:]
    slopes = cross @ np.linalg.pinv(known, hermitian=True) if given else cross
    sizes, directions = np.linalg.eigh(own - slopes @ cross.T)
    noise = draw_normal(len(scores) * len(own), source).reshape(len(scores), len(own))
    return np.asarray(
        scores[:, :given] @ slopes.T + noise @ (directions * np.sqrt(np.maximum(sizes, 0))).T, dtype=np.float64
    )
