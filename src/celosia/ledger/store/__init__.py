"""Storage of a ledger: tables, SQLAlchemy engines, transactions, forks.

``store`` is the database with one writer at a time: read it first. ``tables`` are the log and what is derived from it,
``engines`` sets up SQLAlchemy, ``statements`` compiles what every query runs, and ``forking`` keeps forks out of
transactions.
"""
