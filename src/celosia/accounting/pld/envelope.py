"""The larger of two privacy profiles, as a pair again.

As a function of e^epsilon a profile is convex and, for finitely many losses, made of straight pieces that bend at the
losses. So is the larger of two: it bends where the larger one bends and where they cross. The slope is minus what Q has
above, so that a bend of a known size is a loss of a known probability (Zhu, Dong and Wang 2022).
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from celosia.accounting.checks import Array
    from celosia.accounting.pld.loss_atoms import Atoms

_TIE = 1e-13  # relative: profiles that differ by less differ by rounding


def envelope(first: "Atoms", second: "Atoms") -> "tuple[Array, Array]":
    """Return the losses of the larger profile and the logarithms of their probabilities under P.

    Losses below 0 are found from the other side: there profiles of (P, Q) are 1 but for what doubles cannot hold, while
    those of (Q, P) have all their digits.
    """
    zero, back, other = np.zeros(1), first.swap(), second.swap()
    # At 0 both sides have one height but for rounding; they must agree on it, or the profiles would cross twice.
    first_start = np.maximum(_heights(first, zero), _heights(back, zero))
    second_start = np.maximum(_heights(second, zero), _heights(other, zero))
    up, up_logs, right = _above(first, second, first_start, second_start)
    down, down_logs, left = _above(back, other, first_start, second_start)
    bend = [float(np.exp(_masses(pair, zero))[0]) for pair in (first, second)][left]
    if left != right:
        matched = [float(_match(pair, zero)[0]) for pair in (first, second)]
        bend = max(bend + matched[left] - matched[right], 0.0)
    with np.errstate(divide="ignore"):
        middle = np.log([bend])
    return np.concatenate([-down[::-1], zero, up]), np.concatenate([(down_logs - down)[::-1], middle, up_logs])


def _above(first: "Atoms", second: "Atoms", first_start: "Array", second_start: "Array") -> "tuple[Array, Array, int]":
    """Return the losses above 0, the logarithms of their probabilities under P, and which is larger just above 0."""
    kinks = np.union1d([0.0], np.maximum(np.concatenate([first.losses, second.losses]), 0.0))
    starts = ((first, first_start), (second, second_start))
    heights = [np.append(start, _heights(pair, kinks)[1:]) for pair, start in starts]
    kinks = np.union1d(kinks, _crossings(kinks, *heights))
    heights = [np.append(start, _heights(pair, kinks)[1:]) for pair, start in starts]
    right = _winners(*heights, by_infinity=first.infinity < second.infinity)  # of the piece above each kink
    left, right, at = right[:-1], right[1:], np.arange(1, kinks.size)
    masses = np.array([_masses(pair, kinks) for pair in (first, second)])
    matched = np.array([_match(pair, kinks) for pair in (first, second)])
    with np.errstate(divide="ignore"):
        bends = np.log(np.maximum(np.exp(masses[left, at]) + matched[left, at] - matched[right, at], 0.0))
    lowest = int(left[0]) if left.size else int(first.infinity < second.infinity)
    return kinks[1:], np.where(left == right, masses[left, at], bends), lowest


def _heights(pair: "Atoms", kinks: "Array") -> "Array":
    from celosia.accounting.pld.kernels import atoms_profile

    return atoms_profile(pair.losses, pair.log_masses, pair.infinity, kinks)


def _match(pair: "Atoms", kinks: "Array") -> "Array":
    """Return e^kink Q(loss > kink): the difference between P's mass above and the profile."""
    from celosia.accounting.pld.kernels import match_atoms

    return match_atoms(pair.losses, pair.log_masses, kinks)


def _masses(pair: "Atoms", kinks: "Array") -> "Array":
    logs = np.full(kinks.size, -np.inf)
    known = np.isin(pair.losses, kinks)
    logs[np.searchsorted(kinks, pair.losses[known])] = pair.log_masses[known]
    return logs


def _crossings(kinks: "Array", first: "Array", second: "Array") -> "Array":
    """Return where two profiles cross between kinks: each is a straight line there, as a function of e^epsilon."""
    gap = _gap(first, second)
    here = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    share = np.abs(gap[here]) / (np.abs(gap[here]) + np.abs(gap[here + 1]))
    width = kinks[here + 1] - kinks[here]
    # ln(1 + share (e^width - 1)), with e^width taken out: a piece may be very long.
    found: Array = np.clip(kinks[here + 1] + np.log1p((1 - share) * np.expm1(-width)), kinks[here], kinks[here + 1])
    return found


def _gap(first: "Array", second: "Array") -> "Array":
    gap = first - second
    return np.where(np.abs(gap) <= _TIE * (first + second), 0.0, gap)


def _winners(first: "Array", second: "Array", *, by_infinity: bool) -> "Array":
    """Return 0 or 1 for each kink: which profile is larger on the piece above it; ties go with the piece above them."""
    gap = _gap(first, second)
    above = np.append(gap[1:], 0.0)
    signs = np.where(np.abs(gap) > np.abs(above), gap, above)
    winners = np.where(signs < 0, 1, 0)
    known = np.where(signs != 0, np.arange(signs.size), signs.size)
    nearest = np.minimum.accumulate(known[::-1])[::-1]
    return np.where(nearest < signs.size, winners[np.minimum(nearest, signs.size - 1)], int(by_infinity))
