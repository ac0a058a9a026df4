"""Find the route of a request once, for all middleware that asks for it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Match, Route

if TYPE_CHECKING:
    from starlette.types import Scope

_ROUTE = "celosia.route"


def find_route(routes: Iterable[BaseRoute], scope: "Scope") -> Route | None:
    """Return the route that serves a request, or None.

    It calls the routes' own matching, as the router does: a second way to compare paths could differ from the first.
    """
    if _ROUTE not in scope:
        scope[_ROUTE] = next((one for one in routes if isinstance(one, Route) and _serves(one, scope)), None)
    found: Route | None = scope[_ROUTE]
    return found


def _serves(route: Route, scope: "Scope") -> bool:
    return route.matches(scope)[0] is Match.FULL
