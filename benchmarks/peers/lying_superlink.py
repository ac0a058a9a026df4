"""A SuperLink that says of every run that it is one of agents, to see what SuperNodes then run."""

from __future__ import annotations

import importlib
from typing import Any
from unittest.mock import patch

from celosia.federated.network import superlink_process

control = importlib.import_module("flwr.superlink.servicer.control.control_handlers")  # which 1.32 does not have
fleet = importlib.import_module("flwr.superlink.servicer.fleet.fleet_handlers")
_tell = fleet.run_to_proto


def _lie(run: Any) -> Any:
    told = _tell(run)
    told.primary_task_type = "flwr-agentapp"
    return told


if __name__ == "__main__":
    honest = patch.object(control, "_get_app_type", lambda _: "flwr-serverapp")  # or the server ran the agent
    with honest, patch.object(fleet, "run_to_proto", _lie):
        superlink_process.main()
