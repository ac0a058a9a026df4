"""The append-only log and its chain of hashes."""
