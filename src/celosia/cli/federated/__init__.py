"""``celosia federated``: one model from the records of several parties."""
