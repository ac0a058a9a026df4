"""Public bounds suggested by the name of a column: ages up to 120, months from 1 to 12, percentages up to 100.

A suggestion depends on the column's name and kind, never on its rows: the least and the greatest value of a column
belong to people. Names are read in English and Spanish, word by word, without accents: ``edadPaciente`` has the word
*edad*. The owner confirms or corrects the suggestion.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from celosia.core.messages.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Suggested bounds, as a schema file writes them, and their meaning.

    A ``high`` of None must come from the owner: amounts have no largest value.
    """

    low: str
    high: str | None
    meaning: Message


_NUMBERS: Final = ("integer", "real")
_CENTURIES: Final = Message("data.in_two_centuries")
_TIMES: Final = {
    "date": Domain(low="1900-01-01", high="2100-01-01", meaning=_CENTURIES),
    "timestamp": Domain(low="1900-01-01 00:00:00", high="2100-01-01 00:00:00", meaning=_CENTURIES),
}
_MEANINGS: Final = {
    "years": "data.in_years",
    "months": "data.in_months",
    "days": "data.in_days",
    "percent": "data.in_percent",
    "a share": "data.in_a_share",
    "years of a calendar": "data.in_years_of_a_calendar",
    "months of a year": "data.in_months_of_a_year",
    "weeks of a year": "data.in_weeks_of_a_year",
    "quarters of a year": "data.in_quarters_of_a_year",
    "days of a month": "data.in_days_of_a_month",
    "days of a week": "data.in_days_of_a_week",
    "hours of a day": "data.in_hours_of_a_day",
    "minutes of an hour": "data.in_minutes_of_an_hour",
    "hours of a week": "data.in_hours_of_a_week",
    "degrees Celsius": "data.in_degrees_celsius",
    "degrees Fahrenheit": "data.in_degrees_fahrenheit",
    "centimetres": "data.in_centimetres",
    "metres": "data.in_metres",
    "inches": "data.in_inches",
    "kilograms": "data.in_kilograms",
    "pounds": "data.in_pounds",
    "grams": "data.in_grams",
    "kilograms per square metre": "data.in_kilograms_per_square_metre",
    "mmHg": "data.in_mmhg",
    "beats per minute": "data.in_beats_per_minute",
    "breaths per minute": "data.in_breaths_per_minute",
    "mg/dL": "data.in_mg_dl",
    "g/dL": "data.in_g_dl",
    "degrees": "data.in_degrees",
    "children": "data.in_children",
    "persons": "data.in_persons",
    "on its scale": "data.in_on_its_scale",
    "an amount": "data.in_an_amount",
}

# Alternatives of words that must all be in a name; of several matching rows, the one with most words wins.
_NAMES: Final = """
0 120 years                    | age, edad, edades
0 1440 months                  | age months, edad meses
0 45000 days                   | age days, edad dias
0 100 percent                  | percent, percentage, pct, perc, porcentaje, porciento, percentil, percentile
0 100 percent                  | spo2, sao2, saturation, saturacion
0 1 a share                    | proportion, proporcion, probability, probabilidad, fraction, fraccion, prob
1900 2100 years of a calendar  | year, ano, anio, anyo, ejercicio
1 12 months of a year          | month, mes
1 53 weeks of a year           | week, semana
1 4 quarters of a year         | quarter, trimestre
1 31 days of a month           | day, dia
0 7 days of a week             | weekday, dow, dia semana, day week
0 23 hours of a day            | hour, hora
0 59 minutes of an hour        | minute, minuto
0 365 days                     | days, dias, los, estancia, length stay, duracion dias
0 168 hours of a week          | hours week, horas semana, horas semanales
-50 60 degrees Celsius         | temperature, temperatura, temp
-60 140 degrees Fahrenheit     | temperature f, temp f, temperature fahrenheit, temp fahrenheit
25 45 degrees Celsius          | body temperature, body temp, temperatura corporal, temp corporal, fever, fiebre
0 250 centimetres              | height, estatura, talla, altura, height cm, estatura cm, talla cm, altura cm
0 3 metres                     | height m, estatura m, talla m, altura m
0 100 inches                   | height in, height inches
0 300 kilograms                | weight, peso, weight kg, peso kg
0 700 pounds                   | weight lb, weight lbs, weight pounds, peso libras
0 10000 grams                  | weight g, peso g, weight grams, peso gramos, birth weight, birthweight, peso nacer, peso nacimiento
0 100 kilograms per square metre | bmi, imc
0 200 mmHg                     | diastolic, diastolica, diastolico, dbp, tad, pad, diastolic pressure, presion diastolica, tension diastolica
0 300 mmHg                     | systolic, sistolica, sistolico, sbp, tas, pas, blood pressure, tension arterial, presion arterial
0 300 beats per minute         | heart rate, pulse, pulso, bpm, hr, fc, frecuencia cardiaca
0 100 breaths per minute       | respiratory rate, breathing rate, frecuencia respiratoria
0 1000 mg/dL                   | glucose, glucosa, glucemia, glycemia, cholesterol, colesterol, hdl, ldl, triglycerides, trigliceridos
0 25 g/dL                      | hemoglobin, haemoglobin, hemoglobina, hb
0 25 percent                   | hba1c
-90 90 degrees                 | latitude, latitud, lat
-180 180 degrees               | longitude, longitud, lon, lng
0 20 children                  | children, hijos, kids
0 20 persons                   | household size, miembros hogar, tamano hogar
0 15 on its scale              | glasgow, gcs
0 10 on its scale              | apgar, pain, dolor
0 ? an amount                  | amount, price, bill, cost, charge, fee, salary, wage, income, revenue, total, balance, payment, spend, expense
0 ? an amount                  | importe, cantidad, monto, precio, coste, costo, tarifa, salario, sueldo, ingresos, renta, saldo, pago, gasto, factura, euros, eur, usd
"""  # noqa: E501 - a table


