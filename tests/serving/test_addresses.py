from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.serving.addresses import expand_variables, hide_secrets

PASSWORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="@&;=", categories=["L", "N", "P", "S"]), min_size=4, max_size=20
)


def test_variables_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELOSIA_TEST_WORD", "s3cret")
    assert (
        expand_variables("postgresql://ana:${CELOSIA_TEST_WORD}@db/x", name="store") == "postgresql://ana:s3cret@db/x"
    )
    assert expand_variables("no variables, $HOME neither", name="store") == "no variables, $HOME neither"


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(
        ParameterError, match=r"source needs the environment variable CELOSIA_NO_SUCH, which is not set"
    ):
        expand_variables("${CELOSIA_NO_SUCH}/deaths.parquet", name="source")


@given(PASSWORDS)
def test_a_password_is_never_shown_wherever_it_stands(password: str) -> None:
    secret = f"Zq7{password}7qZ"
    for address in (
        f"postgresql://ana:{secret}@db.example/registry",
        f"postgresql://ana:{secret}@db.example:5432/registry?sslmode=require",
        f"postgresql://db.example/registry?user=ana&password={secret}",
        f"postgresql://db.example/registry?sslpassword={secret}&x=1",
        f"postgresql://db.example:5432/registry?user=a@b&password={secret}",
        f"postgresql://db.example/registry?password={secret}&user=a@b",
        f"spark:s3a://ana:{secret}@bucket/visits/*.parquet",
    ):
        assert secret not in hide_secrets(address), address


def test_what_is_no_secret_stays() -> None:
    assert hide_secrets("postgresql://ana@db.example/registry") == "postgresql://ana@db.example/registry"
    assert hide_secrets("sqlite:///ledger.db") == "sqlite:///ledger.db"
    assert hide_secrets("spark:hdfs://host/visits/*") == "spark:hdfs://host/visits/*"
    assert hide_secrets("data/deaths:2021@home?.parquet") == "data/deaths:2021@home?.parquet"
    assert hide_secrets("postgresql://a:${B}@c/d") == "postgresql://a:${B}@c/d"
    assert hide_secrets("postgresql://a:x${B}@c/d") == "postgresql://a:***@c/d"
