"""``celosia guard``: set up and serve a guard; users, data sets and budgets."""
