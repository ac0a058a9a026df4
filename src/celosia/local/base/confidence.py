"""Ends of score-type confidence intervals of counts.

The error of an estimate depends on the true count, so each end uses the error at that end. A Wald interval uses the
error at the estimate instead; if by chance no holder of a value reports it, that interval is far too short.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def low_ends(raw: "Floats", near: "Floats", far: "Floats") -> "Floats":
    """Return the least counts f with ``raw - f`` within the reach of the estimate above f.

    The reach is ``far`` at a count of 0 and ``near`` at ``raw``; its square falls with that of f in between. The
    equation is then quadratic.
    """
    with np.errstate(all="ignore"):  # a count of 0, or errors beyond all doubles: the other bound applies
        falls = np.maximum(far**2 - near**2, 0.0) / raw**2
        score = (raw - np.sqrt(near**2 + falls * far**2)) / (1 + falls)
    return np.where(raw > 0, np.fmin(raw - near, score), raw - near)


def high_ends(raw: "Floats", near: "Floats", slopes: "Floats | float", most: float) -> "Floats":
    """Return the greatest counts f with ``f - raw`` within the reach of the estimate below f.

    The square of the reach is that of ``near`` at the estimate (clipped to 0 to ``most``), and grows by
    ``slopes`` with each further holder; if it falls instead, it is taken as constant.
    """
    growth = np.maximum(slopes, 0.0)
    beyond = growth**2 / 4 + growth * (raw - np.clip(raw, 0.0, most)) + near**2
    return np.asarray(raw + growth / 2 + np.sqrt(np.maximum(beyond, 0.0)), dtype=np.float64)
