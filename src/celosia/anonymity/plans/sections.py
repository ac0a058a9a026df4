"""Steps, models and hierarchies as sections of plain values, and back.

A section names its ``kind``, which is the class, and states its parameters by name. Those that have their default are
left out. A parameter that is missing or unknown is an error that names it.
"""

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from datetime import date
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from celosia.anonymity import generalization, hierarchies, masking, models, private
from celosia.anonymity.hierarchies import Hierarchy, Intervals, read_hierarchy
from celosia.anonymity.plans.private_step import AnyStep
from celosia.anonymity.plans.settings import fits, make_of_settings, name_section
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import Kind

_WIDTHS: Final = ("low", "high", "widths")
_KEY_FILE: Final = "file:"  # before the path of the key of identifiers


@lru_cache(maxsize=1)
def list_steps() -> Mapping[str, type]:
    """Return the classes of steps by name.

    >>> "Mondrian" in list_steps()
    True
    """
    packages = (generalization, masking, private)
    verbs = ("apply", "release")
    return {
        name: kind
        for package in packages
        for name, kind in _list_classes(package)
        if any(hasattr(kind, verb) for verb in verbs)
    }


@lru_cache(maxsize=1)
def list_models() -> Mapping[str, type]:
    """Return the classes of privacy models by name.

    >>> "KAnonymity" in list_models()
    True
    """
    return {name: kind for name, kind in _list_classes(models) if hasattr(kind, "survives_merging")}


@lru_cache(maxsize=1)
def list_hierarchies() -> Mapping[str, type]:
    """Return the classes of hierarchies by name."""
    return {name: kind for name, kind in _list_classes(hierarchies) if hasattr(kind, "generalize")}


def _list_classes(package: Any) -> Iterable[tuple[str, type]]:
    found = ((name, getattr(package, name)) for name in package.__all__)
    return [(name, kind) for name, kind in found if inspect.isclass(kind) and dataclasses.is_dataclass(kind)]


def make_step(
    section: object, *, where: str, columns: Mapping[str, Kind] | None = None, folder: Path = Path()
) -> AnyStep:
    """Return the step of a section; ``where`` names the section in errors, and paths are relative to ``folder``.

    A private step needs a schema: it lists names of ``columns``, the declared ones, or has them all.

    >>> make_step({"kind": "Mondrian", "k": 5}, where="steps[1]").k
    5
    """
    given = dict(section) if isinstance(section, Mapping) else section
    if isinstance(given, dict) and "schema" in _list_parameters(given):
        declared = dict(columns or {})
        names = given.get("schema", list(declared))
        if not fits(names, list[str]):
            raise ParameterError("anonymity.setting_of_other_type", name=f"{where}.schema", value=safe_repr(names))
        check_settings(dict.fromkeys(names), declared, f"{where}.schema")
        given["schema"] = {name: declared[name] for name in names}
    step: AnyStep = _make(given, list_steps(), where, folder)
    return step


def _list_parameters(section: Mapping[str, Any]) -> Mapping[str, inspect.Parameter]:
    kind = list_steps().get(str(section.get("kind")))
    return {} if kind is None else inspect.signature(kind).parameters


def make_model(section: object, *, where: str, folder: Path = Path()) -> Any:
    """Return the privacy model of a section; the path of a population is relative to ``folder``."""
    return _make(section, list_models(), where, folder)


def make_hierarchy(section: object, *, where: str, folder: Path) -> Hierarchy:
    """Return the hierarchy of a section; a file's path is relative to ``folder``.

    >>> make_hierarchy({"kind": "Intervals", "low": 0, "high": 20, "widths": [5, 10]}, where="h", folder=Path()).height
    4
    """
    if isinstance(section, Mapping) and set(section) == {"file"}:
        with name_section(where):
            return read_hierarchy(folder / str(section["file"]))
    if isinstance(section, Mapping) and section.get("kind") == "Intervals" and "widths" in section:
        check_settings(section, ("kind", *_WIDTHS), where)
        if missing := [name for name in _WIDTHS if name not in section]:
            raise ParameterError("anonymity.setting_missing", name=f"{where}.{missing[0]}")
        return make_of_settings(Intervals.of_widths, {name: section[name] for name in _WIDTHS}, where)
    hierarchy: Hierarchy = _make(section, list_hierarchies(), where, folder)
    return hierarchy


def check_settings(section: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse a setting that is none of those known."""
    names = tuple(known)
    if unknown := [name for name in section if name not in names]:
        name = safe_repr(f"{where}.{unknown[0]}")
        raise ParameterError("anonymity.unknown_setting", name=name, known=", ".join(names))


def _make(section: object, kinds: Mapping[str, type], where: str, folder: Path) -> Any:
    if not isinstance(section, Mapping):
        raise ParameterError("anonymity.not_a_section", name=where)
    if "kind" not in section:
        raise ParameterError("anonymity.setting_missing", name=f"{where}.kind")
    if not isinstance(section["kind"], str) or section["kind"] not in kinds:
        asked, known = safe_repr(section.get("kind")), ", ".join(sorted(kinds))
        raise ParameterError("anonymity.unknown_kind", name=where, kind=asked, known=known)
    maker = kinds[section["kind"]]
    parameters = inspect.signature(maker).parameters
    given = {name: value for name, value in section.items() if name != "kind"}
    check_settings(given, parameters, where)
    for name, parameter in parameters.items():
        if name not in given and parameter.default is inspect.Parameter.empty:
            raise ParameterError("anonymity.setting_missing", name=f"{where}.{name}")
    read = {name: _read_value(name, value, f"{where}.{name}", folder) for name, value in given.items()}
    return make_of_settings(maker, read, where)


def _read_value(name: str, value: Any, where: str, folder: Path) -> Any:
    """Return a parameter: lists become tuples, sections of models are read, and paths start from the folder."""
    if isinstance(value, list | tuple):
        return tuple(_read_value(name, one, where, folder) for one in value)
    if isinstance(value, Mapping):
        return make_model(value, where=where, folder=folder) if name == "models" else dict(value)
    if name == "population":
        return str(folder / str(value))
    if name == "key" and str(value).startswith(_KEY_FILE):
        return f"{_KEY_FILE}{folder / str(value).removeprefix(_KEY_FILE)}"
    return value


def describe(thing: Any) -> dict[str, Any]:
    """Return the section of a step, a model or a hierarchy.

    >>> describe(Intervals([0, 10]))
    {'kind': 'Intervals', 'cuts': [[0.0, 10.0]]}
    """
    section: dict[str, Any] = {"kind": type(thing).__name__}
    parameters = inspect.signature(type(thing)).parameters
    for name, parameter in parameters.items():
        value = getattr(thing, name)
        if name == "schema":
            section[name] = list(value)  # the kinds are in the sections [columns.NAME]
        elif value is not None and value != _find_default(thing, name, parameter):
            section[name] = _write_value(value)
    return section


def _find_default(thing: Any, name: str, parameter: inspect.Parameter) -> Any:
    field = next((one for one in dataclasses.fields(thing) if one.name == name), None)
    if field is not None and field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return parameter.default


def _write_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return describe(value)
    if isinstance(value, Mapping):
        return {str(key): _write_value(one) for key, one in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [_write_value(one) for one in (sorted(value) if isinstance(value, frozenset) else value)]
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(value)
    if isinstance(value, Enum):
        return value.value
    return value if isinstance(value, str | int | float | date) else str(value)
