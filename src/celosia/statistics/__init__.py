"""Count, sum, mean, variance, histogram, mode, quantiles: from exact summary to noisy answer.

Here will live one small file per statistic: which exact integer summary it needs from an engine, how far one person
can move it, and which mechanism answers. A statistic is private because the summary never leaves the function that
noises it; what comes back is a ``Release`` with its event, guarantee and error bar.
"""

__all__: list[str] = []
