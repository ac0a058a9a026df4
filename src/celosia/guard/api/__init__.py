"""The JSON API under ``/v1``: endpoints, request and reply models, and the OpenAPI page."""
