"""Models as files: one JSON text with the learned values, the guarantee and the provenance. No pickle.

A file holds the parameters (but never a budget or a source of noise), the learned attributes, the event that was paid
for and its guarantee. Reading makes the estimator by its constructor and sets values; which estimators there are is a
fixed list, so that no file can name code to run. A file that is cut off, changed in its form, or made up is refused.
So is one whose guarantee is not what its event costs.
"""

import datetime as dt
import json
import re
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from celosia.core.errors import FormatError, ParameterError
from celosia.core.events import Event
from celosia.core.exact import safe_repr
from celosia.core.guarantees import Guarantee
from celosia.core.strict_json import read_json
from celosia.data.schema.schema import Schema
from celosia.learn.io.stored_values import decode, encode
from celosia.learn.privacy.price import check_price

if TYPE_CHECKING:
    from celosia.learn.base.estimator import PrivateEstimator

MODELS: Final = (
    "CategoricalNB",
    "FunctionalMechanism",
    "FuzzyCMeans",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "PCA",
    "PNSGDClassifier",
    "PNSGDRegressor",
    "Ridge",
    "StandardScaler",
)
"""The estimators that a file can hold."""

_FORMAT: Final = "celosia model"
_VERSION: Final = 1
_FIELDS: Final = ("event", "format", "guarantee", "learned", "model", "parameters", "provenance", "version")
_NEVER: Final = ("budget", "source")  # belong to the caller of fit
_APART: Final = ("event_", "guarantee_", "provenance_")  # have fields of their own
_LEARNED: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*_")
_MAX_FILE_BYTES: Final = 2**28  # bytes of a file
_LONGEST_TEXT: Final = 10_000_000
_TRIED: Final = 7  # rows; a size that no wrong array is likely to have
_TRACED: Final = ("celosia", "federation", "schema", "scikit_learn", "table", "where", "written")


def save(model: "PrivateEstimator", path: str | Path) -> None:
    """Write a fitted model to a file; the file is whole or not there, and replaces one of the same name."""
    text, path = json.dumps(model_to_json(model), indent=1, ensure_ascii=False, allow_nan=False) + "\n", Path(path)
    # In the file's own directory, because a rename is atomic only within one file system.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".celosia-") as folder:
        part = Path(folder) / "model"
        part.write_text(text, encoding="utf-8")
        part.replace(path)


def load(path: str | Path) -> Any:
    """Read a model that ``save`` wrote; ``FormatError`` if the file is not one.

    >>> load("no such file")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: 'no such file'
    """
    with Path(path).open("rb") as file:
        data = file.read(_MAX_FILE_BYTES + 1)
    if len(data) > _MAX_FILE_BYTES:
        raise FormatError("learn.model_file_too_large", most=_MAX_FILE_BYTES)
    return model_from_json(read_json(data, name="core.the_file"))


def model_from_json(found: object) -> Any:
    """Return the fitted model of a document from anywhere; ``FormatError`` if it is none that ``model_to_json`` made.

    >>> model_from_json({"model": "os.system"})
    Traceback (most recent call last):
    ...
    celosia.core.errors.FormatError: The file holds no model of celosia.
    """
    try:
        return _model(_check_fields(found))
    except FormatError:
        raise
    except (RecursionError, MemoryError):
        code = "learn.file_too_deep"
    except Exception:  # noqa: BLE001 - whatever fails, it is for what the document holds
        code = "learn.file_with_wrong_values"
    raise FormatError(code) from None


# -------------------------------------------------------------------------------------------------------------- writing


def model_to_json(model: "PrivateEstimator") -> dict[str, Any]:
    """Return a fitted model as a JSON document: parameters, learned attributes, event, guarantee and provenance."""
    name = type(model).__name__
    if name not in MODELS or type(model) is not find_estimator(name):
        raise ParameterError("learn.not_a_celosia_estimator", kind=safe_repr(type(model)))
    check_is_fitted(model)
    held = {key: value for key, value in model.get_params(deep=False).items() if key not in _NEVER}
    learned = {key: value for key, value in vars(model).items() if _LEARNED.fullmatch(key) and key not in _APART}
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "model": name,
        "parameters": {key: encode(value, key) for key, value in sorted(held.items())},
        "learned": {key: encode(value, key) for key, value in sorted(learned.items())},
        "event": None if model.event_ is None else json.loads(model.event_.to_json()),
        "guarantee": None if model.guarantee_ is None else json.loads(model.guarantee_.to_json()),
        "provenance": _provenance(model),
    }


def _provenance(model: "PrivateEstimator") -> dict[str, object]:
    import sklearn

    import celosia

    now = dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds")
    traced = {"celosia": celosia.__version__, "scikit_learn": sklearn.__version__, "written": now}
    return traced | getattr(model, "provenance_", {}) | _summary(model)


