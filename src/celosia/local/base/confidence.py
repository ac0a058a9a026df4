"""The ends of confidence intervals of counts: the counts at which what was estimated would not be surprising.

Both ends are of score type: the error of an estimate depends on the true count, so each end is judged by the error that
it would bring itself. A Wald interval takes the error at the estimate instead; where no holder of a value happens to be
heard, it is far too short.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def low_ends(raw: "Floats", near: "Floats", far: "Floats") -> "Floats":
    """Return the least counts f with ``raw - f`` at most as far as the estimate reaches above f.

    The reach is ``far`` at a count of 0 and ``near`` at ``raw``; its square falls with that of f in between. The
    equation is then quadratic.
    """
    with np.errstate(all="ignore"):  # a count of 0, or errors beyond all doubles, where the other bound is taken
        falls = np.maximum(far**2 - near**2, 0.0) / raw**2
        score = (raw - np.sqrt(near**2 + falls * far**2)) / (1 + falls)
    return np.where(raw > 0, np.fmin(raw - near, score), raw - near)


def high_ends(raw: "Floats", near: "Floats", slopes: "Floats | float", most: float) -> "Floats":
    """Return the greatest counts f with ``f - raw`` at most as far as the estimate reaches below f.

    The square of the reach is that of ``near`` at the estimate (cut to what is possible, 0 to ``most``), and grows by
    ``slopes`` with each further holder; where it falls instead, it is taken to stay.
    """
    growth = np.maximum(slopes, 0.0)
    beyond = growth**2 / 4 + growth * (raw - np.clip(raw, 0.0, most)) + near**2
    return np.asarray(raw + growth / 2 + np.sqrt(np.maximum(beyond, 0.0)), dtype=np.float64)
