"""The program that a SuperNode starts for each message, in place of Flower's own.

Flower's would install and run the code that the server sent. This one runs Flower's way of fetching a message and
sending a reply with a client app that is ours, and never looks at that code.
"""

from typing import Any

from celosia.core.errors import EngineError
from celosia.core.extras import hide_module, require
from celosia.federated.network.description import load_description
from celosia.federated.network.flower import create_client_app
from celosia.federated.network.launch import check_flower, read_job
from celosia.federated.network.node import PartyNode

_REPLACED = ("install_from_fab", "install_app_dependencies", "get_load_client_app_fn")


def open_node() -> PartyNode:
    """Return the node of this process's party, with its records."""
    job = read_job()
    description = load_description(job["description"])
    return PartyNode.of(description.describe({job["party"]: job["data"]}), job["answered"], description.terms)


def make_app() -> Any:
    """Return the client app of this process's party."""
    return create_client_app(open_node)


def main() -> None:
    """Answer one message, as Flower's ``flwr-clientapp`` does."""
    check_flower()
    replace_app(require("flwr.supernode.runtime.run_clientapp", extra="federated"), make_app())
    with hide_module("pandas"):  # scikit-learn takes a second to import it, and a message has none
        require("flwr.supernode.cli.flwr_clientapp", extra="federated").flwr_clientapp()


def replace_app(runtime: Any, client: Any) -> None:
    """Let Flower's runtime use a client app of ours, and install nothing."""
    if missing := [name for name in _REPLACED if not callable(getattr(runtime, name, None))]:
        raise EngineError("federated.flower_without_function", name=missing[0])
    runtime.install_from_fab = runtime.install_app_dependencies = lambda *_, **__: None
    runtime.get_load_client_app_fn = lambda *_, **__: lambda *_, **__: client


if __name__ == "__main__":
    main()
