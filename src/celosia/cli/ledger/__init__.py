"""``celosia ledger``: budgets, spending and verification."""
