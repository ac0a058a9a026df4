"""The append-only log and its chain of hashes.

``chain`` hashes each line with the one before, ``lines`` appends and reads lines in the store, and ``bodies`` parses
what is in them, quickly.
"""
