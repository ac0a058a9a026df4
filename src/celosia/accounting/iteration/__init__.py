"""Amplification by iteration: contractions with noise, and projected noisy gradient descent.

``contraction`` has the iterations and their prices: read it first. ``allocation`` spreads distances over noises,
``pnsgd`` prices gradient descent, and ``simulation`` shows the theorems at work.
"""
