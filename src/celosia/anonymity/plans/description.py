"""A plan as a TOML file: which file is read, the roles of its columns, hierarchies, steps, and where the result goes.

The file is all that is needed to repeat a release: with a seed, byte for byte.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from celosia.anonymity.hierarchies import Categories, Hierarchy, Intervals
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.anonymity.plans.plan import Plan
from celosia.anonymity.plans.sections import check_settings, describe, make_hierarchy, make_model, make_step
from celosia.anonymity.plans.settings import make_of_settings
from celosia.anonymity.plans.toml import write_toml
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import Kind
from celosia.data.schema.schema import Schema, load_toml, read_columns

_SECTIONS: Final = ("file", "plan", "roles", "columns", "hierarchies", "steps", "require")
_FILE: Final = ("input", "output")
_LISTS: Final = ("identifiers", "quasi_identifiers", "sensitive", "others")
_SINGLE: Final = ("weight", "household", "stratum", "nulls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a plan file says. ``load_plan`` reads one, ``write_plan`` writes one.

    ``input`` and ``output`` are paths, or None where a caller gives a table and takes the result. ``columns`` are the
    kinds of columns, as in a schema file, which private steps need.

    >>> import pyarrow as pa
    >>> description = Description(roles=Roles(quasi_identifiers=["age"]))
    >>> len(description.read(pa.table({"age": [30, 40]})))
    2
    """

    roles: Roles
    plan: Plan = field(default_factory=Plan)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)
    columns: Mapping[str, Kind] = field(default_factory=dict, repr=False)
    input: Path | None = None
    output: Path | None = None

    def read(self, frame: object = None) -> Microdata:
        """Return the file with its roles and hierarchies: of ``frame``, or of the input file."""
        if frame is None and self.input is None:
            raise ParameterError("anonymity.setting_missing", name="file.input")
        source = self.input if frame is None else frame
        return read_microdata(source, roles=self.roles, hierarchies=self.hierarchies)


def load_plan(path: str | Path) -> Description:
    r"""Return what a plan file says; paths in it are relative to its folder.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "plan.toml")
    ...     _ = file.write_text('[roles]\nquasi_identifiers = ["age"]')
    ...     load_plan(file).roles.quasi_identifiers
    ('age',)
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
        sections = tomllib.loads(text)
    except OSError:
        raise ParameterError("anonymity.file_not_found", path=safe_repr(str(path))) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError("anonymity.plan_not_toml", path=safe_repr(str(path)), reason=str(error)) from None
    if "columns" in sections:
        sections["columns"] = load_toml(text)["columns"]  # numbers that are not integers stay decimals there
    return parse_plan(sections, folder=place.parent)


def parse_plan(sections: Mapping[str, Any], *, folder: Path = Path()) -> Description:
    """Return what the sections of a plan say.

    >>> sections = {"roles": {"quasi_identifiers": ["age"]}, "steps": [{"kind": "Mondrian", "k": 5}]}
    >>> [step.k for step in parse_plan(sections).plan.steps]
    [5]
    """
    check_settings(sections, _SECTIONS, "plan file")
    file, settings = (_get_table(sections, name) for name in ("file", "plan"))
    check_settings(file, _FILE, "file")
    for name, path in file.items():
        if not isinstance(path, str):
            raise ParameterError("anonymity.setting_of_other_type", name=f"file.{name}", value=safe_repr(path))
    check_settings(settings, ("seed",), "plan")
    roles = _get_table(sections, "roles")
    check_settings(roles, (*_LISTS, *_SINGLE), "roles")
    hierarchies = _get_table(sections, "hierarchies")
    columns = read_columns({"columns": sections["columns"]}) if "columns" in sections else {}
    steps, models = (_get_list(sections, name) for name in ("steps", "require"))
    return Description(
        roles=make_of_settings(Roles, roles, "roles"),
        plan=Plan(
            steps=[
                make_step(one, where=f"steps[{place}]", columns=columns, folder=folder)
                for place, one in enumerate(steps, 1)
            ],
            require=[make_model(one, where=f"require[{place}]", folder=folder) for place, one in enumerate(models, 1)],
            seed=settings.get("seed"),
        ),
        hierarchies={
            name: make_hierarchy(section, where=f"hierarchies.{name}", folder=folder)
            for name, section in hierarchies.items()
        },
        columns=columns,
        input=folder / file["input"] if "input" in file else None,
        output=folder / file["output"] if "output" in file else None,
    )


def _get_table(sections: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = sections.get(name, {})
    if not isinstance(table, Mapping):
        raise ParameterError("anonymity.not_a_section", name=name)
    return table


def _get_list(sections: Mapping[str, Any], name: str) -> list[Any]:
    found = sections.get(name, [])
    if not isinstance(found, list):
        raise ParameterError("anonymity.not_a_section", name=f"[{name}]")
    return found


def write_plan(description: Description) -> str:
    """Return the text of a plan file.

    >>> from celosia.anonymity import Mondrian
    >>> roles = Roles(quasi_identifiers=["age"])
    >>> print(write_plan(Description(roles=roles, plan=Plan(steps=[Mondrian(k=5)]))))
    [roles]
    quasi_identifiers = ["age"]
    <BLANKLINE>
    [[steps]]
    kind = "Mondrian"
    k = 5
    <BLANKLINE>
    """
    paths = {"input": description.input, "output": description.output}
    plan, roles = description.plan, description.roles
    sections: dict[str, Any] = {
        "file": {name: str(path) for name, path in paths.items() if path is not None},
        "plan": {} if plan.seed is None else {"seed": plan.seed},
        "roles": _describe_roles(roles),
        "hierarchies": {name: _describe_hierarchy(one) for name, one in description.hierarchies.items()},
        "steps": [describe(step) for step in plan.steps],
        "require": [describe(model) for model in plan.require],
    }
    text = write_toml({name: section for name, section in sections.items() if section})
    return f"{text}\n{Schema(description.columns).to_toml()}" if description.columns else text


def _describe_roles(roles: Roles) -> dict[str, Any]:
    lists = {name: list(getattr(roles, name)) for name in _LISTS if getattr(roles, name)}
    single = {name: getattr(roles, name) for name in _SINGLE if getattr(roles, name) not in (None, "category")}
    return lists | single


def _describe_hierarchy(hierarchy: Hierarchy) -> dict[str, Any]:
    if isinstance(hierarchy, Intervals) and len(hierarchy.cuts) == 1:
        names = {"names": list(hierarchy.names[0])} if hierarchy.names else {}
        return {"kind": "Intervals", "cuts": list(hierarchy.cuts[0]), **names}
    if isinstance(hierarchy, Categories):
        return {"kind": "Categories", "lines": [list(line[:-1]) for line in hierarchy.lines]}
    return describe(hierarchy)
