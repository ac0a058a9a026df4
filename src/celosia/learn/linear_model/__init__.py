"""Linear, ridge and logistic regression.

``linear`` has the estimators of least squares: ``least_squares`` plans and solves the sums with the weights of
``sum_weights``, ``adassp`` is the published alternative, ``coefficient_intervals`` and ``linear_forecast`` give errors.
``logistic`` has logistic regression: ``gradient_plan`` is what its noisy gradient descent measures and costs,
``noisy_gradient`` runs it with the loops of ``gradient_kernels``, ``objective_perturbation`` is the alternative, and
``logistic_forecast`` gives errors.
"""
