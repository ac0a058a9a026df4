"""The configuration of a guard: settings with their defaults, and the TOML file that holds them.

``settings`` is the whole configuration and ``sections`` its parts (limits, identity provider); ``file`` reads and
writes the TOML file.
"""
