"""The engines that read private rows: DuckDB, PostgreSQL and Spark, each through Ibis.

``base`` is the interface of engines and ``ibis`` what they share; ``duckdb``, ``postgres`` and ``spark`` are the
engines, and ``registry`` selects one for the tables of a session. ``duckdb_views`` and the package ``sanitize`` read
files, and ``postgres_compiler`` extends Ibis. ``collations`` and ``readability`` check tables for their owner.
"""
