"""The OpenAPI document of the API, and a plain HTML page of it that loads nothing from other servers.

The usual viewers load from third parties, which then learn who reads the page. This page lists the operations with
their parameters and replies, the schemas of bodies, and the problems, at the addresses that replies refer to.
"""

import json
from html import escape
from typing import TYPE_CHECKING, Any, Final

from fastapi.openapi.utils import get_openapi

from celosia.guard.http.problems import STATUSES
from celosia.guard.schema.replies import ProblemReply

if TYPE_CHECKING:
    from fastapi import FastAPI

_ABOUT: Final = (
    "Questions about data sets of people, answered with noise and within a budget. Send a key with every request "
    "(Authorization: Bearer …), and an Idempotency-Key with every question. Numbers are read as they are written: "
    '0.1 and "0.1" both mean one tenth. Whatever is no answer is a problem (RFC 9457).'
)

STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 56rem; padding: 1rem; }
h2 { border-bottom: 1px solid; margin-top: 2.5rem; }
article { border: 1px solid; border-radius: .3rem; margin: 1rem 0; padding: .2rem 1rem; }
pre, code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
pre { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid; padding: .2rem .6rem .2rem 0; text-align: left; vertical-align: top; }
dt { font-weight: bold; margin-top: .6rem; }
"""
"""The style sheet of the page."""


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
    title = escape(made["info"]["title"])
    operations = "".join(
        _operation(path, method, operation)
        for path, methods in made.get("paths", {}).items()
        for method, operation in methods.items()
    )
    schemas = "".join(_schema(name, schema) for name, schema in made.get("components", {}).get("schemas", {}).items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="/v1/docs.css">
</head>
<body>
<main>
<h1>{title}</h1>
<p>{escape(made["info"].get("description", ""))}</p>
<p>The same for programs: <a href="/v1/openapi.json">openapi.json</a>.</p>
<h2>Operations</h2>
{operations}
<h2>Problems</h2>
{_problem_list()}
<h2>Shapes</h2>
{schemas}
</main>
</body>
</html>
"""


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = "".join(_parameter(parameter) for parameter in operation.get("parameters", ()))
    body = "".join(_reference(content) for content in operation.get("requestBody", {}).get("content", {}).values())
    takes = f"<p>Takes {body}.</p>" if body else ""
    table = f"<table><tr><th>Parameter<th>In<th>Needed<th>What</tr>{rows}</table>" if rows else ""
    replies = "".join(
        f"<tr><td>{escape(status)}<td>{escape(reply['description'])} "
        f"{''.join(_reference(content) for content in reply.get('content', {}).values())}</tr>"
        for status, reply in operation["responses"].items()
    )
    return (
        f'<article id="{escape(operation["operationId"], quote=True)}">'
        f"<h3><code>{method.upper()} {escape(path)}</code> {escape(operation.get('summary', ''))}</h3>"
        f"<p>{escape(operation.get('description', ''))}</p>{table}{takes}"
        f"<table><tr><th>Status<th>Reply</tr>{replies}</table></article>\n"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    needed = "yes" if parameter.get("required") else "no"
    shape = escape(json.dumps(parameter["schema"], ensure_ascii=False))
    what = f"{escape(parameter.get('description', ''))} <code>{shape}</code>"
    return f"<tr><td><code>{escape(parameter['name'])}</code><td>{escape(parameter['in'])}<td>{needed}<td>{what}</tr>"


def _reference(content: dict[str, Any]) -> str:
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return f'<a href="#shape-{escape(name, quote=True)}">{escape(name)}</a>' if name else ""


def _schema(name: str, schema: dict[str, Any]) -> str:
    text = escape(json.dumps(schema, indent=2, ensure_ascii=False))
    return f'<article id="shape-{escape(name, quote=True)}"><h3>{escape(name)}</h3><pre>{text}</pre></article>\n'


def _problem_list() -> str:
    entries = "".join(
        f'<dt id="{name}">{name}</dt><dd>{title} ({status}).</dd>' for name, (status, title) in STATUSES.items()
    )
    return f"<dl>{entries}</dl>"
