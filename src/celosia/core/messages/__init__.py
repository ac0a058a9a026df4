"""Messages for readers: ``message`` makes them from codes, ``catalogue`` has the sentences of each language."""
