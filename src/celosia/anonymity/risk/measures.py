"""The disclosure risk of a file: of each record, of households, and of the whole.

Three intruders are told apart (El Emam 2013). The prosecutor knows that a person is in the file, and is right with
probability 1/f in a class of f records. The journalist does not, and is right with 1/F, where F is the size of the
class in the population. The marketer links every record, and is right for a part of them. The individual risk is the
mean of 1/F where F is estimated from sampling weights (see ``individual``); that of a household is the probability that
one of its members is found. All of them assume that the intruder knows the quasi-identifiers, without errors, and
nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding import Coded, encode
from celosia.anonymity.microdata import Microdata, check_microdata
from celosia.anonymity.microdata.figures import Figure, is_number, write_figures, write_number, write_percent
from celosia.anonymity.risk.classes import count_class
from celosia.anonymity.risk.individual import estimate_individual_risk
from celosia.core.errors import InputError, ParameterError, SchemaError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.data.sources.frames import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_LEAST_RELATIVE: Final = 0.1  # of a risk that is called high by comparison with the others
_MAD: Final = 1.482602218505602  # makes the median absolute deviation that of a normal distribution


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RiskMeasures:
    """The risk of each record and of the file. ``measure_risk`` makes one.

    Attributes
    ----------
    frequencies
        The number of records in the class of each record.
    populations
        The number of persons of the population in that class, as the weights or the population's table say.
    individual
        The probability that the record is re-identified.
    household
        The probability that some member of its household is.
    strata
        The stratum of each record.
    threshold
        The risk above which a record counts as unsafe.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, measure_risk, read_microdata
    >>> data = read_microdata(pa.table({"sex": list("MMF")}), roles=Roles(quasi_identifiers=["sex"]))
    >>> risk = measure_risk(data)
    >>> risk.expected, risk.prosecutor.tolist()
    (2.0, [0.5, 0.5, 1.0])
    """

    frequencies: "NDArray[np.int64]" = field(repr=False)
    populations: "NDArray[np.float64]" = field(repr=False)
    individual: "NDArray[np.float64]" = field(repr=False)
    household: "NDArray[np.float64]" = field(repr=False)
    strata: "NDArray[np.int32]" = field(repr=False)
    threshold: float

    @property
    def smallest_class(self) -> int:
        """The k of k-anonymity."""
        return int(self.frequencies.min())

    @property
    def smallest_population(self) -> float:
        """The k of a k-map: the least number of persons of the population that a record may belong to."""
        return float(self.populations.min())

    @property
    def uniques(self) -> int:
        """The number of records that no other matches."""
        return int((self.frequencies == 1).sum())

    @property
    def expected(self) -> float:
        """The expected number of re-identifications."""
        return float(self.individual.sum())

    @property
    def rate(self) -> float:
        """The expected share of records that are re-identified: the global risk."""
        return float(self.individual.mean())

    @property
    def household_expected(self) -> float:
        """The expected number of records in a household of which some member is re-identified."""
        return float(self.household.sum())

    @property
    def household_rate(self) -> float:
        """The share of records in such a household, as expected."""
        return float(self.household.mean())

    @property
    def prosecutor(self) -> "NDArray[np.float64]":
        """The risk of each record if the intruder knows that the person is in the file."""
        return 1.0 / self.frequencies

    @property
    def journalist(self) -> "NDArray[np.float64]":
        """The risk of each record if the intruder only knows that the person is in the population."""
        return 1.0 / self.populations

    @property
    def marketer(self) -> float:
        """The share of records that an intruder who links all of them to the population gets right."""
        return float(self.journalist.mean())

    @property
    def unsafe(self) -> "NDArray[np.bool_]":
        """The records whose risk is above the threshold."""
        return self.individual > self.threshold

    @property
    def outstanding(self) -> "NDArray[np.bool_]":
        """The records whose risk is above that of most others, and above a tenth.

        It is above the median by more than two median absolute deviations, the rule of sdcMicro.
        """
        middle = np.median(self.individual)
        deviation = _MAD * np.median(np.abs(self.individual - middle))
        chosen: NDArray[np.bool_] = (self.individual > middle + 2 * deviation) & (self.individual > _LEAST_RELATIVE)
        return chosen

    @property
    def stratum_rates(self) -> "NDArray[np.float64]":
        """The global risk of each stratum."""
        rates: NDArray[np.float64] = np.bincount(self.strata, weights=self.individual) / np.bincount(self.strata)
        return rates

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What the table shows: the name of each figure, and its value."""
        return (
            (Message("anonymity_risk.records"), write_number(len(self.frequencies))),
            (Message("anonymity_risk.smallest_class"), write_number(self.smallest_class)),
            (Message("anonymity_risk.smallest_population"), write_number(self.smallest_population)),
            (Message("anonymity_risk.uniques"), write_percent(self.uniques / len(self.frequencies))),
            (Message("anonymity_risk.expected"), write_number(self.expected)),
            (Message("anonymity_risk.rate"), write_percent(self.rate)),
            (Message("anonymity_risk.household_rate"), write_percent(self.household_rate)),
            (Message("anonymity_risk.unsafe", threshold=self.threshold), write_percent(float(self.unsafe.mean()))),
            (Message("anonymity_risk.outstanding"), write_percent(float(self.outstanding.mean()))),
            (Message("anonymity_risk.prosecutor_most"), write_percent(float(self.prosecutor.max()))),
            (Message("anonymity_risk.prosecutor_mean"), write_percent(float(self.prosecutor.mean()))),
            (Message("anonymity_risk.journalist_most"), write_percent(float(self.journalist.max()))),
            (Message("anonymity_risk.marketer"), write_percent(self.marketer)),
        )

    def describe(self, language: str = "en") -> str:
        """Return the table in a language."""
        return write_figures(self.figures, language)

    def __str__(self) -> str:
        return self.describe()


