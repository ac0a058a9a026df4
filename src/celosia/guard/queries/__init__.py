"""Queries as they are sent to the guard, from their text to their answer.

``analysis`` reads a query within the limits, ``sessions`` lends a session to it, ``pace`` gives analysts turns and
hides how long reading took, ``cancellation`` stops it from any process, and ``answers`` makes the reply. ``fits`` does
the same for models. ``approvals`` holds costly queries for a curator, and ``saved`` keeps queries under names.
"""
