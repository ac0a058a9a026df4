"""Drafts of schemas: suggestions from names and types, and the owner's answers."""
