"""The engines that read private rows: DuckDB, PostgreSQL and Spark, each through Ibis."""
