"""The functional mechanism: objectives as polynomials, with noise on their coefficients."""
