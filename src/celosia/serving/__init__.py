"""What the servers of Celosía need of HTTP: limits, headers, problem details, pages, the access log, and workers.

``guard`` and ``collector`` build their applications from these layers, which know no data sets, budgets or reports.
"""

__all__: list[str] = []
