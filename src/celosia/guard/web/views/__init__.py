"""One module for each page: data sets, queries, answers, budgets, users, the log, signing in."""
