"""The HTTP privacy guard: analysts ask, the guard answers with noise or not at all.

Here will live the FastAPI application that stands between analysts and a database: accounts, budgets, policies, the
query page, and the JSON API. It is private because it holds no path to the data except :mod:`celosia.query`, which
reserves the cost in the :mod:`celosia.ledger` before it touches a row, and because its errors and timings speak of the
query and the schema, never of the data.
"""

__all__: list[str] = []
