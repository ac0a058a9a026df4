"""Private SQL and dataframe queries on DuckDB, PostgreSQL and Spark.

Here will live the session, the plan, and the compilers: a query is parsed, checked against the schema, rewritten to
bound what one person contributes, and sent to the engine, which returns exact integer summaries and no rows. Answers
are private because noise is added to those summaries by :mod:`celosia.statistics` after the cost was reserved in the
:mod:`celosia.ledger`. Engines are reached through Ibis.
"""

__all__: list[str] = []
