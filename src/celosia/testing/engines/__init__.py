"""The conformance kit for query engines, with a reference engine in plain Python."""
