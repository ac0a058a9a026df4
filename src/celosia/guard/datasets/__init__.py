"""Data sets: where their rows are, their declared schemas, their budgets, and what users see of them."""
