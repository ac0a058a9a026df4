"""``celosia anonymity``: plan, apply, measure, report and attack the release of a file of records."""
