"""JSON forms of plans, expressions, previews and releases, and the fingerprint of a query.

``json_fields`` reads untrusted JSON narrowly; the readers of the other modules use it. ``expressions``, ``plan``,
``preview`` and ``release`` are the forms of those values; ``messages`` and ``records`` are parts of them.
``fingerprint`` says when two queries are equal.
"""
