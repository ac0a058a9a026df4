"""How far apart two distributions are: the measures in which privacy is stated.

Here will live Kullback-Leibler, Rényi, max and hockey-stick divergence, Wasserstein distance and the shifted Rényi
divergence, between finite distributions and between the families that mechanisms draw from. Nothing here sees data:
the arguments are probabilities.
"""

__all__: list[str] = []
