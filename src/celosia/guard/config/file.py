"""Read and write the configuration file: TOML with a comment for every line.

Unknown names are refused: a misspelt limit would silently not hold.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.config.sections import Limits, Oidc

if TYPE_CHECKING:
    from markupsafe import Markup

    from celosia.guard.config.settings import Config


def parse_settings(document: Mapping[str, Any], settings: type, folder: Path) -> dict[str, Any]:
    """Return the fields of ``settings`` from a TOML document; paths are relative to ``folder``."""
    given = _check_names(document, settings, "")
    if not isinstance(given.get("store"), str):
        raise ParameterError("guard.missing_store")
    given["store"] = _resolve_store(given["store"], folder)
    for name in ("certificate", "private_key"):
        if name in given:
            given[name] = _path(given[name], name, folder)
    if "data_folders" in given:
        given["data_folders"] = _paths(given["data_folders"], "data_folders", folder)
    if "limits" in given:
        given["limits"] = Limits(**_check_names(_section(given, "limits"), Limits, "limits."))
    if "oidc" in given:
        given["oidc"] = _oidc(_section(given, "oidc"), folder)
    return given


def _oidc(section: Mapping[str, Any], folder: Path) -> Oidc:
    given = _check_names(section, Oidc, "oidc.")
    missing = [need for need in ("issuer", "audience", "jwks", "roles") if need not in given]
    if missing:
        raise ParameterError("guard.missing_oidc_setting", name=missing[0])
    oidc = Oidc(**given)
    return oidc if "://" in oidc.jwks else replace(oidc, jwks=str(folder / oidc.jwks))


def _section(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = given[name]
    if not isinstance(section, dict):
        raise ParameterError("guard.setting_not_a_section", name=name, value=safe_repr(section))
    return section


def _check_names(section: Mapping[str, Any], kind: type, prefix: str) -> dict[str, Any]:
    names = [f"{prefix}{one.name}" for one in fields(kind)]
    unknown = [f"{prefix}{name}" for name in section if f"{prefix}{name}" not in names]
    if unknown:
        raise ParameterError("guard.unknown_setting", name=safe_repr(unknown[0]), known=", ".join(names))
    return dict(section)


def _path(value: object, name: str, folder: Path) -> Path:
    if not isinstance(value, str) or not value:
        raise ParameterError("guard.not_a_file_path", name=name, value=safe_repr(value))
    return folder / value


def _paths(values: object, name: str, folder: Path) -> tuple[Path, ...]:
    if not isinstance(values, list):
        raise ParameterError("guard.not_a_list_of_paths", name=name, value=safe_repr(values))
    return tuple(_path(value, name, folder) for value in values)


def _resolve_store(store: str, folder: Path) -> str:
    """Resolve the file of a store relative to the folder of the configuration."""
    path = store.removeprefix("sqlite:///")
    return store if path == store or not path else f"sqlite:///{folder / path}"


def write_config(config: "Config") -> str:
    """Return the text of a configuration file."""
    from celosia.serving.pages.templates import open_templates

    templates = open_templates(__package__)
    templates.filters["toml"] = _format_toml
    return templates.get_template("guard.toml").render(config=config, limits=fields(Limits)) + "\n"


def _format_toml(value: object) -> "Markup":
    from markupsafe import Markup

    # JSON values are TOML values, except for one character, if non-ASCII characters stay unescaped.
    text = json.dumps(value, ensure_ascii=False, default=str)
    return Markup(text.replace("\x7f", "\\u007f"))  # noqa: S704 - TOML escapes as JSON does
