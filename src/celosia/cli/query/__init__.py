"""``celosia query``, ``limits`` and ``schema``: private queries of files and databases."""
