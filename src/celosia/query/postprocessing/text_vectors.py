"""Text functions on columns of an answer, by their definition in :mod:`celosia.query.plan.text_functions`."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.query.plan.text_functions import TEXT_FUNCTIONS
from celosia.query.plan.text_rules import TEXT_RULES
from celosia.query.plan.types import Derivation, ValueType, type_of_literal
from celosia.query.postprocessing.vectors import Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.query.plan.types import Scalar

_RESULTS: "Final[dict[str, tuple[str, Any]]]" = {"length": ("number", np.int64), "like": ("truth", np.bool_)}
_ANY_TEXT = ValueType(family="text", source=Derivation("query.label_column"))


def apply_text_function(name: str, text: Vector, given: "Sequence[Scalar]") -> Vector:
    """Apply a text function to each item; literal arguments are checked as in a query."""
    TEXT_RULES[name]([_ANY_TEXT, *map(type_of_literal, given)])
    family, kind = _RESULTS.get(name, ("text", object))
    function = TEXT_FUNCTIONS[name]
    items = np.fromiter((function(item, *given) for item in text.items), dtype=kind, count=len(text.items))
    return Vector(family, items, text.null)
