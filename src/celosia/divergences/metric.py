"""Privacy with respect to any metric between inputs, any radius and any divergence between outputs.

An algorithm is (epsilon_in, epsilon_out)-private if inputs within epsilon_in of each other have outputs within
epsilon_out (definition 2.4 of Estrada Franco 2025; Chatzikokolakis et al. 2013 for metrics). Classical privacy is
radius 1 in the number of differing records and the max divergence. For a mechanism given as a table, one output
distribution per input, the smallest epsilon_out is a maximum over pairs, in both directions since divergences are not
symmetric.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.divergences.distributions.arguments import as_array, as_number, as_order
from celosia.divergences.renyi import max_divergence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_SLACK = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPrivacy:
    """The smallest ``epsilon_out`` at radius ``epsilon_in``, and the pair of inputs (by position) that attains it.

    >>> metric_privacy([[0.75, 0.25], [0.25, 0.75]], [[0, 1], [1, 0]], 1).worst
    (0, 1)
    """

    epsilon_in: float
    epsilon_out: float
    worst: tuple[int, int] | None

    def holds(self, epsilon_out: float) -> bool:
        """Return whether the mechanism is (epsilon_in, ``epsilon_out``)-private.

        >>> metric_privacy([[0.75, 0.25], [0.25, 0.75]], [[0, 1], [1, 0]], 1).holds(1.0)
        False
        """
        return self.epsilon_out <= as_number(epsilon_out, name="epsilon_out", least=0)


def metric_privacy(
    outputs: "Sequence[Any] | NDArray[np.float64]",
    distances: "ArrayLike",
    epsilon_in: float,
    divergence: Callable[[Any, Any], float] = max_divergence,
) -> MetricPrivacy:
    """Return the smallest epsilon_out of a mechanism given by its table.

    ``outputs`` has one distribution per input, in any form that ``divergence`` accepts (rows of probabilities,
    ``Normal``, ``Discrete`` ...); ``distances[i, j]`` is the metric between inputs i and j.

    >>> import functools
    >>> from celosia.divergences import Normal, renyi
    >>> grid = np.arange(4.0)
    >>> outputs = [Normal(x, 1) for x in grid]
    >>> metric_privacy(outputs, abs(grid[:, None] - grid), 2, functools.partial(renyi, order=3)).epsilon_out
    6.0
    """
    radius = as_number(epsilon_in, name="epsilon_in", least=0)
    matrix = as_array(distances, name="distances", dimensions=(2,))
    if not hasattr(outputs, "__len__") or not callable(divergence):
        if not hasattr(outputs, "__len__"):
            raise ParameterError("divergences.outputs_not_a_sequence", outputs=safe_repr(outputs))
        raise ParameterError("divergences.divergence_not_of_outputs", divergence=safe_repr(divergence))
    if len(outputs) == 0 or matrix.shape != (len(outputs), len(outputs)):
        raise ParameterError("divergences.wrong_distances_shape", outputs=len(outputs), shape=matrix.shape)
    if (matrix < 0).any() or (matrix != matrix.T).any() or np.diagonal(matrix).any():
        raise ParameterError("divergences.distances_not_a_metric")
    largest, worst = 0.0, None
    # Distances are rounded: a pair on the rim of the ball is counted in, or privacy would seem better than it is.
    for i, j in np.argwhere((matrix <= radius * (1 + _SLACK)) & ~np.eye(len(matrix), dtype=bool)).tolist():
        value = as_order(divergence(outputs[i], outputs[j]), least=-math.inf, name=f"divergence of inputs {i} and {j}")
        if value > largest or worst is None:
            largest, worst = max(value, largest), (i, j)
    return MetricPrivacy(epsilon_in=radius, epsilon_out=largest, worst=worst)
