"""The floating-point attack: the low-order bits of an output reveal its input.

Textbook samplers reach only some of the doubles, and a different set of them for each true value: Laplace by the
inverse of a float's logarithm gives away its input in the low-order bits (Mironov, *On Significance of the Least
Significant Bits for Differential Privacy*, 2012), and so does the Gaussian by Box–Muller or any sampler whose precision
depends on the magnitude (Haney et al., *Precision-based Attacks and Interval Refining*, 2022). A mechanism on an
integer grid releases integer numbers of steps whatever the input, so its low-order bits reveal nothing.
"""

from typing import Any

from celosia.audit.distinguish import Distinction, compare
from celosia.audit.draws import Runner, gather, repeat
from celosia.core import Mechanism, Source
from celosia.core.exact import exact_integer
from celosia.noise import Seeded


def low_order_bits(
    mechanism: Mechanism | Runner,
    a: Any = 0.0,
    b: Any = 1.0,
    *,
    samples: int = 100_000,
    delta: float = 0.0,
    failure: float = 1e-6,
    source: Source | None = None,
) -> Distinction:
    """Return the lower bound on epsilon that the low-order bits of the outputs alone support.

    Integer outputs have no such bits: the bound is then 0. A small bound is evidence, never a proof.

    >>> import numpy as np
    >>> def textbook(value, count, source):
    ...     uniform = (source.words(count) >> np.uint64(11)) * 2.0**-53 - 0.5
    ...     return value - np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
    >>> low_order_bits(textbook, samples=20_000).epsilon > 3
    True
    """
    exact_integer(samples, name="samples", least=4)
    source = Seeded(0) if source is None else source
    runner = repeat(mechanism) if isinstance(mechanism, Mechanism) else mechanism
    first, second = gather(runner(a, samples, source)), gather(runner(b, samples, source))
    return compare(first, second, a, b, delta=delta, failure=failure, families="low-order bits")
