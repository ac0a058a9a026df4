"""1BitMean: the mean of a bounded counter from one memoised bit per person.

A number at the share x of its interval is rounded up with probability x, and the bit is true with probability
e^epsilon / (e^epsilon + 1): it shows 1 with probability 1/(e^epsilon + 1) + x (e^epsilon - 1)/(e^epsilon + 1), and is
epsilon-private. With a secret, the client draws its threshold of rounding (alpha) and its two answers, for "low" and
for "high", once: a counter that stays on one side of the threshold gives the same bit every day. Ding,
Kulkarni and Yekhanin 2017, with alpha-point rounding over the whole range.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.local.base.estimate import MeanEstimate
from celosia.local.base.memoised import Memo, Memoised, flip_words, reduce_words
from celosia.local.base.packing import Bytes, pack
from celosia.local.means.duchi import BitMean
from celosia.noise.bernoulli import flip_logistic
from celosia.noise.decide import logistic_enclosure
from celosia.noise.keyed import keyed_words
from celosia.noise.uniform import integer_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class OneBitMean(Memoised[MeanEstimate], BitMean):
    """A mean from one bit per person, which repeats for a number that stays.

    Drawn in this order: the threshold, an integer below 2^52 from the client's memo, and then whether the bit is
    true, from the memo of 1 if the number lies above the threshold (in parts of the interval), else of 0. See
    ``celosia.local`` for the parameters.

    >>> from celosia.noise import Seeded
    >>> protocol = OneBitMean(low=0, high=24, epsilon=1)
    >>> reports = protocol.privatize([8.5] * 10_000, source=Seeded(7))
    >>> protocol.aggregate().absorb(reports).estimate()
    MeanEstimate(8.55152 ± 0.26, reports=10000)
    """

    def lifetime_epsilon(self, reports: int, values: int) -> Fraction:
        """Return the epsilon of repeated bits under ``SameChanges``: once for a number that stays, twice if it moves.

        It holds between histories that cross the client's threshold at the same times. It does not hide that a number
        crossed it, nor when: between any two histories no epsilon is finite (``plain_lifetime_epsilon``).

        >>> protocol = OneBitMean(low=0, high=24, epsilon=1)
        >>> protocol.lifetime_epsilon(365, 1), protocol.lifetime_epsilon(365, 100)
        (Fraction(1, 1), Fraction(2, 1))
        """
        _, different = self.exact_history(reports, values)
        return min(different, 2) * self.epsilon

    def sample_one_memoised(self, item: Any, memo: Memo, source: "Source") -> int:  # noqa: ARG002 - an item of encode
        high = integer_below(self.parts, memo("client", 0)) < int(item)
        return int(high == flip_logistic(self.epsilon, 2, memo("value", int(high))))

    def sample_memoised(self, items: "NDArray[np.int64]", secrets: "NDArray[np.uint8]", source: "Source") -> Bytes:
        threshold, _ = reduce_words(keyed_words(self.derive_keys(secrets, "client", 0), 1)[:, 0], self.parts)
        high = threshold < items
        words = keyed_words(self.derive_keys(secrets, "value", high.astype(np.int64)), 1)[:, 0]
        kept, tied = flip_words(words, logistic_enclosure(self.epsilon, 1))
        said = high == kept
        for i in np.flatnonzero(tied).tolist():  # once in 2^64 clients
            said[i] = self.sample_one_memoised(items[i], self.open_memo(bytes(secrets[i])), source)
        return pack([(said, 1)])