def _summary(model: "PrivateEstimator") -> dict[str, object]:
    """What a reader of the file wants to know first; it follows from the rest, and is compared with it."""
    guarantee = model.guarantee_
    return {
        "seeded": bool(model.seeded_),
        "adjacency": None if guarantee is None else guarantee.adjacency.value,
        "unit": None if guarantee is None else guarantee.unit,
    }


def find_estimator(name: str) -> type[Any]:
    """Return an estimator of the list by its name."""
    from celosia import learn

    found: type[Any] = getattr(learn, name)
    return found


# -------------------------------------------------------------------------------------------------------------- reading


def _check_fields(found: object) -> dict[str, Any]:
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise FormatError("learn.not_a_model_file")
    if type(found.get("version")) is not int or found["version"] != _VERSION:
        raise FormatError("learn.unknown_model_version", found=safe_repr(found.get("version")), wanted=_VERSION)
    if sorted(found) != list(_FIELDS):
        raise FormatError("learn.wrong_model_fields", known=", ".join(_FIELDS))
    return found


def _model(found: dict[str, Any]) -> Any:
    name = found["model"]
    if not isinstance(name, str) or name not in MODELS:
        raise FormatError("learn.unknown_model", name=safe_repr(name), known=", ".join(MODELS))
    known = find_estimator(name)
    model = _made(known, _mapping(found, "parameters"))
    learned = _mapping(found, "learned")
    for key in learned:
        if not _LEARNED.fullmatch(key) or key in _APART or hasattr(known, key):
            raise FormatError("learn.unknown_learned_attribute", estimator=name, attribute=safe_repr(key))
    state = {key: decode(value, key) for key, value in learned.items()}
    state["event_"] = None if found["event"] is None else _record(Event, found["event"])
    state["guarantee_"] = None if found["guarantee"] is None else _record(Guarantee, found["guarantee"])
    vars(model).update(state)
    _check_state(model, state)
    model.provenance_ = _read_provenance(model, _mapping(found, "provenance"))
    _check_use(model)
    return model


def _made(known: type[Any], given: dict[str, Any]) -> Any:
    names = set(known().get_params(deep=False)) - set(_NEVER)
    unknown = sorted(given.keys() - names)
    if unknown:
        raise FormatError("learn.unknown_parameter", estimator=known.__name__, name=safe_repr(unknown[0]))
    return known(**{key: decode(value, key) for key, value in given.items()})


def _record(kind: Any, value: object) -> Any:
    return kind.from_json(json.dumps(value))


def _check_state(model: Any, state: dict[str, Any]) -> None:
    """Refuse a state that no fit leaves: without a number of features, or a guarantee without an event."""
    count, names = state.get("n_features_in_"), state.get("feature_names_in_")
    if type(count) is not int or count < 1 or (names is not None and getattr(names, "shape", None) != (count,)):
        raise FormatError("learn.file_without_feature_number")
    scale = state.get("noise_scale_")
    if not isinstance(scale, float | int | np.ndarray) or np.asarray(scale).dtype.kind not in "fiu":
        raise FormatError("learn.file_without_noise_scale")
    if (model.event_ is None) != (model.guarantee_ is None) or type(state.get("seeded_")) is not bool:
        raise FormatError("learn.event_without_guarantee")
    if model.event_ is not None:
        check_price(model.event_, model.guarantee_)


def _check_use(model: Any) -> None:
    """Refuse learned values that do not go together, by using the model once: on made-up rows."""
    domains = getattr(model, "domains_", None)
    try:
        first = [0.0] * model.n_features_in_ if domains is None else [domain[0] for domain in domains]
        rows = np.array([first] * _TRIED, dtype=np.float64 if domains is None else object)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that rows have no names, or that huge numbers overflow
            told = [len(getattr(model, name)(rows)) for name in ("predict", "transform") if hasattr(model, name)]
    except Exception:  # noqa: BLE001 - whatever fails, it is for what the file holds
        told = [0]
    if set(told) - {_TRIED}:
        raise FormatError("learn.learned_values_inconsistent")


def _read_provenance(model: Any, given: dict[str, Any]) -> dict[str, str]:
    promised = _summary(model)
    traced = {key: value for key, value in given.items() if key not in promised}
    texts = all(isinstance(value, str) and len(value) <= _LONGEST_TEXT for value in traced.values())
    if not texts or not traced.keys() <= set(_TRACED) or {**given, **promised} != given:
        raise FormatError("learn.wrong_provenance", known=", ".join(_TRACED))
    if "schema" in traced:
        named = getattr(model, "feature_names_in_", ())
        if not set(map(str, named)) <= Schema.from_toml(traced["schema"]).keys():
            raise FormatError("learn.provenance_of_other_columns")
    return traced


def _mapping(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found[name]
    if not isinstance(value, dict):
        raise FormatError("learn.section_not_an_object", name=name)
    return value
