"""Projected noisy stochastic gradient descent that releases only the last weights.

``pnsgd`` has the estimators for least squares and classification, and ``model`` what they share. ``unit_rows`` scales
records, ``noisy_descent`` runs the steps, and ``price`` finds the guarantee of a run or the noise for a target.
"""
