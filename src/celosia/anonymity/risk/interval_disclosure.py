"""Interval disclosure: how many values the masked ones tell within a small interval.

A masked value that is close to the true one discloses it, whether or not the person is known. The interval is around
the masked value, in standard deviations of the original column. Mateo-Sanz, Sebé and Domingo-Ferrer 2004.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from celosia.anonymity.microdata import Microdata
from celosia.anonymity.microdata.figures import is_number
from celosia.anonymity.risk.nearest import find_originals, is_numeric
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr


def measure_interval_disclosure(
    original: Microdata, masked: Microdata, columns: Iterable[str] | None = None, *, width: float = 0.01
) -> Mapping[str, float]:
    """Return for each numeric column the share of values within an interval around the masked value.

    Parameters
    ----------
    original, masked
        The file before and after masking.
    columns
        Numeric columns; by default the numeric quasi-identifiers and sensitive columns.
    width
        Half the width of the interval, in standard deviations of the original column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> original = read_microdata(pa.table({"age": [20, 30, 60]}), roles=Roles(quasi_identifiers=["age"]))
    >>> masked = original.replace_columns({"age": pa.array([20, 35, 60])})
    >>> round(measure_interval_disclosure(original, masked)["age"], 4)
    0.6667
    """
    if not is_number(width) or not 0 < width < np.inf:
        raise ParameterError("anonymity_risk.not_a_width", value=safe_repr(width))
    roles = original.roles
    usual = [name for name in (*roles.quasi_identifiers, *roles.sensitive) if is_numeric(original, name)]
    names = tuple(usual if columns is None else columns)
    places = find_originals(original, masked)
    shares = {}
    for name in names:
        before, after = original.get_numbers(name)[places], masked.get_numbers(name)
        near = np.abs(before - after) <= width * np.nanstd(original.get_numbers(name))
        known = ~np.isnan(before)
        shares[name] = float(near[known].mean()) if known.any() else 0.0
    return shares
