"""Generate the synthetic deaths from integer weights written for the purpose, and one seeded stream.

Cause, sex and age are drawn together from one table of exact integer weights, the state independently. The ages of a
cause follow a polynomial bell ``(age + 1)^rise * (108 - age)^fall``, with its peak near ``108 rise / (rise + fall)``.
All arithmetic is on integers, so the table is the same on every machine. Under 18, diabetes is left out of that draw,
and exactly 108 such deaths are added, for the example that counts them. The bundled file is
``pyarrow.parquet.write_table(make_deaths(), "deaths_2021.parquet", compression="zstd")``.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from celosia.data.bundled.deaths import AGES, CAUSES, DIABETES, SEXES, STATES
from celosia.noise import Seeded, categorical, permutation

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core import Source

_ROWS: Final = 200_000
_MINORS_BY_DIABETES: Final = 108
_ADULT: Final = 18
_SEED: Final = 2021
_MAX_AGE: Final = AGES[1]
_END: Final = 108  # no age in the table reaches this, though the domain allows it
_PROFILE_TOTAL: Final = 1 << 24  # every age profile is scaled to about this sum, so that causes keep their weights
_DESCRIPTION: Final = (
    "SYNTHETIC: 200,000 invented deaths in 2021, drawn by celosia.data.make_deaths from weights written for examples. "
    "No record is about a person; the numbers say nothing about mortality."
)


class _Profile(NamedTuple):
    """The weight of a cause, the women in a thousand of its deaths, and the exponents of its age bell."""

    weight: int
    women: int
    rise: int
    fall: int


_PROFILES: Final[dict[str, _Profile]] = {
    "A419": _Profile(14, 490, 5, 3),
    "B24X": _Profile(9, 160, 5, 10),
    "C169": _Profile(12, 460, 8, 6),
    "C189": _Profile(12, 480, 9, 6),
    "C220": _Profile(12, 500, 10, 6),
    "C259": _Profile(10, 520, 10, 6),
    "C349": _Profile(14, 390, 12, 7),
    "C509": _Profile(16, 992, 9, 8),
    "C539": _Profile(8, 1000, 8, 8),
    "C61X": _Profile(15, 0, 22, 9),
    "C910": _Profile(5, 440, 1, 5),
    "D649": _Profile(6, 530, 5, 2),
    "E101": _Profile(3, 500, 5, 6),
    "E109": _Profile(4, 500, 5, 6),
    "E112": _Profile(60, 480, 11, 8),
    "E115": _Profile(20, 470, 12, 7),
    "E119": _Profile(85, 510, 11, 7),
    "E149": _Profile(70, 500, 11, 7),
    "E46X": _Profile(10, 540, 8, 2),
    "G20X": _Profile(5, 420, 24, 9),
    "G309": _Profile(5, 600, 30, 10),
    "G409": _Profile(6, 390, 2, 4),
    "I10X": _Profile(30, 560, 16, 6),
    "I110": _Profile(45, 550, 16, 6),
    "I219": _Profile(265, 440, 11, 6),
    "I259": _Profile(30, 450, 15, 6),
    "I500": _Profile(16, 510, 14, 5),
    "I619": _Profile(24, 480, 7, 5),
    "I639": _Profile(14, 510, 14, 6),
    "I64X": _Profile(24, 520, 13, 5),
    "J189": _Profile(55, 430, 5, 3),
    "J440": _Profile(17, 480, 20, 7),
    "J449": _Profile(38, 470, 20, 7),
    "K703": _Profile(25, 100, 8, 10),
    "K746": _Profile(52, 340, 9, 8),
    "N185": _Profile(22, 450, 6, 5),
    "N189": _Profile(24, 450, 6, 5),
    "N390": _Profile(12, 560, 10, 3),
    "P220": _Profile(15, 420, 0, 900),
    "Q249": _Profile(10, 470, 0, 60),
    "R54X": _Profile(7, 580, 50, 12),
    "U071": _Profile(430, 385, 9, 7),
    "U072": _Profile(40, 400, 9, 7),
    "V892": _Profile(26, 180, 4, 9),
    "W199": _Profile(10, 300, 4, 3),
    "X700": _Profile(16, 170, 4, 11),
    "X954": _Profile(52, 90, 5, 15),
    "X959": _Profile(10, 100, 5, 15),
    "X999": _Profile(12, 120, 5, 13),
}

# Roughly in proportion to the population.
_STATE_WEIGHTS: Final[dict[str, int]] = {
    "Aguascalientes": 11,
    "Baja California": 30,
    "Baja California Sur": 6,
    "Campeche": 7,
    "Coahuila": 26,
    "Colima": 6,
    "Chiapas": 40,
    "Chihuahua": 32,
    "Ciudad de México": 84,
    "Durango": 14,
    "Guanajuato": 49,
    "Guerrero": 28,
    "Hidalgo": 24,
    "Jalisco": 66,
    "México": 134,
    "Michoacán": 38,
    "Morelos": 18,
    "Nayarit": 10,
    "Nuevo León": 45,
    "Oaxaca": 34,
    "Puebla": 53,
    "Querétaro": 18,
    "Quintana Roo": 13,
    "San Luis Potosí": 22,
    "Sinaloa": 23,
    "Sonora": 25,
    "Tabasco": 19,
    "Tamaulipas": 28,
    "Tlaxcala": 11,
    "Veracruz": 69,
    "Yucatán": 19,
    "Zacatecas": 13,
}

# Young deaths by diabetes: mostly of the first type, rarer in early childhood.
_MINOR_CAUSES: Final = {"E101": 6, "E109": 3, "E149": 3, "E119": 1}
_MINOR_AGES: Final = (1, 3, 3, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 8, 8, 9, 10, 11)


def make_deaths() -> "pa.Table":
    """Draw the synthetic deaths anew: always the same table, equal to the bundled one.

    >>> make_deaths().schema.metadata[b"description"].startswith(b"SYNTHETIC")
    True
    """
    source = Seeded(_SEED)
    cells = np.concatenate(
        [
            categorical(_weights().ravel(), _ROWS - _MINORS_BY_DIABETES, source),
            _minors_by_diabetes(source),
        ]
    )
    cause, sex, age = np.unravel_index(cells[permutation(_ROWS, source)], (len(CAUSES), len(SEXES), _MAX_AGE + 1))
    state = categorical(np.array([_STATE_WEIGHTS[name] for name in STATES]), _ROWS, source)
    return _table(age=age, sex=sex, cause=cause, state=state)


def _weights() -> "NDArray[np.int64]":
    """Return the weight of each cause, sex and age."""
    weights = np.zeros((len(CAUSES), len(SEXES), _MAX_AGE + 1), dtype=np.int64)
    for i, code in enumerate(CAUSES):
        profile = _PROFILES[code]
        least = _ADULT if code in DIABETES else 0
        later = profile.rise // 6  # women die somewhat older, of most causes
        weights[i, 0] = profile.weight * profile.women * _bell(profile.rise + later, profile.fall, least)
        weights[i, 1] = profile.weight * (1000 - profile.women) * _bell(profile.rise, profile.fall, least)
    return weights


def _bell(rise: int, fall: int, least: int) -> "NDArray[np.int64]":
    # Python's integers: the powers pass 64 bits long before they are scaled down.
    heights = [(age + 1) ** rise * max(_END - age, 0) ** fall if age >= least else 0 for age in range(_MAX_AGE + 1)]
    total = sum(heights)
    return np.array([height * _PROFILE_TOTAL // total for height in heights], dtype=np.int64)


def _minors_by_diabetes(source: "Source") -> "NDArray[np.int64]":
    """Draw the cells of the joint table for the deaths under 18 by diabetes."""
    weights = np.zeros((len(CAUSES), len(SEXES), _MAX_AGE + 1), dtype=np.int64)
    codes = list(CAUSES)
    for code, weight in _MINOR_CAUSES.items():
        weights[codes.index(code), :, :_ADULT] = weight * np.array(_MINOR_AGES)
    return categorical(weights.ravel(), _MINORS_BY_DIABETES, source)


def _table(
    *,
    age: "NDArray[np.int64]",
    sex: "NDArray[np.int64]",
    cause: "NDArray[np.int64]",
    state: "NDArray[np.int64]",
) -> "pa.Table":
    import pyarrow as pa

    def dictionary(indices: "NDArray[np.int64]", names: tuple[str, ...]) -> "pa.DictionaryArray":
        return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int8)), pa.array(names))

    table = pa.table(
        {
            "age": pa.array(age.astype(np.uint8)),
            "sex": dictionary(sex, SEXES),
            "cause": dictionary(cause, tuple(CAUSES)),
            "state": dictionary(state, STATES),
        }
    )
    return table.replace_schema_metadata({"description": _DESCRIPTION})
