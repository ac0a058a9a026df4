"""The OpenAPI document of the API, and a plain HTML page of it that loads nothing from other servers.

The usual viewers load from third parties, which then learn who reads the page. This page lists the operations with
their parameters and replies, the schemas of bodies, and the problems, at the addresses that replies refer to.
"""

import json
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from fastapi.openapi.utils import get_openapi

from celosia.guard.schema.replies import ProblemReply
from celosia.serving.pages.templates import open_templates
from celosia.serving.problems import STATUSES

if TYPE_CHECKING:
    from fastapi import FastAPI

_ABOUT: Final = (
    "Questions about data sets of people, answered with noise and within a budget. Send a key with every request "
    "(Authorization: Bearer …), and an Idempotency-Key with every question. Numbers are read as they are written: "
    '0.1 and "0.1" both mean one tenth. Whatever is no answer is a problem (RFC 9457).'
)

STYLE: Final = resources.files(__package__).joinpath("templates", "docs.css").read_text("utf-8")
"""The style sheet of the page."""

_TEMPLATES: Final = open_templates(__package__)
_TEMPLATES.filters["json"] = partial(json.dumps, ensure_ascii=False)


def openapi_document(app: "FastAPI") -> dict[str, Any]:
    """Return the OpenAPI document of an application, cached."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        schemas["ProblemReply"] = ProblemReply.model_json_schema(mode="serialization")
        for unused in ("HTTPValidationError", "ValidationError"):  # the framework's own, never sent
            schemas.pop(unused, None)
        app.openapi_schema = made
    return app.openapi_schema


def render(made: dict[str, Any]) -> str:
    """Return the page of an OpenAPI document."""
    schemas = made.get("components", {}).get("schemas", {})
    return _TEMPLATES.get_template("docs.html").render(
        info=made["info"], paths=made.get("paths", {}), schemas=schemas, problems=STATUSES
    )
