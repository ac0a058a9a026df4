"""Private k-means and fuzzy c-means.

``k_means`` and ``fuzzy_c_means`` are the estimators, and ``base`` what they share. ``start`` finds the first centres,
``passes`` moves them by noisy sums, and ``kernels`` has the compiled loops over records.
"""
