"""Names suggest bounds, in English and Spanish; rows are not even passed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from celosia.data.drafting.answers import parse_bounds
from celosia.data.drafting.domains import _DOMAINS, Domain, has_identifier_name, suggest_domain, suggest_person


def test_names_suggest_bounds() -> None:
    cases: list[tuple[str, str, str | None]] = [
        ("age EDAD edad_paciente AgeAtDeath Edad.(años)", "0", "120"),
        ("edad_meses", "0", "1440"),
        ("percent Porcentaje_grasa pct % SpO2", "0", "100"),
        ("year año anio AÑO_INGRESO", "1900", "2100"),
        ("month mes MesAlta", "1", "12"),
        ("hora_ingreso", "0", "23"),
        ("temperature Temperatura", "-50", "60"),
        ("body_temp temperatura_corporal", "25", "45"),
        ("height_cm Talla(cm) estatura", "0", "250"),
        ("altura_m", "0", "3"),
        ("weight_kg PESO peso(kg)", "0", "300"),
        ("birth_weight peso_g", "0", "10000"),
        ("SBP systolic_blood_pressure TA_sistólica presiónArterial", "0", "300"),
        ("diastolic_blood_pressure presion_arterial_diastolica", "0", "200"),
        ("lat", "-90", "90"),
        ("amount PRECIO coste_total ingresos_anuales importe€", "0", None),
    ]
    for names, low, high in cases:
        for name in names.split():
            for kind in ("integer", "real"):
                found = suggest_domain(name, kind)
                assert found is not None, name
                assert (found.low, found.high) == (low, high), name
            assert suggest_domain(name, "text") is suggest_domain(name, "boolean") is None


def test_dates_have_bounds_whatever_they_are_called() -> None:
    for kind in ("date", "timestamp"):
        found = suggest_domain("x", kind)
        assert found is not None
        assert parse_bounds(kind, f"{found.low}..{found.high}") == parse_bounds(kind, "1900-01-01..2100-01-01")


def test_other_names_suggest_nothing() -> None:
    for name in ("page", "agenda", "mesa", "message", "x", "", "día_x", "pesos", "average", "ration"):
        found = suggest_domain(name, "integer")
        assert found is None or name == "día_x", name


def test_every_suggestion_is_a_valid_range() -> None:
    for words, domain in _DOMAINS:
        assert words
        parse_bounds("real", f"{domain.low}..{domain.high or 1}")
        assert domain.meaning


@given(st.text(max_size=30))
def test_any_name_is_no_error(name: str) -> None:
    assert isinstance(suggest_domain(name, "real"), Domain | None)
    assert suggest_person([name]) in (name, None)
    assert has_identifier_name(name) in (True, False)


def test_persons_are_seen_by_the_names_of_columns() -> None:
    for name in (
        "patient_id",
        "ID_PACIENTE",
        "IdPaciente",
        "idpaciente",
        "PacienteID",
        "dni",
        "NHC",
        "Usuario",
        "user no",
    ):
        assert suggest_person(["age", name, "user_id"]) == name
        assert has_identifier_name(name) or name == "Usuario"
    for name in ("id", "age", "hospital_id", "patient_age", "user_type", "paciente_cronico"):
        assert suggest_person([name]) is None


def test_identifiers_are_seen_by_their_names() -> None:
    for name in ("e-mail", "Teléfono", "nombre", "Apellidos", "first name", "ID", "uuid", "Dirección"):
        assert has_identifier_name(name), name
    for name in ("hospital_name", "nombre_centro", "drug name", "sexo", "patient_age", "idea"):
        assert not has_identifier_name(name), name
