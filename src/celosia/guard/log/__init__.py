"""The log for readers: its lines found by who, what and when, said as sentences, and exported."""
