"""What the sections of a description state, as objects: estimator, update, and the ways in which parties work together.

A parameter that is missing or unknown is an error that names it.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from celosia.federated.gossip import Gossip
    from celosia.federated.topology.graph import Graph

PRIVACY: Final = ("adjacency", "delta", "epsilon", "rho")
"""What the section ``[privacy]`` may state, and no other."""

WAYS: Final = ("combine", "level", "masks", "topology")
"""The sections of the ways in which parties work together; all may be left out."""

_ESTIMATORS: Final = ("GaussianNB", "LinearRegression", "LogisticRegression", "PCA", "Ridge", "StandardScaler")
_UPDATES: Final = ("OneShot", "Proximal", "SGD")
_RULES: Final = ("ClippedSum", "CoordinateMedian", "Krum", "TrimmedMean")
_WEIGHTS: Final = ("constant", "metropolis")


def make_update(estimator: Mapping[str, Any], update: Mapping[str, Any]) -> Any:
    """Return the update of the sections ``[update]`` and ``[estimator]``."""
    from celosia import federated, learn

    learner = _make(learn, estimator, _ESTIMATORS, "estimator")
    return _make(federated, {"estimator": learner} | dict(update), _UPDATES, "update")


def make_ways(sections: Mapping[str, Mapping[str, Any]], parties: tuple[str, ...]) -> dict[str, Any]:
    """Return masks, level, rule and topology, as parameters of a federation.

    >>> make_ways({"masks": {"silent": 1}, "level": {"clip": "0.5"}}, ("north", "south"))
    {'masks': Masks(colluders=1, silent=1), 'level': ClientLevel(clip=Fraction(1, 2))}
    """
    from celosia import federated

    found = {}
    if "masks" in sections:
        found["masks"] = _make(federated, {"type": "Masks"} | dict(sections["masks"]), ("Masks",), "masks")
    if "level" in sections:
        found["level"] = _make(federated, {"type": "ClientLevel"} | dict(sections["level"]), ("ClientLevel",), "level")
    if "combine" in sections:
        found["combine"] = _make(federated, sections["combine"], _RULES, "combine")
    if "topology" in sections:
        found["topology"] = _make_topology(sections["topology"], parties, masked="masks" in sections)
    return found


def check_names(section: Iterable[str], known: tuple[str, ...], prefix: str) -> None:
    """Refuse a setting that is none of those known."""
    unknown = [name for name in section if name not in known]
    if unknown:
        raise ParameterError(
            "federated.unknown_setting", name=safe_repr(f"{prefix}{unknown[0]}"), known=", ".join(known)
        )


def _make_topology(section: Mapping[str, Any], parties: tuple[str, ...], *, masked: bool) -> "Graph | Gossip":
    from celosia.federated.gossip import Gossip
    from celosia.federated.topology.graph import Graph
    from celosia.federated.topology.shapes import make_graph
    from celosia.federated.topology.weights import constant_weights, metropolis_weights

    check_names(section, ("edges", "shape") if masked else ("alpha", "edges", "shape", "steps", "weights"), "topology.")
    if ("edges" in section) == ("shape" in section):
        raise ParameterError("federated.edges_or_shape")
    graph = Graph(section["edges"], parties) if "edges" in section else make_graph(section["shape"], parties)
    if masked:
        return graph
    kind = section.get("weights", "constant" if "alpha" in section else "metropolis")
    if kind not in _WEIGHTS or ("alpha" in section and kind != "constant"):
        raise ParameterError("federated.unknown_weights", known=", ".join(_WEIGHTS))
    weights = metropolis_weights(graph) if kind == "metropolis" else constant_weights(graph, section.get("alpha"))
    return Gossip(weights=weights, steps=section.get("steps", 1))


def _make(package: Any, section: Mapping[str, Any], types: tuple[str, ...], name: str) -> Any:
    """Make an object of a section, which names its type."""
    if section.get("type") not in types:
        raise ParameterError(
            "federated.unknown_type", name=name, value=safe_repr(section.get("type")), known=", ".join(types)
        )
    kind = getattr(package, section["type"])
    given = {key: value for key, value in section.items() if key != "type"}
    parameters = inspect.signature(kind).parameters
    known = [one for one in parameters if one not in {"budget", "source", *PRIVACY}]
    check_names(given, tuple(known), f"{name}.")
    missing = [one for one in known if one not in given and parameters[one].default is inspect.Parameter.empty]
    if missing:
        raise ParameterError("federated.setting_missing", name=f"{name}.{missing[0]}")
    return kind(**given)
