"""A federation whose parties are elsewhere: the same plan and the same integers, over a network.

``messages`` and ``node`` know no network: what is asked and answered, and the checks at both ends. ``flower`` carries
the messages, and ``description`` has a federation as a file that the server and every party hold.
"""
