"""Privacy-loss distributions: grids, convolution and privacy curves, as upper bounds.

``loss_atoms``, ``atoms`` and ``normal`` are the dominating pairs, and ``envelope`` the larger of two profiles. ``grid``
chooses where losses are put, ``discretise`` moves them there, ``convolution`` composes them, and ``curve`` reads
epsilon and delta. ``composition`` is the way through all of it: read it first. ``kernels`` has the compiled sums.
"""
