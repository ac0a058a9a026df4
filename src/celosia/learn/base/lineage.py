"""Count the clones and fits of one estimator, and warn when they amount to tuning.

Fitting several clones of one estimator is how models are tuned. Every fit is paid for, and scores on held-out records
are not private, so a warning states it once.
"""

import warnings
from dataclasses import dataclass
from typing import Final

from celosia.core.errors import TuningWarning

_SEVERAL: Final = 2


@dataclass(slots=True)
class Lineage:
    """The number of clones of one estimator and of their fits.

    ``quiet`` suppresses the warning, where a search accounts for all of them.
    """

    fits: int = 0
    warned: bool = False
    quiet: bool = False
    clones: int = 0

    def count_fit(self) -> None:
        """Count one fit of a clone, and warn at the second."""
        self.fits += 1
        self._warn(self.fits >= _SEVERAL)

    def count_clone(self) -> None:
        """Count one clone, and warn at the third: other processes may fit them uncounted."""
        self.clones += 1
        self._warn(self.clones > _SEVERAL)

    def _warn(self, several: bool) -> None:  # noqa: FBT001 - one fact
        if not several or self.warned or self.quiet:
            return
        self.warned = True
        message = (
            "Several clones of one private estimator are fitted: each fit is paid for on its own, and scores on "
            "records that were held out are not private. celosia.learn.PrivateSearchCV accounts for both."
        )
        warnings.warn(message, TuningWarning, stacklevel=6)

    def __reduce__(self) -> "tuple[type[Lineage], tuple[int, bool, bool, int]]":
        # The process that sends a copy elsewhere has warned.
        return Lineage, (self.fits, True, self.quiet, self.clones)
