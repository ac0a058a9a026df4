"""Contribution bounds, measures, the noise of a summary, and its confidence intervals.

Read ``noise`` first: contribution bounds, the sensitivity that follows, and the noise for it. ``measure`` and
``choice`` are the bases of all statistics, those that sum and those that choose. ``target`` is the privacy target of a
release; ``products`` and ``summary_request`` are what estimators ask for. ``tails`` and ``noise_sums`` give the
quantiles of sums of noises.
"""
