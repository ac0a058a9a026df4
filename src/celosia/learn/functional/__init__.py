"""The functional mechanism: objectives as polynomials, with noise on their coefficients.

``functional_mechanism`` is the estimator. ``polynomial`` and ``objective`` describe a loss, ``coefficients`` sums it
over the records, and ``control_points`` and ``row_sensitivities`` bound how far one record moves the sums.
``stretched`` and ``sums`` do the same for the two classic losses with sums that an engine makes.
"""
