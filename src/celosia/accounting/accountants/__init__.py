"""Accountants: lists of events with a total price."""
