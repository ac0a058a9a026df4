"""Compositions of privacy-loss distributions on one grid, with a bound on what Fourier transforms lose.

Losses of a composition add, so distributions convolve; Google's dp-accounting raises the transform to the power of the
number of repetitions. A transform errs by about the same in every cell, which would drown a tail of 10^-10 after many
repetitions. So the distributions are tilted first (each mass times ``exp(tilt * loss)``), which commutes with
convolution and puts the precision where delta is read off; afterwards the bound of the error is added to every cell.
Koskela, Jälkö and Honkela 2020 (transforms), Higham 2002 (their error); proofs/loss-distributions.md has the argument.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from celosia.accounting.checks import Array
from celosia.accounting.pld.discretise import Cells

_UNIT = 2.0**-53
_PER_STEP = 2.0**-46  # relative: rounding of a mass on the grid, of its tilt and of the sum that it is divided by
_TAIL = 1e-20  # of the tilted distribution: mass that the window of a transform may leave out
_MAX_MOVED = 1e-13  # of the tilted distribution: mass that a cut of the lower end may add
_MAX_MOVED_ONCE = 1e-19  # the same for a single step, which may be repeated
_MAX_CUT = 1e-24  # of the plain distribution: mass that a cut of the upper end may put at infinity
_MIN_MASS = 1e-300  # a distribution with no more has everything at infinity
_MAX_FACTOR = 1e290  # factors beyond which products with masses would overflow
_MAX_BLUR = 0.01  # errors summed from above reach this: the cells below are useless


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class _TiltedMasses:
    """Masses times ``exp(tilt * loss - log_scale)``, each at most ``error`` too small."""

    first: int
    masses: Array
    error: float
    log_scale: float
    lost: float  # mass of the plain distribution above the last cell, counted at infinity
    rounding: float  # relative error of each mass, as a logarithm

    def plain(self, slope: float, index: Array) -> Array:
        """Return the factors that undo the tilt of the cells ``first + index``."""
        return np.exp(np.minimum(self.log_scale - slope * (self.first + index), 700.0))


def convolve(parts: Sequence[tuple[Cells, int]], tilt: float) -> Cells:
    """Return a distribution that dominates the composition of all parts, each repeated a number of times."""
    interval = parts[0][0].interval
    infinity = -math.expm1(math.fsum(times * math.log1p(-min(cells.infinity, 1.0 - _UNIT)) for cells, times in parts))
    if any(not cells.masses.sum() > _MIN_MASS for cells, _ in parts):
        return Cells(interval=interval, first=0, masses=np.zeros(1), infinity=1.0)
    slope = tilt * interval
    laws = [_repeated(cells, times, slope) for cells, times in parts]
    while len(laws) > 1:  # in rounds, so that many kinds meet while they are still short
        laws = [_join(laws[k : k + 2], slope) for k in range(0, len(laws), 2)]
    return _untilt(laws[0], slope, interval, infinity)


def _repeated(cells: Cells, times: int, slope: float) -> _TiltedMasses:
    """Tilt a distribution and compose it with itself."""
    from dp_accounting.pld.common import self_convolve

    once = _tilt(cells, slope)
    if times == 1:
        return once
    padded = _pad(once.masses, times)
    with np.errstate(all="ignore"):
        offset, found = self_convolve(padded, times, _TAIL)
    window = len(found)
    reach = times * (len(once.masses) - 1) + 1 - int(offset)  # the zeros that were appended reach further
    found = found[:reach]
    result = _TiltedMasses(
        first=times * once.first + int(offset),
        masses=np.maximum(found, 0.0),
        error=_power_error(padded, window, times),
        log_scale=times * once.log_scale,
        lost=min(1.0, times * once.lost),
        rounding=times * once.rounding,
    )
    beyond = 2 * _TAIL * float(result.plain(slope, np.array([window]))[0]) if reach > window else 0.0
    return _trim(replace(result, lost=min(1.0, result.lost + beyond)), slope, _MAX_MOVED)


def _tilt(cells: Cells, slope: float) -> _TiltedMasses:
    """Tilt a distribution; negligible mass at its lower end moves up, at its upper end to infinity."""
    exponent = slope * np.arange(cells.first, cells.first + len(cells.masses), dtype=np.float64)
    peak = float(exponent[cells.masses > 0].max())
    masses = cells.masses * np.exp(np.minimum(exponent - peak, 0.0))
    low = int(np.searchsorted(np.cumsum(masses), _MAX_MOVED_ONCE * masses.sum()))
    masses[low] += float(cells.masses[:low].sum()) * math.exp(exponent[low] - peak)
    total = float(masses[low:].sum())
    tilted = _TiltedMasses(
        first=cells.first + low,
        masses=masses[low:] / total,
        error=0.0,
        log_scale=peak + math.log(total),
        lost=0.0,
        rounding=_PER_STEP + 8 * _UNIT * float(np.abs(exponent[[low, -1]]).max()),
    )
    return _trim(tilted, slope, _MAX_MOVED_ONCE)


def _pad(masses: Array, times: int) -> Array:
    """Append zeros: dp-accounting looks for its window at orders 1 to 20 over the length of the list."""
    index = np.arange(len(masses), dtype=np.float64)
    mean = float(index @ masses)
    spread = math.sqrt(float(np.square(index - mean) @ masses) * times)
    return np.pad(masses, (0, max(0, math.ceil(min(spread, 2.0**24)) - len(masses))))


def _power_error(masses: Array, cells: int, times: int) -> float:
    """Bound the error of every cell of ``ifft(fft(masses)**times)``, transforms of the length that dp-accounting takes.

    A transform of numbers that sum to 1 errs by at most 8 units of rounding a level at every frequency; a power
    multiplies that by ``times * |X|^(times - 1)`` and adds the error of the complex power itself; the way back averages
    over all frequencies.
    """
    from scipy import fft

    length = fft.next_fast_len(max(cells, len(masses)))
    level = 8 * _UNIT * (math.log2(length) + 1)
    size = np.abs(fft.rfft(masses, length)) + 2 * level
    with np.errstate(under="ignore", over="ignore"):
        below = np.exp(np.minimum((times - 1) * np.log(size), 700.0))
        power = below * np.minimum(size, 1.0)
        each = times * level * below + _UNIT * (16 * times * power + 4 * np.sqrt(power)) + 2 * level * power
    return 2 * float(each.sum()) / length + _TAIL  # twice: the other half of the frequencies; and what wrapped around


def _join(laws: list[_TiltedMasses], slope: float) -> _TiltedMasses:
    """Convolve two distributions, or leave one as it is."""
    from scipy.signal import fftconvolve

    if len(laws) == 1:
        return laws[0]
    one, other = laws
    masses = np.maximum(fftconvolve(one.masses, other.masses), 0.0)
    level = 8 * _UNIT * (math.log2(len(masses)) + 2)
    sums = [float(part.masses.sum()) + part.error * len(part.masses) for part in (one, other)]
    norms = [math.sqrt(float(part.masses @ part.masses)) for part in (one, other)]
    transforms = 2 * level * (sums[0] * norms[1] + sums[1] * norms[0] + norms[0] * norms[1])
    both = _TiltedMasses(
        first=one.first + other.first,
        masses=masses,
        error=one.error * sums[1] + other.error * sums[0] + transforms,
        log_scale=one.log_scale + other.log_scale,
        lost=min(1.0, one.lost + other.lost),
        rounding=one.rounding + other.rounding + 8 * _UNIT,
    )
    return _trim(both, slope, _MAX_MOVED)


def _trim(part: _TiltedMasses, slope: float, moved: float) -> _TiltedMasses:
    """Cut both ends where the mass is negligible, errors included.

    Both cuts move losses up: at the upper end to infinity, at the lower end to the lowest cell that is kept, as long as
    that adds at most ``moved`` to the tilted distribution.
    """
    size = len(part.masses)
    plain = part.plain(slope, np.arange(size, dtype=np.float64))
    if plain[0] > _MAX_FACTOR:
        return part
    most = (part.masses + part.error) * plain
    with np.errstate(divide="ignore", over="ignore"):  # a factor may be too small for a double: no cut goes that far
        raised = np.cumsum(most)[:-1] / plain[1:]
    low = int(np.searchsorted(raised, moved))
    above = np.cumsum(most[::-1])
    cut = int(np.searchsorted(above[: size - low - 1], _MAX_CUT))
    masses = part.masses[low : size - cut].copy()
    if low > 0:
        masses[0] += raised[low - 1] * (1 + 1e-9)
    lost = part.lost + (float(above[cut - 1]) * (1 + 1e-9) if cut > 0 else 0.0)
    return replace(part, first=part.first + low, masses=masses, lost=min(1.0, lost))


def _untilt(part: _TiltedMasses, slope: float, interval: float, infinity: float) -> Cells:
    """Undo the tilt, add the errors, and bring the sum to 1: at its lower end, so that every upper tail is a bound."""
    largest = slope * (abs(part.first) + len(part.masses)) + abs(part.log_scale)
    inflation = math.exp(min(700.0, part.rounding + 16 * _UNIT * largest))
    with np.errstate(over="ignore"):
        factor = np.minimum(part.plain(slope, np.arange(len(part.masses), dtype=np.float64)) * inflation, _MAX_FACTOR)
        blur = np.cumsum((factor * part.error)[::-1])
        start = len(factor) - max(1, int(np.searchsorted(blur, _MAX_BLUR)))
        # Where the factor is beyond the doubles nothing is known either; such cells are the lowest ones.
        start = min(max(start, int(np.count_nonzero(factor >= _MAX_FACTOR))), len(factor) - 1)
        masses = factor[start:] * (part.masses[start:] + part.error)
    lost = min(1.0, (infinity + part.lost) * (1 + 1e-9))
    above = np.cumsum(masses[::-1])[::-1]
    lowest = max(0, int(np.count_nonzero(above >= 1.0 - lost)) - 1)
    kept = masses[lowest:].copy()
    kept[0] = max(0.0, 1.0 - lost - (float(above[lowest + 1]) if lowest + 1 < len(above) else 0.0))
    return Cells(interval=interval, first=part.first + start + lowest, masses=kept, infinity=lost)