def measure_risk(data: Microdata, *, population: object = None, threshold: float = 0.1) -> RiskMeasures:
    """Return the risk that records are re-identified by their quasi-identifiers.

    Without weights and without a population, the file is all the population, and the risk of a record is 1/f.

    Parameters
    ----------
    data
        The file. Its weights say how many persons a record stands for, its households who lives together.
    population
        The table of the population, if there is one: any frame with the quasi-identifiers, coded as in the file. The
        risk is then exactly 1/F, and no weights are used.
    threshold
        The risk above which a record counts as unsafe.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"sex": list("MMF"), "weight": [60.0, 50.0, 17.0]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["sex"], weight="weight"))
    >>> risk = measure_risk(data)
    >>> risk.individual.round(6).tolist(), round(risk.expected, 4)
    ([0.017144, 0.017144, 0.177076], 0.2114)
    """
    check_microdata(data)
    if not is_number(threshold) or not 0 <= threshold <= 1:
        raise ParameterError("anonymity_risk.not_a_share", name="threshold", value=safe_repr(threshold))
    keys = data.encode_quasi_identifiers()
    sample = count_class(data, keys)
    if population is not None:
        persons = _count_population(data, read_columns(population, data.roles.quasi_identifiers))
        if (persons < sample).any():
            raise InputError("anonymity_risk.population_too_small")
        individual = 1.0 / persons
    elif data.roles.weight is None:
        persons, individual = sample, 1.0 / sample
    else:
        persons = count_class(data, keys, data.weights)
        individual = estimate_individual_risk(sample, persons)
    return RiskMeasures(
        frequencies=np.rint(sample).astype(np.int64),
        populations=persons,
        individual=individual,
        household=combine_members(individual, data.households),
        strata=data.strata,
        threshold=float(threshold),
    )


def combine_members(risks: "NDArray[np.float64]", households: "NDArray[np.int32]") -> "NDArray[np.float64]":
    """Return for each record the probability that some member of its household is found, independently of the others.

    >>> combine_members(np.array([0.5, 0.5, 0.1]), np.array([0, 0, 1], dtype=np.int32)).round(6).tolist()
    [0.75, 0.75, 0.1]
    """
    with np.errstate(divide="ignore"):
        logs = np.log1p(-risks)
    found: NDArray[np.float64] = -np.expm1(np.bincount(households, weights=logs))[households]
    return found


def read_columns(frame: object, names: Sequence[str]) -> "pa.Table":
    """Return some columns of a public table, or raise the error that names the one that is missing."""
    table = to_arrow(frame)
    if missing := [name for name in names if name not in table.column_names]:
        known = ", ".join(map(safe_repr, table.column_names))
        raise SchemaError("anonymity_risk.column_missing", name=safe_repr(missing[0]), known=known)
    return table.select(list(names))


def _count_population(data: Microdata, table: "pa.Table") -> "NDArray[np.float64]":
    """Return how many persons of the population are in the class of each record."""
    names = data.roles.quasi_identifiers
    columns = [_encode_together(data, table, name) for name in names]
    outside = np.zeros(len(data) + table.num_rows)
    outside[len(data) :] = 1
    return count_class(data, columns, outside)[: len(data)]


def _encode_together(data: Microdata, table: "pa.Table", name: str) -> Coded:
    import pyarrow as pa

    column = data.get_column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    try:
        both = pa.chunked_array([column.cast(kind), *table.column(name).cast(kind).chunks], kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise SchemaError(
            "anonymity_risk.column_of_other_type", name=safe_repr(name), type=str(kind), other=str(table[name].type)
        ) from None
    return encode(both, name=name)
