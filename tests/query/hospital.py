"""A hospital's table of admissions, messy as hospitals write it, and the same rows clean, to compute truths from.

Patients have 4 rows in the median and 638 at most; those with many rows stay longer, cost more and come back more
often. There are nulls, values beyond the bounds, dates with the day first, and diagnoses in free text with stray blanks
and capitals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Texts = NDArray[np.object_]

__all__ = ["ENGLISH", "MOST", "SPANISH", "WARDS", "Dialect", "Hospital", "admit", "frame_of", "texts_of", "write_csv"]

MOST: Final = 638
"""The rows of the patient who has most."""

WARDS: Final = (
    "Cardiología",
    "Cirugía",
    "Medicina interna",
    "Neumología",
    "Oncología",
    "Pediatría",
    "Urgencias",
    "UCI",
)
DIAGNOSES: Final = (
    "neumonía", "insuficiencia cardíaca", "infección urinaria", "apendicitis", "fractura de cadera", "ictus",
    "infarto agudo de miocardio", "diabetes", "bronquitis", "infección respiratoria", "anemia", "sepsis", "migraña",
    "gastroenteritis", "hipertensión", "insuficiencia renal", "asma", "pancreatitis", "celulitis", "trombosis",
)  # fmt: skip
SCHEMA: Final = """
[table]
name = "admissions"
{limits}
delimiter = "{dialect.delimiter}"
encoding = "{dialect.encoding}"
decimal = "{dialect.decimal}"
date_format = "{dialect.date}"
null_values = ["{dialect.empty}"]

[columns.age]
kind = "integer"
low = 0
high = 120

[columns.sex]
kind = "category"
values = ["F", "M"]

[columns.ward]
kind = "category"
values = [{wards}]

[columns.admitted]
kind = "date"
low = "2021-01-01"
high = "2021-12-31"

[columns.days]
kind = "integer"
low = 0
high = 60

[columns.cost]
kind = "real"
low = 0
high = 20000
grid = "0.01"

[columns.diagnosis]
kind = "text"

[columns.readmitted]
{readmitted}
"""
_FIRST_DAY = np.datetime64("2021-01-01")
_SHARE_EMPTY = 0.03


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a spreadsheet writes its cells."""

    delimiter: str
    decimal: str
    encoding: str
    date: str
    words: tuple[str, str]
    empty: str

    def schema(self, limits: str) -> str:
        """What the owner declares in a schema file; ``limits`` are lines that make patients the unit."""
        yes, no = self.words
        kind = 'kind = "boolean"' if (yes, no) == ("yes", "no") else f'kind = "category"\nvalues = ["{yes}", "{no}"]'
        wards = ", ".join(f'"{ward}"' for ward in WARDS)
        return SCHEMA.format(dialect=self, limits=limits, wards=wards, readmitted=kind)


ENGLISH: Final = Dialect(delimiter=",", decimal=".", encoding="utf-8", date="%Y-%m-%d", words=("yes", "no"), empty="NA")
SPANISH: Final = Dialect(
    delimiter=";", decimal=",", encoding="latin-1", date="%d/%m/%Y", words=("Sí", "No"), empty="s/d"
)


@dataclass(frozen=True, kw_only=True)
class Hospital:
    """Admissions as they happened: numbers beyond the bounds, and -1 where there is none."""

    patient: NDArray[np.int64]
    age: NDArray[np.int64]
    sex: NDArray[np.int64]
    ward: NDArray[np.int64]
    admitted: NDArray[np.int64]
    days: NDArray[np.int64]
    cents: NDArray[np.int64]
    diagnosis: NDArray[np.int64]
    readmitted: NDArray[np.bool_]
    mess: NDArray[np.int64]

    def clean(self) -> pa.Table:
        """The rows as the schema reads them: typed, within the bounds, null where nothing is known."""

        def known(numbers: NDArray[np.int64], high: int) -> pa.Array:
            return pa.array(np.clip(numbers, 0, high), mask=numbers < 0)

        named = {name: np.array(list(values), dtype=object) for name, values in (("sex", "FM"), ("ward", WARDS))}
        return pa.table(
            {
                "patient": self.patient,
                "age": known(self.age, 120),
                "sex": pa.array(named["sex"][self.sex], mask=self.sex < 0),
                "ward": pa.array(named["ward"][self.ward]),
                "admitted": pa.array((_FIRST_DAY + self.admitted).astype("datetime64[D]"), mask=self.admitted < 0),
                "days": known(self.days, 60),
                "cost": pa.array(np.clip(self.cents, 0, 2_000_000) / 100, mask=self.cents < 0),
                "diagnosis": pa.array(np.array([text.upper() for text in DIAGNOSES], dtype=object)[self.diagnosis]),
                "readmitted": pa.array(self.readmitted),
            }
        )


