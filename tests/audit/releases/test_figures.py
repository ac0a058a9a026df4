"""The examples of figures 2.1 to 2.3: a linked record, a 3-anonymous table, and a 2-diverse one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from celosia.anonymity import Intervals, Microdata, Prefixes, Roles, read_microdata
from celosia.audit.releases import find_homogeneity, link_identities, rule_out_values

NAME = "David Calvo Pavón"
FILE = {
    "Sexo": ["Hombre", "Mujer", "Mujer", "Hombre", "Hombre"],
    "Edad": [68, 45, 23, 81, 79],
    "CP": ["11000", "11026", "12100", "11055", "11000"],
    "Peso": [85, 57, 53, 72, 121],
    "Altura": [178, 171, 162, 173, 181],
    "Enfermedad": ["Hipertensión", "Covid-19", "Mononucleosis", "Neumonía", "Obesidad"],
}
REGISTER = pa.table(
    {
        "Nombre": [NAME],
        "DNI": ["49245955Y"],
        "Sexo": ["Hombre"],
        "Edad": [68],
        "CP": ["11000"],
        "Peso": [85],
        "Altura": [178],
    }
)
ANONYMOUS = {
    "Edad": ["40-70"] * 3 + [">70"] * 3 + ["20-45"] * 3,
    "CP": ["280**"] * 3 + ["4100*"] * 3 + ["280**"] * 3,
    "Enfermedad": [
        *("Gastroenteritis", "Covid-19", "Covid-19"),
        *("Neumonía", "Cáncer", "Covid-19"),
        *("Mononucleosis", "Mononucleosis", "Mononucleosis"),
    ],
}
DIVERSE = {
    "Edad": ["≥ 20"] * 3 + [">70"] * 3 + ["> 20"] * 3,
    "CP": ["280**"] * 3 + ["4100*"] * 3 + ["280**"] * 3,
    "Enfermedad": [
        *("Gastroenteritis", "Mononucleosis", "Covid-19"),
        *("Neumonía", "Cáncer", "Covid-19"),
        *("Mononucleosis", "Covid-19", "Mononucleosis"),
    ],
}


def read(columns: dict[str, Any]) -> Microdata:
    keys = [name for name in columns if name != "Enfermedad"]
    return read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=keys, sensitive=["Enfermedad"]))


def test_a_register_tells_who_has_hypertension() -> None:
    found = link_identities(read(FILE), REGISTER, identity="Nombre")
    assert found.columns == ("Sexo", "Edad", "CP", "Peso", "Altura")
    assert found.reidentified == (NAME,)
    assert found.get_learned(NAME) == {"Enfermedad": "Hipertensión"}
    assert found.highest == 1
    for text in (str(found), found.describe("es"), repr(found)):
        assert "Hipertensión" not in text
        assert NAME not in text


def test_generalized_values_fit_more_persons() -> None:
    """The same file by decades of age, codes of three digits, and without weight and height."""
    ages, codes = Intervals([0, 60, 100], names=["<60", "60+"]), Prefixes(5, keep=[3])
    table = pa.table(
        {
            "Sexo": FILE["Sexo"],
            "Edad": ["60+", "<60", "<60", "60+", "60+"],
            "CP": ["110**", "110**", "121**", "110**", "110**"],
            "Enfermedad": FILE["Enfermedad"],
        }
    )
    roles = Roles(quasi_identifiers=["Sexo", "Edad", "CP"], sensitive=["Enfermedad"])
    released = read_microdata(table, roles=roles, hierarchies={"Edad": ages, "CP": codes})
    found = link_identities(released, REGISTER, identity="Nombre")
    assert found.count_fitting(NAME) == 3
    assert found.reidentified == ()
    assert found.get_learned(NAME) == {}


def test_the_table_of_three_leaks_mononucleosis() -> None:
    released = read(ANONYMOUS)
    found = find_homogeneity(released)
    assert (found.classes, found.homogeneous, found.exposed.sum()) == (3, 1, 3)
    young = pa.table({"Nombre": ["Ana"], "Edad": [22], "CP": ["28013"]})
    linked = link_identities(released, young, identity="Nombre")
    assert linked.count_fitting("Ana") == 3
    assert linked.reidentified == ()
    assert linked.get_learned("Ana") == {"Enfermedad": "Mononucleosis"}


def test_the_diverse_table_does_not() -> None:
    released = read(DIVERSE)
    found = find_homogeneity(released)
    assert (found.classes, found.homogeneous, found.rate) == (3, 0, 0)
    young = pa.table({"Nombre": ["Ana"], "Edad": [22], "CP": ["28013"]})
    linked = link_identities(released, young, identity="Nombre")
    assert linked.count_fitting("Ana") == 6
    assert linked.get_learned("Ana") == {}
    # One value ruled out is enough in the class with two of them.
    assert rule_out_values(released, known=2).rates.round(6).tolist() == [0, 0.333333, 1]
