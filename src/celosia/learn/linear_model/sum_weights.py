"""The weights of the sums of least squares: how one joint noise is divided among them.

A sum of twice the weight has half the noise, and one row moves all sums together further. The products of the
features with the target have weight 1. The others are chosen for slopes of about 1/2, over many data sets, by what
moves noise: lengths in L1 for Laplace noise, in L2 for Gaussian noise. Rows that are replaced are furthest apart at
corners, where squares are the same: there squares cost nothing until their weight is that of the products beside them.
"""

from typing import Literal

from celosia.statistics.base.products import Products

Sort = Literal["count", "feature", "target", "pair", "cross", "squared_feature", "squared_target"]
Norm = Literal[1, 2]

_UNIT = 2**35  # how far a weight of 1 reaches: tens of millions of rows stay below 2^62
MOST_COUNT = 2 * _UNIT
"""The largest weight of the count, which needs no more."""


def choose_steps(products: Products, norm: Norm, *, replaced: bool) -> tuple[int, ...]:
    """Return the integer weight of each sum, the target being the last column."""
    features = len(products.columns) - 1
    weights = _choose_weights(features, norm, replaced=replaced)
    return tuple(
        max(1, round(_UNIT * weights[find_sort(monomial, features)] / size))
        for monomial, size in zip(products.monomials, products.largest, strict=True)
    )


def _choose_weights(features: int, norm: Norm, *, replaced: bool) -> dict[Sort, float]:
    """Return the weight of each sort of sums; that of pairs is less, the more of them there are."""
    found: dict[Sort, float] = {"count": 0.75, "cross": 1.0}
    if norm == 1:
        return found | {
            "feature": 0.72 / features ** (1 / 3),
            "target": min(0.6 + features / 6, 4.0),
            "pair": 1 / features**0.5,
            "squared_feature": 0.45 / features**0.5,
            "squared_target": 0.3,
        }
    if replaced:
        target = min(0.85 + features / 12, 3.0)
        return found | {
            "feature": 1 / features**0.25,
            "target": target,
            "pair": 0.87 / features**0.25,
            "squared_feature": 0.68,
            "squared_target": 0.43 * target,
        }
    return found | {
        "feature": (0.3 / features) ** 0.25,
        "target": min(1 + features / 10, 3.0),
        "pair": 0.85 / features**0.25,
        "squared_feature": min((2 / features) ** 0.25, 1.0) / 2,
        "squared_target": 0.45,
    }


def find_sort(monomial: tuple[int, ...], last: int) -> Sort:
    """Return which sort of sum a product of columns is; ``last`` is the target's column."""
    if not monomial:
        return "count"
    if len(monomial) == 1:
        return "target" if monomial[0] == last else "feature"
    if is_square(monomial):
        return "squared_target" if monomial[0] == last else "squared_feature"
    return "cross" if monomial[1] == last else "pair"


def is_square(monomial: tuple[int, ...]) -> bool:
    """Return whether a product is that of a column with itself."""
    return len(monomial) == 2 and monomial[0] == monomial[1]
