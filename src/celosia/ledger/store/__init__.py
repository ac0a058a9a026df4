"""Where a ledger is stored: tables, SQLAlchemy engines, transactions, forks."""
