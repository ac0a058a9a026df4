"""Fit a model of a request in a session: the estimator is one of a fixed list, with parameters of fixed kinds.

The model is planned from the request and the schemas alone; a bad request costs nothing. It is then fitted inside the
engine, as ``session.fit`` does, and the answer is the document of the released model, which holds noisy numbers alone.
"""

import json
from typing import TYPE_CHECKING, Any

from celosia.core.errors import QueryError
from celosia.guard.queries.analysis import check_nodes

if TYPE_CHECKING:
    from celosia.guard.config.sections import Limits
    from celosia.guard.schema.requests import FitRequest
    from celosia.ledger import Request, Reservation
    from celosia.query import Preview, Session
    from celosia.query.answering.fitting import Fitting


def fit_model(session: "Session", wanted: "FitRequest", limits: "Limits", request: "Request") -> "Reservation":
    """Fit the model that is wanted, or find its stored answer, and return the reservation with it."""
    from celosia.learn.io.specification import specify

    estimator, fitting = _plan_model(session, wanted, limits)
    specification = json.dumps(specify(estimator), sort_keys=True)
    return session.ask_fit(fitting, _write_model, specification=specification, request=request)


def preview_model(session: "Session", wanted: "FitRequest", limits: "Limits") -> "Preview":
    """Return the cost of the model that is wanted, with all checks of ``fit_model``."""
    return session.preview_fit(_plan_model(session, wanted, limits)[1])


def _plan_model(session: "Session", wanted: "FitRequest", limits: "Limits") -> "tuple[Any, Fitting]":
    from celosia.learn.io.specification import make_estimator
    from celosia.query.serial.plan import plan_to_json

    estimator = make_estimator(wanted.model, wanted.parameters)
    fitting = session.plan_fit(estimator, wanted.features, wanted.target, table=wanted.table, where=wanted.where)
    check_nodes(plan_to_json(fitting.plan), limits)
    if fitting.request.sum_count > limits.cells:
        raise QueryError("guard.too_many_sums", sums=fitting.request.sum_count, most=limits.cells)
    return estimator, fitting


def _write_model(model: Any) -> str:
    from celosia.learn.io.model_file import model_to_json

    return json.dumps(model_to_json(model), separators=(",", ":"), allow_nan=False)
