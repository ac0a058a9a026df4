"""Columns and schemas as the owner of a table declares them."""
