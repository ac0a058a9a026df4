"""Queries as they are sent to the guard, their analysis, and the timing of their answers."""
