"""The expected error of a private line: fits to expected moments with seeded noise, and the sampling error.

Features are supposed to spread evenly between their bounds, and slopes to move the target over its range.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.learn.base.forecast import ExpectedError
from celosia.learn.linear_model.least_squares import Moments, expected_sums
from celosia.noise.source import Seeded
from celosia.statistics.base.products import Products
from celosia.statistics.base.summary_request import Provenance

if TYPE_CHECKING:
    from celosia.learn.base.fit_spec import FitSpec

Numbers = NDArray[np.float64]

_DRAWS: Final = 64
_RESIDUAL: Final = 0.2  # the supposed residual, in half ranges of the target


def expect_line_error(
    model: Any, spec: "FitSpec", rows: int, *, ranges: Numbers, origin: Numbers | None, penalty: Numbers
) -> ExpectedError:
    """Return the expected error of a coefficient; ``ranges`` are the middles and half ranges of the columns."""
    units = ranges[-1, 1] / ranges[:-1, 1]
    errors: Any = 0.0
    noise_scale = 0.0
    if spec.privacy.private:
        errors, noise_scale = _expected_errors(model, spec, rows, units, origin, penalty)
    sampling = 3 * _RESIDUAL**2 / rows * units**2
    return ExpectedError(
        error=float(np.sqrt(np.mean(errors + sampling))),
        noise_scale=noise_scale,
        what="a coefficient",
        assumption="features spread evenly between their bounds, a line in them, and residuals of a tenth of the "
        "target's range",
    )


def _expected_errors(
    model: Any, spec: "FitSpec", rows: int, units: Numbers, origin: Numbers | None, penalty: Numbers
) -> tuple[Any, float]:
    """Return the mean squared error of each coefficient over draws of the noise, and the noise of one product."""
    values = rows * _expected_moments(len(spec.features), origin)
    request = model.build_request(spec)
    measure = request.parts[0].measure
    assert isinstance(measure, Products)  # noqa: S101 - for the type checker: all methods sum products
    exact, source = request.combine([expected_sums(measure, values)]), Seeded(0)
    plain = Moments(values=values, variance=np.zeros_like(values)).fit(through=origin, penalty=penalty)
    twin, provenance = type(model)(**model.get_params(deep=False)), Provenance(seeded=True)
    found = [twin.finish_fit(request.release(exact, source), request, provenance).coef_ for _ in range(_DRAWS)]
    errors = np.mean((np.array(found) - plain.slopes * units) ** 2, axis=0)
    return errors, float(twin.noise_scale_)


def _expected_moments(count: int, origin: Numbers | None) -> Numbers:
    """Return the supposed moments of one row of (1, features, target).

    Features are spread evenly and independent; their slopes together move the target over its range. The line goes
    through ``origin`` if it is given and lies within the bounds.
    """
    slopes = np.where(np.arange(count) % 2, -1.0, 1.0) / (2 * count**0.5)
    height = 0.0 if origin is None else min(max(float(origin[-1] - slopes @ origin[:-1]), -1.0), 1.0)
    values = np.diag(np.concatenate([[1.0], np.full(count, 1 / 3), [float(slopes @ slopes) / 3 + _RESIDUAL**2]]))
    values[1:-1, -1] = values[-1, 1:-1] = slopes / 3
    values[0, -1] = values[-1, 0] = height
    values[-1, -1] += height**2
    return values
