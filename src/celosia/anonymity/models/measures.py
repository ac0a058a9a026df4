"""Measure k, l and t of a file together, in one pass, and check models.

Every number is of the worst class, but for those that are called averages. The arrays by class say which that is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.microdata import Microdata, check_microdata
from celosia.anonymity.microdata.figures import Figure, write_figures, write_number, write_percent
from celosia.anonymity.models.classes import Classes
from celosia.anonymity.models.distances import measure_equal, measure_hierarchical, measure_ordered
from celosia.anonymity.models.histograms import (
    Histogram,
    count_values,
    find_largest,
    measure_entropy,
    measure_recursive,
)
from celosia.anonymity.models.model import ClassModel, FileModel, Model, check_between
from celosia.anonymity.models.reading import read_classes
from celosia.anonymity.models.sizes import measure_average_risk
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message, Numeral

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SensitiveMeasures:
    """What the classes of a file tell about one sensitive column.

    ``distinct``, ``entropy`` and ``recursive`` are the largest l of the three kinds of l-diversity. ``equal``,
    ``ordered`` and ``hierarchical`` are the smallest t of the three kinds of t-closeness, the last one None without a
    hierarchy of the column's values. ``alpha`` is the largest part of a class that has one value. All are None if no
    value is known. ``by_class`` has each for every class, NaN where nothing is known.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"sex": ["F", "M", "M"], "illness": ["flu", "flu", "asthma"]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["sex"], sensitive=["illness"]))
    >>> measure(data).sensitive["illness"].by_class["distinct"].tolist()
    [1.0, 2.0]
    """

    distinct: int | None
    entropy: float | None
    recursive: int | None
    equal: float | None
    ordered: float | None
    hierarchical: float | None
    alpha: float | None
    by_class: "Mapping[str, NDArray[np.float64]]" = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Measures:
    """How well the records of a file are hidden among each other. ``measure`` makes one; ``str`` writes a table.

    ``k`` is the smallest number of records that match one, ``uniques`` the number of records that only match
    themselves, ``average_class_size`` one over the average risk. ``highest_risk`` and ``average_risk`` are those of a
    prosecutor, who knows that the person is in the file. ``ids`` are the class of each record, ``sizes`` the number of
    records that match each class.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"sex": ["F", "M", "M"]}), roles=Roles(quasi_identifiers=["sex"]))
    >>> print(measure(data))
    records                                 3
    classes                                 2
    k: records in the smallest class        1
    unique records                          1
    average class size                    1.5
    highest risk (prosecutor)           100 %
    average risk (prosecutor)         66.67 %
    """

    rows: int
    classes: int
    k: int
    uniques: int
    average_class_size: float
    highest_risk: float
    average_risk: float
    sensitive: Mapping[str, SensitiveMeasures]
    ids: "NDArray[np.int32]" = field(repr=False)
    sizes: "NDArray[np.float64]" = field(repr=False)

    @property
    def risks(self) -> "NDArray[np.float64]":
        """The prosecutor's risk of each record."""
        return (1.0 / self.sizes)[self.ids]

    def find_worst(self) -> int:
        """Return the number of a smallest class; the records with it in ``ids`` are those most at risk."""
        return int(np.argmin(self.sizes))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What the table shows: the name of each figure, and its value."""
        found = [
            (Message("anonymity_models.records"), write_number(self.rows)),
            (Message("anonymity_models.classes"), write_number(self.classes)),
            (Message("anonymity_models.k"), write_number(self.k)),
            (Message("anonymity_models.uniques"), write_number(self.uniques)),
            (Message("anonymity_models.class_size"), write_number(self.average_class_size)),
            (Message("anonymity_models.highest_risk"), write_percent(self.highest_risk)),
            (Message("anonymity_models.average_risk"), write_percent(self.average_risk)),
        ]
        for name, one in self.sensitive.items():
            for kind, code in _KINDS.items():
                value = getattr(one, kind)
                shown = Numeral("–") if value is None else write_number(value)
                found.append((Message(code, name=safe_repr(name)), shown))
        return tuple(found)

    def describe(self, language: str = "en") -> str:
        """Return the table in a language."""
        return write_figures(self.figures, language)

    def __str__(self) -> str:
        return self.describe()


_KINDS = {
    "distinct": "anonymity_models.distinct",
    "entropy": "anonymity_models.entropy",
    "recursive": "anonymity_models.recursive",
    "equal": "anonymity_models.equal",
    "ordered": "anonymity_models.ordered",
    "hierarchical": "anonymity_models.hierarchical",
    "alpha": "anonymity_models.alpha",
}


def measure(data: Microdata, *, original: Microdata | None = None, c: float = 3.0) -> Measures:
    """Return k, l and t of a file.

    Parameters
    ----------
    data
        The file; it must have records.
    original
        The file before records were dropped: t is the distance from its distribution. By default the file itself,
        as for a column whose type was changed.
    c
        The parameter of recursive (c, l)-diversity.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"age": ["20-29"] * 2 + ["30-39"] * 2, "illness": ["flu", "asthma", "flu", "flu"]})
    >>> roles = Roles(quasi_identifiers=["age"], sensitive=["illness"])
    >>> found = measure(read_microdata(frame, roles=roles))
    >>> found.k, found.sensitive["illness"].distinct, found.sensitive["illness"].equal
    (2, 1, 0.25)
    """
    check_microdata(data)
    check_between(c, "c", 1e-12, float("inf"))
    classes = read_classes(data, original=original)
    sizes = classes.sizes
    risk = measure_average_risk(classes)
    smallest = sizes.min(initial=np.inf)
    return Measures(
        rows=len(data),
        classes=classes.count,
        k=int(smallest) if classes.count else 0,
        uniques=int((sizes == 1).sum()),  # a class that matches one record has one
        average_class_size=1 / risk if risk else 0.0,
        highest_risk=float(1 / smallest),
        average_risk=risk,
        sensitive={name: _measure_column(classes, name, c) for name in data.roles.sensitive},
        ids=classes.ids.astype(np.int32, copy=False),
        sizes=sizes,
    )


def check(data: Microdata, models: Model | Iterable[Model], *, original: Microdata | None = None) -> dict[Model, bool]:
    """Return for each model, or for a single one, whether a file satisfies it.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> from celosia.anonymity.models import AverageRisk, KAnonymity
    >>> data = read_microdata(pa.table({"sex": ["M", "M", "F"]}), roles=Roles(quasi_identifiers=["sex"]))
    >>> check(data, [KAnonymity(2), AverageRisk(0.7)])
    {KAnonymity(k=2): False, AverageRisk(most=0.7): True}
    """
    check_microdata(data)
    asked = (models,) if isinstance(models, FileModel | ClassModel) else tuple(models)
    classes = read_classes(data, asked, original=original)
    return {model: holds(model, classes) for model in asked}


def holds(model: Model, classes: Classes) -> bool:
    """Return whether all classes with records, and all people of a population, satisfy a model."""
    if isinstance(model, FileModel):
        return model.is_satisfied(classes)
    return not find_violations([model], classes).any()


def find_violations(models: Iterable[Model], classes: Classes) -> "NDArray[np.bool_]":
    """Return which classes violate one of the models of classes.

    Classes without records violate only a model that judges the population.
    """
    present = classes.members > 0
    violating = np.zeros(classes.count, dtype=np.bool_)
    for model in models:
        if not isinstance(model, FileModel):
            judged = present if model.survives_dropping else np.ones_like(present)
            violating |= judged & ~model.find_satisfied(classes)
    return violating


def _measure_column(classes: Classes, name: str, c: float) -> SensitiveMeasures:
    histogram = classes.count_sensitive(name)
    known = histogram.totals > 0
    by_class = {kind: np.where(known, found, np.nan) for kind, found in _measure_all(histogram, c).items()}
    worst = {
        kind: None if not known.any() else float((np.nanmin if kind in _LEAST else np.nanmax)(found))
        for kind, found in by_class.items()
    }
    return SensitiveMeasures(
        distinct=_to_int(worst["distinct"]),
        entropy=worst["entropy"],
        recursive=_to_int(worst["recursive"]),
        equal=worst["equal"],
        ordered=worst["ordered"],
        hierarchical=worst.get("hierarchical"),
        alpha=worst["alpha"],
        by_class=by_class,
    )


_LEAST = {"distinct", "entropy", "recursive"}


def _measure_all(histogram: Histogram, c: float) -> "dict[str, NDArray[np.float64]]":
    found = {
        "distinct": count_values(histogram),
        "entropy": measure_entropy(histogram),
        "recursive": measure_recursive(histogram, c),
        "equal": measure_equal(histogram),
        "ordered": measure_ordered(histogram),
        "alpha": find_largest(histogram),
    }
    if histogram.column.levels is not None:
        found["hierarchical"] = measure_hierarchical(histogram)
    return found


def _to_int(value: float | None) -> int | None:
    return None if value is None else int(value)
