"""Users, keys, bearer tokens of an identity provider, and web sessions."""
