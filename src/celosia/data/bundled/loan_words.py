"""English loan words as they are written in everyday Spanish, the most common in the example first.

A list for the synthetic corpora of ``celosia.data.bundled.telemetry``: lower-case ASCII letters, at most ten of them,
the limit of a protocol of string fragments. The order is that of their weights there, not of how often people use them.
"""

from typing import Final

LOAN_WORDS: Final = tuple(
    """
    chat email wifi selfie hashtag marketing show online ranking streaming
    web app blog link spam bug chip byte bit clic
    hacker hardware software router tablet laptop smartphone backup firewall driver
    emoji influencer follower like spoiler podcast trailer remake casting hobby
    thriller ticket tour stand staff manager sponsor freelance startup coach
    holding leasing dumping trust boom crash cash bonus lobby stock
    parking camping caravaning hotel bar pub club bingo poker puzzle
    sandwich bacon brunch snack cocktail whisky gin kiwi cupcake muffin
    pudding buffet catering light ketchup burger nugget bistec rosbif ponche
    jersey short legging jeans blazer top look smoking shock stress
    rock pop jazz punk heavy folk soul blues reggae rap
    trap beat single hit fan groupie video playback
    gym fitness running spinning crossfit trekking surf windsurf skate kitesurf
    hockey rugby golf boxeo ring sprint derby penalti corner gol
    box set break tenis smash dribling kickboxing waterpolo voleibol handicap
    rally karting scooter quad airbag ferri yate jet charter resort
    suite lounge glamping
    """.split()  # noqa: SIM905 - a list to read
)
"""The words, from the heaviest to the lightest."""
