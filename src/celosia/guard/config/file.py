"""Read and write the configuration file: TOML with a comment for every line.

Unknown names are refused: a misspelt limit would silently not hold.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import Any

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.guard.config.settings import Config, Limits, Oidc
from celosia.guard.roles import Role


def read_config(document: Mapping[str, Any], folder: Path) -> Config:
    """Return the configuration of a TOML document; paths are relative to ``folder``."""
    given = _check_names(document, Config, "")
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
    return Config(**given)


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


def write_config(config: Config) -> str:
    """Return the text of a configuration file."""
    lines = [
        "# The configuration of a Celosía privacy guard. Paths are relative to this file.",
        "",
        "# Budgets, log, users and data sets: sqlite:///FILE, or postgresql://USER:${PASSWORD}@HOST/DATABASE.",
        f"store = {_quote(config.store)}",
        "",
        "# Where it listens. Beyond this machine it needs certificate and private_key, or a proxy that speaks TLS.",
        f"host = {_quote(config.host)}",
        f"port = {config.port}",
        f"workers = {config.workers}",
        f"behind_proxy = {str(config.behind_proxy).lower()}",
        _path_line("certificate", config.certificate, "certificate.pem"),
        _path_line("private_key", config.private_key, "private_key.pem"),
        "",
        "# Folders whose CSV and Parquet files owners and curators can add as data sets on the pages.",
        _folders_line(config.data_folders),
        "",
        "# Replies leave after whole slots of this many milliseconds, so that timing reveals little; 0 is off.",
        f"slot_milliseconds = {config.slot_milliseconds}",
        "",
        "[limits]",
        *(_limit_line(config.limits, one) for one in fields(config.limits)),
        "",
    ]
    return "\n".join([*lines, *_oidc_lines(config.oidc)]) + "\n"


def _quote(text: str) -> str:
    # JSON strings are TOML strings, except for one character, if non-ASCII characters stay unescaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _limit_line(limits: Limits, limit: Field[Any]) -> str:
    comment = limit.metadata["comment"]
    return f"{limit.name} = {getattr(limits, limit.name)}" + (f"  # {comment}" if comment else "")


def _path_line(name: str, path: Path | None, example: str) -> str:
    return f"# {name} = {_quote(example)}" if path is None else f"{name} = {_quote(str(path))}"


def _folders_line(folders: Sequence[Path]) -> str:
    return (
        f"data_folders = [{', '.join(_quote(str(one)) for one in folders)}]" if folders else '# data_folders = ["data"]'
    )


def _oidc_lines(oidc: Oidc | None) -> list[str]:
    mark = "# " if oidc is None else ""
    shown = oidc or Oidc(
        issuer="https://login.example",
        audience="celosia",
        jwks="https://login.example/keys.json",
        roles={"researchers": Role.ANALYST},
    )
    roles = ", ".join(f"{_quote(claim)} = {_quote(role.value)}" for claim, role in shown.roles.items())
    names = ("issuer", "audience", "jwks", "role_claim", "name_claim")
    return [
        "# Bearer tokens of an identity provider, beside keys.",
        f"{mark}[oidc]",
        *(f"{mark}{name} = {_quote(getattr(shown, name))}" for name in names),
        f"{mark}roles = {{ {roles} }}",
    ]
