"""What the servers of Celosía need of HTTP: limits, headers, problem details, the access log, and worker processes.

``guard`` and ``collector`` build their applications from these layers, which know no data sets, budgets or reports.
"""

__all__: list[str] = []
