"""Microdata files: k-anonymity and its kin, masking, and the risk of disclosure.

Here will live generalization and suppression, l-diversity and t-closeness, microaggregation, swapping, rounding, and
the measures of risk and loss that go with them. These are *not* differential privacy, and say so: they protect
against stated attackers only. Where a method has a differentially private counterpart, its documentation points there.
"""

__all__: list[str] = []
