"""The conformance kit for protocols of the local model."""
