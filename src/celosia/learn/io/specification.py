"""Specifications of estimators: a model's name and its parameters as JSON, for a fit on another machine.

A specification holds no code: a model is one of a fixed list, and each of its parameters has a fixed kind of value.
Exact numbers and decimals are texts, so that no reader rounds them. What could weaken a guarantee has no place in one:
a source of noise, a budget, bounds and categories, which the schema of the data states.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from celosia.core.errors import FormatError, ParameterError
from celosia.core.exact import exact, exact_adjacency, safe_repr
from celosia.learn.io.model_file import find_estimator, model_from_json
from celosia.statistics.base.summary_request import check_learner

_MAX_TEXT_LENGTH: Final = 400
_MAX_ITEMS: Final = 10_000
_MAX_INTEGER: Final = 2**64
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)


class _Kind(NamedTuple):
    """A kind of parameter: how its value is written as JSON, and read back; each raises for other values."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _read_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT_LENGTH:
        raise ValueError
    return str.__str__(value)


def _read_boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _read_exact(value: object) -> str:
    text = str(value) if type(value) is int else _read_text(value)
    exact(text, name="value")
    return text


def _write_number(value: object) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MAX_INTEGER:
        return int(value)
    if not isinstance(value, float) or not math.isfinite(value):
        raise ValueError
    return repr(float(value))


def _read_number(value: object) -> float:
    text = str(value) if type(value) is int else _read_text(value)
    if not _NUMBER.fullmatch(text):
        raise ValueError
    number = int(text) if text.lstrip("-").isdecimal() else float(text)
    if not math.isfinite(number) or (isinstance(number, int) and abs(number) >= _MAX_INTEGER):
        raise ValueError
    return number


def _copy_label(value: object) -> "str | int":
    if isinstance(value, int) and abs(value) < _MAX_INTEGER:
        return value
    return _read_text(value)


