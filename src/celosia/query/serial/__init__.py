"""JSON forms of plans, expressions, previews and releases, and the fingerprint of a query."""
