"""import-linter's contracts cover what they say they cover, also after a room or a sampler was added."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def contracts(root: Path) -> dict[str, dict[str, Any]]:
    """The contracts of pyproject.toml, by name."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return {contract["name"]: contract for contract in settings["contracts"]}


@pytest.fixture(scope="module")
def rooms(root: Path) -> set[str]:
    """The packages right below ``celosia``."""
    return {folder.parent.name for folder in (root / "src" / "celosia").glob("*/__init__.py")}


def test_no_import_is_ignored(contracts: dict[str, dict[str, Any]]) -> None:
    assert not [name for name, contract in contracts.items() if "ignore_imports" in contract]


def test_every_room_has_its_place(contracts: dict[str, dict[str, Any]], rooms: set[str]) -> None:
    contract = contracts["Packages import downwards only"]
    assert contract["exhaustive"]
    assert {room for layer in contract["layers"] for room in layer.split(" | ")} == rooms | {"__main__"}


def test_every_room_but_noise_is_kept_from_randomness(contracts: dict[str, dict[str, Any]], rooms: set[str]) -> None:
    contract = contracts["No noise is added by hand: randomness comes from celosia.noise"]
    assert set(contract["source_modules"]) == {f"celosia.{room}" for room in rooms - {"noise"}}
    contract = contracts["Ciphers are for noise, and for the keys of parties"]
    assert set(contract["source_modules"]) == {f"celosia.{room}" for room in rooms - {"noise", "federated"}}


def test_every_sampler_is_kept_from_the_rooms_that_only_ask(contracts: dict[str, dict[str, Any]], root: Path) -> None:
    contract = contracts["No noise is added by hand: these packages leave drawing to mechanisms"]
    folder = root / "src" / "celosia"
    names = {".".join(file.relative_to(folder).with_suffix("").parts) for file in (folder / "noise").rglob("*.py")}
    modules = {f"celosia.{name.removesuffix('.__init__')}" for name in names} - {"celosia.noise.source"}
    assert set(contract["forbidden_modules"]) == modules
