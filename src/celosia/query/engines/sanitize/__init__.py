"""Copies of files that DuckDB cannot read as they are: other encodings, long records, invalid values."""
