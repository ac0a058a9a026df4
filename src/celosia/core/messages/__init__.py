"""Messages for readers: ``message`` makes them from codes; the sentences of each language are in TOML files."""
