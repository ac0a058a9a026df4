"""``celosia collect``: simulations of local protocols, and the choice of one."""
