"""Mondrian multidimensional k-anonymity (LeFevre, DeWitt and Ramakrishnan 2006).

The records are split again and again near the median of one quasi-identifier, the one that spans most of its domain,
as long as ``k`` stay on both sides. Each class then shows ranges and sets in place of values. Whoever knows all
quasi-identifiers of a person finds a class of ``k`` or more, but also learns what the whole class has in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from celosia.anonymity.generalization.mondrian.classes import Classes, find_classes, merge_records, separate_records
from celosia.anonymity.generalization.mondrian.domains import Domain, as_coded, read_domain
from celosia.anonymity.generalization.mondrian.guarded import find_guarded_classes, read_judge
from celosia.anonymity.generalization.mondrian.labels import label_classes
from celosia.anonymity.generalization.recoding.columns import replace_column
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.models import ClassModel, Model
from celosia.core.errors import InfeasibleError, ParameterError, SchemaError
from celosia.core.exact import exact_integer, safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source

LabelKind: TypeAlias = Literal["values", "hierarchy"]
_LABELS: Final = ("values", "hierarchy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian:
    """Generalize the quasi-identifiers of each class of at least ``k`` similar records to what they span.

    Parameters
    ----------
    k
        The least number of records of a class.
    labels
        ``"values"``: ranges of numbers such as ``20-29`` and sets of names such as ``{a, b}``. ``"hierarchy"``: the
        label of the lowest level of the column's hierarchy that covers them.
    categorical
        Columns whose numbers are names, such as codes of occupations.
    relaxed
        Whether equal values may go to both sides of a median, which gives smaller classes that overlap;
        ``source`` draws which.
    within_strata
        Whether each stratum is split separately; it then needs ``k`` records.
    models
        Further privacy models that each class must satisfy, such as ``DistinctDiversity``. Models of the file as a
        whole, and those that compare with a population, are not possible here.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"age": [21, 24, 38, 45], "sex": ["F", "M", "M", "M"], "illness": list("abcd")})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["age", "sex"], sensitive=["illness"]))
    >>> Mondrian(k=2).apply(data).table.drop_columns(["illness"]).to_pylist()[1:3]
    [{'age': '21-24', 'sex': '{F, M}'}, {'age': '38-45', 'sex': 'M'}]
    """

    k: int
    labels: LabelKind = "values"
    categorical: Sequence[str] = ()
    relaxed: bool = False
    within_strata: bool = False
    models: tuple[Model, ...] = ()

    def __post_init__(self) -> None:
        """Raise unless ``k`` is a positive integer."""
        exact_integer(self.k, name="k", least=1)
        if self.labels not in _LABELS:
            known = ", ".join(_LABELS)
            raise ParameterError("anonymity_recoding.unknown_labels", value=safe_repr(self.labels), known=known)
        if isinstance(self.categorical, str):
            raise ParameterError("anonymity.names_not_a_list", role="categorical", value=safe_repr(self.categorical))
        object.__setattr__(self, "models", tuple(self.models))
        for model in self.models:
            if not isinstance(model, ClassModel) or getattr(model, "population", None) is not None:
                raise ParameterError("anonymity_recoding.model_not_of_classes", model=safe_repr(type(model).__name__))

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with generalized quasi-identifiers; a column whose classes are all exact stays as it is.

        Here a null is a value of its own, so a class is ``k`` rows that are equal. As wildcards, nulls only add
        matches: equal rows match whatever a null means. So the result is k-anonymous under both meanings.
        """
        domains = self._read_domains(data)
        strata = self._read_strata(data)
        columns = [as_coded(domain) for domain in domains]
        guards = [model for model in self.models if isinstance(model, ClassModel)]
        judged = data.encode(dict.fromkeys(name for model in guards for name in model.columns))
        if self.relaxed:
            rows = separate_records(data, strata, columns, source)
        else:
            rows = merge_records(strata, [*columns, *judged])
        if guards:
            judge = read_judge(data, rows, guards)
            classes = find_guarded_classes(domains, rows, judge, k=self.k, relaxed=self.relaxed)
        else:
            classes = find_classes(domains, rows, k=self.k, relaxed=self.relaxed)
        for domain in domains:
            data = _label(data, domain, classes, use_hierarchy=self.labels == "hierarchy")
        return data

    def _read_domains(self, data: Microdata) -> list[Domain]:
        data.encode(self.categorical)  # raises if there is no such column
        names = data.roles.quasi_identifiers
        if not names:
            raise SchemaError("anonymity.no_quasi_identifier")
        return [read_domain(data, name, categorical=name in self.categorical) for name in names]

    def _read_strata(self, data: Microdata) -> "NDArray[np.int32]":
        """Return the stratum of each record, or raise if one has fewer than ``k``."""
        if len(data) < self.k:
            raise InfeasibleError("anonymity_recoding.too_few_records", k=self.k)
        strata = data.strata if self.within_strata else np.zeros(len(data), dtype=np.int32)
        if np.bincount(strata).min() < self.k:
            raise InfeasibleError("anonymity_recoding.stratum_too_small", name=safe_repr(data.roles.stratum), k=self.k)
        return strata


def _label(data: Microdata, domain: Domain, classes: Classes, *, use_hierarchy: bool) -> Microdata:
    """Return the file with the labels of classes in one column."""
    import pyarrow as pa

    codes = domain.codes[classes.examples]
    found = label_classes(domain, codes, classes.starts, use_hierarchy=use_hierarchy)
    if found is None:
        return data
    places = found.codes[classes.ids]
    column = found.labels.take(pa.array(places, mask=places < 0))
    return replace_column(data, domain.name, column, found.shares[classes.ids])
