"""The cost and the expected error of a fit, computed before anything is spent or read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedError:
    """The part of a forecast that an estimator computes: the error of ``what``, and the noise behind it."""

    error: float
    noise_scale: float
    what: str
    assumption: str
    method: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The guarantee, the noise, and the expected error of a fit.

    ``error`` is the expected error of ``what`` (say, of one coefficient, in the caller's units; the root of the mean
    square over draws of the noise), for ``rows`` rows; ``assumption`` is what is supposed about unseen
    data; ``method`` which of several methods was chosen, and why.

    >>> from celosia import PureDP
    >>> print(Forecast(
    ...     rows=1000, guarantee=PureDP(epsilon=1), noise_scale=4.5, error=0.12, what="a coefficient",
    ...     assumption="features spread evenly between their bounds",
    ... ))
    With 1000 rows and PureDP(epsilon=1): a coefficient is off by about 0.12, supposing features spread evenly between
    their bounds.
    """

    rows: int
    guarantee: "Guarantee | None"
    noise_scale: float
    error: float
    what: str
    assumption: str
    method: str = ""

    def __str__(self) -> str:
        guarantee = "no privacy" if self.guarantee is None else repr(self.guarantee)
        return (
            f"With {self.rows} rows and {guarantee}: {self.what} is off by about {self.error:.3g}, supposing "
            f"{self.assumption}.{' ' if self.method else ''}{self.method}"
        )
