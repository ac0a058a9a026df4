"""The estimator of a federation before records are read: its target, its classes, and how many features there are.

The shape of the records is taken from the first party in this process, or from the outline of records that are
withheld. Where there is none, as at the server of a network, it is taken from a made-up record, which needs bounds for
each feature.
"""

import copy
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.federated.parties.party import read_from
from celosia.learn.privacy.parameters import known_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.federated.parties.party import Party

_OF_FEDERATION: Final = {"gaussian", "server"}  # what no estimator has


def copy_estimator(estimator: Any, privacy: Mapping[str, Any]) -> Any:
    """Return a copy with the privacy parameters of the federation; refuse classes that are read from records.

    Under add-remove, no record is a number like any.
    """
    model = set_privacy(estimator, privacy)
    model.hides_number = model.find_privacy_target().adjacency is AddRemove
    if getattr(model, "classes", None) == "public":
        raise ParameterError("federated.classes_not_stated")
    return model


def set_privacy(estimator: Any, privacy: Mapping[str, Any]) -> Any:
    """Return a copy with these privacy parameters.

    ``gaussian`` among them says that noise must be Gaussian, and ``server`` that there is one.
    """
    own = {key: value for key, value in privacy.items() if key not in _OF_FEDERATION}
    model = copy.deepcopy(estimator).set_params(**own)
    if privacy.get("gaussian"):
        model.needs_gaussian = True
    return model


def read_example(model: Any, parties: "tuple[Party, ...]", read: "Callable[[Any, Any], Any]") -> Any:
    """Return what is read from records that show the shape of all: of a party, of its outline, or made up."""
    for one in parties:
        if not one.is_remote:
            return read_from(one, lambda one=one: read(one.X, one.y))  # type: ignore[misc] # bound at once
    outlined = next((one for one in parties if one.outline is not None), None)
    if outlined is None:
        return read(*_make_example(model))
    hides_number, model.hides_number = model.hides_number, True  # an outline has no row
    try:
        return read_from(outlined, partial(_read_outline, outlined.outline, read))
    finally:
        model.hides_number = hides_number


def _read_outline(outline: Any, read: "Callable[[Any, Any], Any]") -> Any:
    return read(outline.X, outline.y)


def _make_example(model: Any) -> tuple[Any, Any]:
    """Return a made-up record, of which each feature has bounds."""
    features = known_count(model.bounds)
    if features is None or isinstance(model.bounds, Mapping):
        raise ParameterError("federated.features_not_stated")
    made_up = None
    if model.learns != "features":
        made_up = np.array([0.0]) if model.learns == "number" else np.array(model.classes)[:1]
    return np.zeros((1, features)), made_up
