"""A synthetic table of 200,000 deaths registered in 2021, with the domain of each column.

It has the shape of a national register of deaths, for examples that need one: ``age`` in completed years, ``sex``,
``cause`` (ICD-10, four characters, ``X`` where there is no subdivision) and ``state`` of Mexico. **No record is about a
person.** Every record was drawn from invented integer weights (``celosia.data.bundled.synthetic``); no record and no
table was copied. Two facts are set so that the textbook example works: 108 minors died of diabetes, and the most common
causes are U071 and then I219. Do not quote it as a source about mortality.

The ages, sexes, causes and states below are the public domain of each column, fixed without looking at the records.
"""

from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

AGES: Final = (0, 120)
"""The least and the greatest age, both included."""

SEXES: Final = ("F", "M")
"""Female and male, as registered."""

CAUSES: Final[dict[str, str]] = {
    "A419": "Sepsis, unspecified",
    "B24X": "HIV disease, unspecified",
    "C169": "Cancer of the stomach",
    "C189": "Cancer of the colon",
    "C220": "Cancer of the liver",
    "C259": "Cancer of the pancreas",
    "C349": "Cancer of the lung",
    "C509": "Cancer of the breast",
    "C539": "Cancer of the cervix",
    "C61X": "Cancer of the prostate",
    "C910": "Acute lymphoblastic leukaemia",
    "D649": "Anaemia, unspecified",
    "E101": "Type 1 diabetes with ketoacidosis",
    "E109": "Type 1 diabetes without complications",
    "E112": "Type 2 diabetes with renal complications",
    "E115": "Type 2 diabetes with circulatory complications",
    "E119": "Type 2 diabetes without complications",
    "E149": "Diabetes, unspecified",
    "E46X": "Malnutrition, unspecified",
    "G20X": "Parkinson's disease",
    "G309": "Alzheimer's disease",
    "G409": "Epilepsy, unspecified",
    "I10X": "Primary hypertension",
    "I110": "Hypertensive heart disease with heart failure",
    "I219": "Acute myocardial infarction",
    "I259": "Chronic ischaemic heart disease",
    "I500": "Congestive heart failure",
    "I619": "Intracerebral haemorrhage",
    "I639": "Cerebral infarction",
    "I64X": "Stroke, unspecified",
    "J189": "Pneumonia, unspecified",
    "J440": "Obstructive lung disease with infection",
    "J449": "Obstructive lung disease, unspecified",
    "K703": "Alcoholic cirrhosis of the liver",
    "K746": "Other cirrhosis of the liver",
    "N185": "Chronic kidney disease, stage 5",
    "N189": "Chronic kidney disease, unspecified",
    "N390": "Urinary tract infection",
    "P220": "Respiratory distress of the newborn",
    "Q249": "Congenital malformation of the heart",
    "R54X": "Senility",
    "U071": "COVID-19, virus identified",
    "U072": "COVID-19, virus not identified",
    "V892": "Motor vehicle accident",
    "W199": "Fall, unspecified",
    "X700": "Self-harm by hanging, at home",
    "X954": "Assault by firearm, in the street",
    "X959": "Assault by firearm, place unspecified",
    "X999": "Assault by sharp object",
}
"""The codes that occur, with their names."""

DIABETES: Final = tuple(code for code in CAUSES if "E10" <= code[:3] <= "E14")
"""The causes that are diabetes: ICD-10 E10 to E14."""

VIOLENCE: Final = tuple(code for code in CAUSES if "X85" <= code[:3] <= "Y09")
"""The causes that are violence: ICD-10 X85 to Y09."""

STATES: Final = (
    "Aguascalientes",
    "Baja California",
    "Baja California Sur",
    "Campeche",
    "Coahuila",
    "Colima",
    "Chiapas",
    "Chihuahua",
    "Ciudad de México",
    "Durango",
    "Guanajuato",
    "Guerrero",
    "Hidalgo",
    "Jalisco",
    "México",
    "Michoacán",
    "Morelos",
    "Nayarit",
    "Nuevo León",
    "Oaxaca",
    "Puebla",
    "Querétaro",
    "Quintana Roo",
    "San Luis Potosí",
    "Sinaloa",
    "Sonora",
    "Tabasco",
    "Tamaulipas",
    "Tlaxcala",
    "Veracruz",
    "Yucatán",
    "Zacatecas",
)
"""The federal entities of Mexico, in their official order."""

_FILE = "deaths_2021.parquet"


def deaths() -> "pa.Table":
    """Return the synthetic deaths: 200,000 rows of ``age``, ``sex``, ``cause`` and ``state``, text dictionary-encoded.

    >>> table = deaths()
    >>> table.num_rows, table.column_names
    (200000, ['age', 'sex', 'cause', 'state'])
    """
    import pyarrow.parquet as pq

    with resources.as_file(resources.files("celosia.data.bundled") / _FILE) as path:
        return pq.ParquetFile(path).read()  # read_table would load the whole dataset machinery
