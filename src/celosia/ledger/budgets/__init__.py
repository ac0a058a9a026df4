"""Policies, scopes and the state of every budget, derived from the log."""
