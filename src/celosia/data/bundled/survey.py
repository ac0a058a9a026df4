"""A synthetic household survey, for tutorials and tests of ``celosia.anonymity``.

Households are drawn from integer weights written for the purpose: no record is about a person, and the numbers say
nothing about incomes or health anywhere.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.core.exact import exact_integer
from celosia.noise import Seeded, categorical, uniform_below

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from celosia.core import Source

PROVINCES: Final = {"08": "Barcelona", "11": "Cádiz", "28": "Madrid", "41": "Sevilla", "50": "Zaragoza"}
"""The provinces of the survey, by the first two digits of the postal codes."""

JOBS: Final = {
    "nurse": "health",
    "physician": "health",
    "cook": "services",
    "sales clerk": "services",
    "teacher": "education",
    "professor": "education",
    "programmer": "technology",
    "engineer": "technology",
    "at home": "none",
    "retired": "none",
    "pupil": "none",
}
"""The jobs of the survey, and the sector of each."""

ILLNESSES: Final = ("none", "flu", "hypertension", "asthma", "diabetes", "HIV")
"""The illnesses of the survey, from frequent to rare."""

_PROVINCE_WEIGHTS: Final = (26, 8, 34, 18, 14)
_SIZE_WEIGHTS: Final = (28, 32, 20, 15, 5)  # of households of 1 to 5 persons
_JOB_WEIGHTS: Final = (7, 3, 9, 18, 10, 2, 9, 6, 20)  # of persons of working age
_ILLNESS_WEIGHTS: Final = {False: (70, 16, 6, 5, 2, 1), True: (30, 10, 38, 5, 16, 1)}  # by: from 60 years on
_PAY: Final = (1900, 3600, 1300, 1350, 2000, 2900, 2700, 2900, 500, 1250, 0)  # a month, by job
_FULL_AGE, _OLD, _PENSION, _OLDEST = 18, 60, 67, 95
_POPULATION: Final = 1_000  # persons for each one of the survey, on average


def make_survey(households: int = 1_000, *, source: "Source | None" = None) -> "pa.Table":
    """Return a synthetic household survey: a row for each person.

    The columns are name, household, province, postal code, sex, age, job, pay, illness and weight. Weights say how many
    persons of the population a record stands for; small provinces were asked more often.

    >>> survey = make_survey(100)
    >>> survey.num_rows, survey.column_names[:4]
    (233, ['name', 'household', 'province', 'postal code'])
    """
    import pyarrow as pa

    stream = source or Seeded(2026)
    homes = exact_integer(households, name="households")
    sizes = categorical(np.array(_SIZE_WEIGHTS), homes, stream) + 1
    household = np.repeat(np.arange(homes), sizes)
    place = (np.arange(household.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)).astype(np.int64)
    province = categorical(np.array(_PROVINCE_WEIGHTS), homes, stream)[household]
    codes = list(PROVINCES)
    postal = 1 + uniform_below(40, homes, stream).astype(np.int64)[household]
    age = _draw_ages(household, place, stream)
    job = _draw_jobs(age, stream)
    illness = np.where(
        age >= _OLD,
        categorical(np.array(_ILLNESS_WEIGHTS[True]), age.size, stream),
        categorical(np.array(_ILLNESS_WEIGHTS[False]), age.size, stream),
    )
    weight = _POPULATION * np.array(_PROVINCE_WEIGHTS)[province] / 20
    return pa.table(
        {
            "name": [f"person {number:05}" for number in range(1, age.size + 1)],
            "household": household + 1,
            "province": [PROVINCES[codes[one]] for one in province],
            "postal code": [f"{codes[one]}{code:03}" for one, code in zip(province, postal, strict=True)],
            "sex": pa.array(["F", "M"]).take(pa.array(uniform_below(2, age.size, stream).astype(np.int64))),
            "age": age,
            "job": pa.array(list(JOBS)).take(pa.array(job)),
            "pay": _draw_pay(age, job, stream),
            "illness": pa.array(ILLNESSES).take(pa.array(illness)),
            "weight": weight,
        }
    )


def _draw_ages(household: "NDArray[np.int64]", place: "NDArray[np.int64]", stream: "Source") -> "NDArray[np.int64]":
    """Return ages: the first two of a household are adults of like age, the others some 30 years younger."""
    homes = int(household[-1]) + 1
    adult = 22 + uniform_below(40, homes, stream).astype(np.int64) + uniform_below(34, homes, stream).astype(np.int64)
    apart = uniform_below(11, household.size, stream).astype(np.int64) - 5
    younger = np.where(place >= 2, 30, 0)
    ages: NDArray[np.int64] = np.clip(adult[household] + apart - younger, 0, _OLDEST)
    return ages


def _draw_jobs(age: "NDArray[np.int64]", stream: "Source") -> "NDArray[np.int64]":
    jobs = categorical(np.array(_JOB_WEIGHTS), age.size, stream)
    retired, pupil = list(JOBS).index("retired"), list(JOBS).index("pupil")
    found: NDArray[np.int64] = np.where(age < _FULL_AGE, pupil, np.where(age >= _PENSION, retired, jobs))
    return found


def _draw_pay(age: "NDArray[np.int64]", job: "NDArray[np.int64]", stream: "Source") -> "NDArray[np.int64]":
    """Return the pay of a month in euros: that of the job, up to a fifth more or less, and more with age."""
    part = 80 + uniform_below(41, age.size, stream).astype(np.int64)
    years = np.clip(age - 25, 0, 40)
    pay: NDArray[np.int64] = np.array(_PAY)[job] * part * (100 + years) // 10_000
    return pay
