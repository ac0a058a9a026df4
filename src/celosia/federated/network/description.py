"""A federation as a file: TOML that the server and every party hold, each its own copy.

What decides the integers and their cost must be the same in all copies; nodes compare its digest. The section
``[server]`` is each node's own. Unknown names are refused: a misspelt limit would silently not hold.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.federated.network.records import load_records
from celosia.federated.network.sections import PRIVACY, WAYS, check_names, make_update, make_ways

if TYPE_CHECKING:
    from celosia.federated.federation import Federation

_SECTIONS: Final = ("estimator", "parties", "privacy", "server", "training", "update")
_TRAINING: Final = ("features", "least_parties", "name", "participation", "rounds", "target")
_SERVER: Final = ("address", "dataset", "deadline", "ledger", "seed")
_PARTY: Final = ("records",)
FILE_NAME: Final = "federation.toml"
"""The name of the file in its folder."""

_MAX_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A federation as its file states it; ``load_description`` reads one."""

    path: Path
    training: Mapping[str, Any]
    parties: Mapping[str, Mapping[str, Any]]
    estimator: Mapping[str, Any] = field(repr=False)
    update: Mapping[str, Any] = field(repr=False)
    privacy: Mapping[str, Any] = field(repr=False)
    ways: Mapping[str, Mapping[str, Any]] = field(repr=False)
    server: Mapping[str, Any] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parties."""
        return tuple(self.parties)

    @property
    def terms(self) -> dict[str, Any]:
        """What nodes agree on beside the federation: the name of the training, and the columns."""
        return {name: self.training.get(name) for name in ("name", "features", "target")}

    @property
    def address(self) -> str:
        """Where the server listens for parties."""
        return str(self.server["address"])

    @property
    def deadline(self) -> float:
        """Seconds that the server waits for answers in a round."""
        return float(self.server["deadline"])

    def describe(self, files: Mapping[str, str], *, budget: Any = None) -> "Federation":
        """Return the federation with the records of some parties from their files; all others are remote."""
        from celosia.federated.federation import Federation
        from celosia.federated.parties.party import Party
        from celosia.noise.source import Seeded

        unknown = [name for name in files if name not in self.parties]
        if unknown:
            raise ParameterError(
                "federated.no_such_party", name=safe_repr(unknown[0]), known=", ".join(map(repr, self.names))
            )
        held = {name: self._load(path) for name, path in files.items()}
        parties = [
            Party(name, *held.get(name, (None, None)), told.get("records")) for name, told in self.parties.items()
        ]
        given = {name: self.training[name] for name in ("rounds", "participation", "least_parties")}
        seed = self.server.get("seed")
        return Federation(
            parties=parties,
            update=make_update(self.estimator, self.update),
            **self.privacy,
            **given,
            **make_ways(self.ways, self.names),
            budget=budget,
            source=None if seed is None else Seeded(seed),
        )

    def open_budget(self) -> Any:
        """Return the account that pays; None without a ledger."""
        if "ledger" not in self.server:
            return None
        from celosia.ledger.opening import open_ledger

        url = str(self.server["ledger"])
        file = url.removeprefix("sqlite:///")
        ledger = open_ledger(url if file == url else f"sqlite:///{self.path.parent / file}", create=False)
        return ledger.account(self.server["dataset"])

    def _load(self, path: str) -> tuple[Any, Any]:
        return load_records(path, self.training["features"], self.training.get("target"), self.estimator.get("classes"))


def load_description(path: str | Path) -> Description:
    """Read the description of a federation; a folder has it as ``federation.toml``.

    >>> import tempfile
    >>> from celosia.federated.network.template import write_template
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     description = load_description(write_template(Path(folder), ["north", "south"]))
    >>> description.names, description.describe({}).preview().rounds
    (('north', 'south'), 20)
    """
    file = Path(path) / FILE_NAME if Path(path).is_dir() else Path(path)
    if file.stat().st_size > _MAX_BYTES:
        raise ParameterError("federated.description_too_long", most=_MAX_BYTES)
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ParameterError("federated.description_not_toml", path=str(file), error=error) from error
    check_names(found, (*_SECTIONS, *WAYS), "")
    for name in _SECTIONS:
        found.setdefault(name, {})
    for name, section in found.items():
        if not isinstance(section, dict):
            raise ParameterError("federated.not_a_section", name=name)
    privacy = dict(found["privacy"])
    proximal = found["update"].get("type") == "Proximal"
    privacy.setdefault("adjacency", "replace-one" if proximal else "add-remove")
    defaults = {"rounds": 1, "participation": 1, "least_parties": 2}
    description = Description(
        path=file,
        training=defaults | found["training"],
        parties=found["parties"],
        estimator={name: _to_floats(value) for name, value in found["estimator"].items()},
        update=found["update"],
        privacy=privacy,
        ways={name: found[name] for name in WAYS if name in found},
        server={"address": "127.0.0.1:9092", "deadline": 600} | found["server"],
    )
    _check(description)
    return description


def _check(description: Description) -> None:
    check_names(description.training, _TRAINING, "training.")
    check_names(description.privacy, PRIVACY, "privacy.")
    check_names(description.server, _SERVER, "server.")
    for name, told in description.parties.items():
        if not isinstance(told, dict):
            raise ParameterError("federated.not_a_section", name=f"parties.{name}")
        check_names(told, _PARTY, f"parties.{name}.")
    _check_texts(description)
    deadline = description.server["deadline"]
    if type(deadline) not in {int, Decimal} or not 0 < deadline < 10**9:
        raise ParameterError("federated.no_deadline")
    if ("ledger" in description.server) != ("dataset" in description.server):
        raise ParameterError("federated.ledger_without_dataset")


def _check_texts(description: Description) -> None:
    training, server = description.training, description.server
    texts = {"training.name": training.get("name"), "server.address": server["address"]}
    texts |= {f"training.{name}": training[name] for name in ("target",) if name in training}
    texts |= {f"server.{name}": server[name] for name in ("ledger", "dataset") if name in server}
    features = training.get("features")
    if not isinstance(features, list) or not features:
        raise ParameterError("federated.features_not_listed")
    texts |= {f"training.features[{place}]": name for place, name in enumerate(features)}
    for name, value in texts.items():
        if not isinstance(value, str) or not value:
            raise ParameterError("federated.setting_not_a_text", name=name, value=safe_repr(value))
    if "seed" in server and type(server["seed"]) is not int:
        raise ParameterError("federated.seed_not_an_integer", value=safe_repr(server["seed"]))


def _to_floats(value: Any) -> Any:
    """Return decimals as doubles, also those in lists: bounds are doubles everywhere."""
    if isinstance(value, list):
        return [_to_floats(part) for part in value]
    return float(value) if isinstance(value, Decimal) else value