def admit(patients: int, seed: int = 16) -> Hospital:
    """Draw the admissions of a number of patients; about six and a half of each."""
    draw = np.random.default_rng(seed)
    size = np.minimum(MOST, np.rint(np.exp(draw.normal(np.log(4), 1.02, patients)))).astype(np.int64)
    size = np.maximum(size, 1)
    size[0] = MOST
    order = draw.permutation(int(size.sum()))
    patient, often = (np.repeat(each, size)[order] for each in (np.arange(patients), size))
    rows = len(patient)
    frailty = np.log(often)

    def emptied(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(draw.random(rows) < _SHARE_EMPTY, -1, numbers)

    age = np.rint(np.clip(draw.normal(58, 19, patients)[patient] + 2 * frailty, 0, 104)).astype(np.int64)
    age[draw.random(rows) < 0.002] = 930  # a year of birth without its first digit
    days = np.rint(draw.gamma(1.5, 1.2 + frailty)).astype(np.int64)
    cents = (100 * draw.gamma(2.0, 300 * (1 + days + frailty))).astype(np.int64)
    cents[draw.random(rows) < 0.001] = 99_999_999
    rank = np.minimum(draw.zipf(1.35, rows), 10 * len(DIAGNOSES)) % len(DIAGNOSES)
    return Hospital(
        patient=patient,
        age=emptied(age),
        sex=emptied(draw.integers(0, 2, patients)[patient]),
        ward=draw.choice(len(WARDS), rows, p=np.arange(1, 9) / 36),
        admitted=emptied(np.minimum(364, (365 * draw.beta(1.2, 1.0, rows)).astype(np.int64))),
        days=emptied(days),
        cents=emptied(cents),
        diagnosis=rank,
        readmitted=draw.random(rows) < np.clip(0.08 + 0.1 * frailty, 0, 0.9),
        mess=draw.integers(0, 5, rows),
    )


# ---------------------------------------------------------------------------------------------------------- writing


def texts_of(hospital: Hospital, dialect: Dialect) -> dict[str, Texts]:
    """The cells of each column as the dialect writes them."""
    return {
        "patient": _texts(np.char.add("P", np.char.zfill(hospital.patient.astype(str), 6))),
        "age": _filled(hospital.age.astype(str), hospital.age < 0, dialect.empty),
        "sex": _filled(np.array(["F", "M"])[hospital.sex], hospital.sex < 0, ""),
        "ward": _texts(np.array(WARDS)[hospital.ward]),
        "admitted": _filled(_dates(hospital.admitted, dialect.date), hospital.admitted < 0, ""),
        "days": _filled(hospital.days.astype(str), hospital.days < 0, dialect.empty),
        "cost": _filled(_decimals(hospital.cents, dialect.decimal), hospital.cents < 0, ""),
        "diagnosis": _messy(hospital.diagnosis, hospital.mess),
        "readmitted": _texts(np.where(hospital.readmitted, *dialect.words)),
    }


def frame_of(hospital: Hospital) -> pd.DataFrame:
    """The rows as a notebook holds them: floats with gaps, ``datetime.date`` objects, and yes and no."""
    texts = texts_of(hospital, ENGLISH)
    empty = {name: getattr(hospital, name) < 0 for name in ("age", "sex", "admitted", "days")}
    objects = texts | {"admitted": (_FIRST_DAY + hospital.admitted).astype("datetime64[D]").astype(object)}
    for name in ("sex", "admitted"):
        objects[name][empty[name]] = None
    numbers = {name: np.where(empty[name], np.nan, getattr(hospital, name)) for name in ("age", "days")}
    return pd.DataFrame(objects | numbers | {"cost": np.where(hospital.cents < 0, np.nan, hospital.cents / 100)})


def write_csv(hospital: Hospital, path: Path, dialect: Dialect) -> None:
    """Write the rows as a file of the dialect."""
    columns = texts_of(hospital, dialect)
    lines, *others = columns.values()
    for cells in others:
        lines = lines + dialect.delimiter + cells
    text = "\r\n".join([dialect.delimiter.join(columns), *lines.tolist(), ""])
    path.write_bytes(text.encode(dialect.encoding))


def _texts(values: Any) -> Texts:
    return np.asarray(values).astype(object)


def _filled(values: Any, empty: NDArray[np.bool_], sign: str) -> Texts:
    return _texts(np.where(empty, sign, values))


def _dates(days: NDArray[np.int64], form: str) -> Texts:
    calendar = [day.strftime(form) for day in (_FIRST_DAY + np.arange(365)).astype(object)]
    return _texts(np.array(calendar)[days])


def _decimals(cents: NDArray[np.int64], sign: str) -> Texts:
    whole, part = np.divmod(cents, 100)
    return _texts(np.char.add(np.char.add(whole.astype(str), sign), np.char.zfill(part.astype(str), 2)))


def _messy(which: NDArray[np.int64], mess: NDArray[np.int64]) -> Texts:
    """The diagnoses as five typists write them."""
    table = np.array([[t, t.upper(), t.capitalize(), f" {t}", f"{t.title()}  "] for t in DIAGNOSES])
    return _texts(table[which, mess])