def _parse_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PERSON_WORDS: Final = _parse_words(
    "person persona patient paciente user usuario customer client cliente subject sujeto individual individuo member "
    "socio afiliado employee empleado student alumno citizen ciudadano nhc mrn dni nif nie ssn nss curp"
)
_ID_WORDS: Final = _parse_words("id ident identifier identificador code codigo cod num numero number no nr key clave")
_IDENTIFIERS: Final = _parse_words(
    "nhc mrn dni nif nie ssn nss curp passport pasaporte email correo mail phone telefono movil mobile iban name "
    "nombre nombres surname apellido apellidos lastname firstname fullname address direccion domicilio uuid guid ip"
)
_NOT_OF_A_PERSON: Final = _parse_words(
    "hospital centro center centre ward unidad service servicio product producto drug farmaco city ciudad town "
    "municipio company empresa country pais file fichero brand marca diagnosis diagnostico"
)


def suggest_domain(name: str, kind: str) -> Domain | None:
    """Return the bounds that a column's name and kind suggest, or None if they suggest none."""
    if kind in _TIMES:
        return _TIMES[kind]
    if kind not in _NUMBERS:
        return None
    words = _split_words(name)
    fitting = [(len(wanted), domain) for wanted, domain in _DOMAINS if words >= wanted]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else None


def suggest_person(names: Iterable[str]) -> str | None:
    """Return the first column that seems to identify a person, or None."""
    named = [(name, _split_words(name)) for name in names]
    coded = [name for name, words in named if words & _PERSON_WORDS and words <= _PERSON_WORDS | _ID_WORDS]
    return coded[0] if coded else None


def has_identifier_name(name: str) -> bool:
    """Return whether a column seems to identify persons: a name, an identity card, an address, a key."""
    words = _split_words(name)
    if words & _NOT_OF_A_PERSON:
        return False
    return bool(words & _IDENTIFIERS) or words == {"id"} or bool(words & _PERSON_WORDS and words & _ID_WORDS)


def _split_words(name: str) -> frozenset[str]:
    """Return the words of a name in lower case, without accents; ``SpO2`` and ``e-mail`` are one word each."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    cut = re.sub(r"([a-z0-9])([A-Z][a-z]+)", r"\1 \2", re.sub(r"(?i)\be-mail", "email", plain)).lower()
    found = re.findall(r"[a-z]+[0-9]*[a-z]*", cut.replace("%", " percent "))
    return frozenset(part for word in found for part in _split_id(word))


def _split_id(word: str) -> tuple[str, ...]:
    """Split ``idpaciente`` and ``pacienteid`` into two words."""
    rest = next((rest for rest in (word.removeprefix("id"), word.removesuffix("id")) if rest in _PERSON_WORDS), word)
    return (word,) if rest == word else ("id", rest)


def _parse_line(line: str) -> list[tuple[frozenset[str], Domain]]:
    bounds, _, names = line.partition("|")
    low, high, meaning = bounds.strip().split(" ", 2)
    domain = Domain(low=low, high=None if high == "?" else high, meaning=Message(_MEANINGS[meaning]))
    return [(frozenset(phrase.split()), domain) for phrase in names.split(",")]


_DOMAINS: Final = [pair for line in _NAMES.strip().splitlines() for pair in _parse_line(line)]