def _each(convert: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def convert_all(values: object) -> list[Any]:
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        if not isinstance(listed, list | tuple) or len(listed) > _MAX_ITEMS:
            raise ValueError
        return [convert(_plain(value)) for value in listed]

    return convert_all


def _plain(value: object) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _or_text(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: _read_text(value) if isinstance(value, str) else convert(value)


_EXACT: Final = _Kind(lambda value: str(exact(value, name="value")), _read_exact)
_ADJACENCY: Final = _Kind(lambda value: exact_adjacency(value).value, lambda value: exact_adjacency(_read_text(value)))
_BOOLEAN: Final = _Kind(_read_boolean, _read_boolean)
_TEXT: Final = _Kind(_read_text, _read_text)
_DECIMAL: Final = _Kind(_write_number, _read_number)
_DECIMALS: Final = _Kind(_each(_write_number), _each(_read_number))
_LABELS: Final = _Kind(_or_text(_each(_copy_label)), _or_text(_each(_copy_label)))

_SHARED: Final = {"epsilon": _EXACT, "delta": _EXACT, "rho": _EXACT, "adjacency": _ADJACENCY}
_LINE: Final = {**_SHARED, "method": _TEXT, "fit_intercept": _BOOLEAN}
_CLASSIFIER: Final = {**_SHARED, "method": _TEXT, "classes": _LABELS}

PARAMETERS: Final[Mapping[str, Mapping[str, _Kind]]] = {
    "CategoricalNB": {**_CLASSIFIER, "alpha": _DECIMAL, "fit_prior": _BOOLEAN, "class_prior": _DECIMALS},
    "GaussianNB": {**_CLASSIFIER, "priors": _DECIMALS, "var_smoothing": _DECIMAL},
    "LinearRegression": _LINE,
    "LogisticRegression": {
        **_CLASSIFIER,
        "C": _DECIMAL,
        "fit_intercept": _BOOLEAN,
        "steps": _DECIMAL,
        "tol": _DECIMAL,
        "max_iter": _DECIMAL,
    },
    "PCA": {**_SHARED, "n_components": _DECIMAL, "whiten": _BOOLEAN},
    "Ridge": {**_LINE, "alpha": _DECIMAL},
    "StandardScaler": {**_SHARED, "method": _TEXT, "with_mean": _BOOLEAN, "with_std": _BOOLEAN},
}
"""The models that are fitted from a specification, and the parameters that one may have."""


def specify(estimator: object) -> dict[str, Any]:
    """Return the specification of an estimator; refuse one whose parameters cannot be sent.

    Equal estimators have equal specifications. Parameters with their default value are left out, but for epsilon.

    >>> from celosia.learn import Ridge
    >>> specify(Ridge(epsilon="0.50", alpha=0.1))
    {'model': 'Ridge', 'parameters': {'alpha': '0.1', 'epsilon': '1/2'}}
    """
    name = type(estimator).__name__
    if name not in PARAMETERS or type(estimator) is not find_estimator(name):
        check_learner(estimator)
        raise ParameterError("learn.unknown_model", name=safe_repr(name), known=", ".join(PARAMETERS))
    known, written = PARAMETERS[name], dict[str, Any]()
    for parameter, default in sorted(type(estimator)().get_params(deep=False).items()):
        value = getattr(estimator, parameter)
        if parameter in known:
            text = _convert(known[parameter].write, value, name, parameter)
            if text != _convert(known[parameter].write, default, name, parameter) or parameter == "epsilon":
                written[parameter] = text
        elif value is not None:
            raise _refuse(name, parameter)
    if "rho" in written and written["epsilon"] == "1":  # the default, which then counts for nothing
        written["epsilon"] = None
    return {"model": name, "parameters": written}


def make_estimator(model: object, parameters: object) -> Any:
    """Return the estimator of a specification from anywhere; it is not fitted.

    >>> make_estimator("Ridge", {"alpha": "0.1", "epsilon": "1/2"})
    Ridge(alpha=0.1, epsilon='1/2')
    >>> make_estimator("Ridge", {"source": "Seeded(7)"})
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: Ridge: the parameter 'source' cannot be sent; leave it out. Those that can ...
    """
    if not isinstance(model, str) or model not in PARAMETERS:
        raise ParameterError("learn.unknown_model", name=safe_repr(model), known=", ".join(PARAMETERS))
    if not isinstance(parameters, Mapping):
        raise FormatError("learn.section_not_an_object", name="parameters")
    known = PARAMETERS[model]
    for name in parameters:
        if name not in known:
            raise _refuse(model, name)
    return find_estimator(model)(
        **{name: _convert(known[name].read, value, model, name) for name, value in parameters.items()}
    )


def restore(estimator: Any, found: object) -> None:
    """Set the learned attributes of an estimator to those of a document of a model with the same specification.

    If the document is refused, the estimator stays as it is.
    """
    fitted = model_from_json(found)
    if specify(fitted) != specify(estimator):
        raise FormatError("learn.document_of_other_model", estimator=type(estimator).__name__)
    state = vars(estimator)
    for name in [name for name in state if name == "_held" or name.endswith("_")]:  # of an earlier fit
        del state[name]
    state.update({name: value for name, value in vars(fitted).items() if name.endswith("_")})


def _refuse(estimator: str, name: object) -> ParameterError:
    known = ", ".join(PARAMETERS[estimator])
    return ParameterError("learn.parameter_not_sent", estimator=estimator, name=safe_repr(name), known=known)


def _convert(convert: Callable[[Any], Any], value: object, estimator: str, name: str) -> Any:
    """Return a parameter as JSON, or read from it; None stays None."""
    if value is None:
        return None
    try:
        return convert(_plain(value))
    except (TypeError, ValueError):
        pass
    raise ParameterError("learn.parameter_of_wrong_kind", estimator=estimator, name=name, value=safe_repr(value))
