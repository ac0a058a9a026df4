"""The guard's own tables in the ledger's database, and the check that they agree with the log."""
