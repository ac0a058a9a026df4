"""Storage of a ledger: tables, SQLAlchemy engines, transactions, forks."""
