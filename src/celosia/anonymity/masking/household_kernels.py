"""Random partners for households, from another area and with the same profile."""

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit("void(int64[::1], int64[::1], int64[::1], boolean[::1], float64[::1], int64, int64[::1])", cache=True)
def pair_households(  # noqa: C901 - one pass, with lists that are kept up to date
    order: "NDArray[np.int64]",
    groups: "NDArray[np.int64]",
    areas: "NDArray[np.int64]",
    wanted: "NDArray[np.bool_]",
    draws: "NDArray[np.float64]",
    most: int,
    partners: "NDArray[np.int64]",
) -> None:
    """Give each wanted household of a group without a partner a random one of another area, ``most`` pairs at most.

    ``order`` lists the households sorted by group, then by area, then at random; ``groups`` and ``areas`` are those of
    each household. Households that have a partner already are left out; ``partners`` gets the new ones.
    """
    total = order.size
    spots = np.empty(total, dtype=np.int64)  # where each household is in the next list
    free = np.empty(total, dtype=np.int64)  # the free households of each block of one group and area, one after another
    begin = 0
    while begin < total and most:
        end = begin
        while end < total and groups[order[end]] == groups[order[begin]]:
            end += 1
        starts, sizes = np.zeros(end - begin, dtype=np.int64), np.zeros(end - begin, dtype=np.int64)
        blocks, available = 0, 0
        for place in range(begin, end):
            if place == begin or areas[order[place]] != areas[order[place - 1]]:
                starts[blocks] = place
                blocks += 1
            if partners[order[place]] < 0:
                spots[order[place]] = starts[blocks - 1] + sizes[blocks - 1]
                free[spots[order[place]]] = order[place]
                sizes[blocks - 1] += 1
                available += 1
        own = 0
        for place in range(begin, end):
            household = order[place]
            while own + 1 < blocks and place >= starts[own + 1]:
                own += 1
            room = available - sizes[own]
            if not wanted[household] or partners[household] >= 0 or room == 0 or most == 0:
                continue
            chosen = min(room - 1, np.int64(draws[household] * room))
            other = 0
            while other == own or chosen >= sizes[other]:
                if other != own:
                    chosen -= sizes[other]
                other += 1
            partner = free[starts[other] + chosen]
            partners[household], partners[partner] = partner, household
            for gone, block in ((household, own), (partner, other)):
                last = free[starts[block] + sizes[block] - 1]
                free[spots[gone]], spots[last] = last, spots[gone]
                sizes[block] -= 1
            available -= 2
            most -= 1
        begin = end
