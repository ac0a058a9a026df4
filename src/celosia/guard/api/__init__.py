"""The JSON API under ``/v1``: its endpoints and the OpenAPI page.

``endpoints`` calls the guard and returns replies, whose shapes are in ``celosia.guard.schema``; it decides nothing.
``openapi_page`` writes the OpenAPI document and a page that shows it without other servers.
"""
