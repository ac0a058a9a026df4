"""A federation over Flower: its server app, its client app, and parcels as Flower's records.

Flower carries messages; whatever is private is decided before. Rounds push and pull messages themselves, because
Flower's ``send_and_receive`` sleeps for three seconds. Integers travel as 64-bit arrays, states as doubles, exactly. A
party is known by the node that its key registered, not by what it says.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import EngineError, FormatError, ParameterError
from celosia.core.extras import require
from celosia.federated.contributions import Unusable
from celosia.federated.network.agreement import agree
from celosia.federated.network.messages import Parcel, Request, read_reply, read_request, refuse_unreadable

if TYPE_CHECKING:
    from celosia.federated.federation import Federation
    from celosia.federated.network.node import PartyNode
    from celosia.federated.updates.plan import State, UpdatePlan

_FIELDS: Final = "celosia"
_ARRAYS: Final = "arrays"
_TYPES: Final = (np.dtype(np.int64), np.dtype(np.float64))
_MAX_ARRAYS: Final = 8
_HEADER_BYTES: Final = 4096
_MAX_VALUES: Final = 2**27  # values of an array that is read where no plan bounds it
_PAUSE: Final = 0.2  # seconds between two looks for answers
_LOST: Final = (3, 4, 5)  # Flower's codes for a message or a node that is not there any more


def make_records(parcel: Parcel) -> Any:
    """Return a parcel as Flower's records."""
    app = require("flwr.app", extra="federated")
    arrays = {name: app.Array(np.ascontiguousarray(array)) for name, array in parcel.arrays.items()}
    return app.RecordDict({_FIELDS: app.ConfigRecord(dict(parcel.fields)), _ARRAYS: app.ArrayRecord(arrays)})


def read_records(records: Any, *, most: int = _MAX_VALUES) -> Parcel:
    """Return the parcel of Flower's records; ``most`` bounds the values of an array, before any is read."""
    app = require("flwr.app", extra="federated")
    if not isinstance(records, app.RecordDict) or set(records) != {_FIELDS, _ARRAYS}:
        raise FormatError("federated.records_not_readable")
    fields, arrays = records[_FIELDS], records[_ARRAYS]
    if not (isinstance(fields, app.ConfigRecord) and isinstance(arrays, app.ArrayRecord)) or len(arrays) > _MAX_ARRAYS:
        raise FormatError("federated.records_not_readable")
    return Parcel(fields=dict(fields), arrays={name: _read_array(array, most) for name, array in arrays.items()})


def _read_array(array: Any, most: int) -> NDArray[Any]:
    if array.stype != "numpy.ndarray" or len(array.data) > 8 * most + _HEADER_BYTES:
        raise FormatError("federated.records_not_readable")
    try:
        found = array.numpy()  # Flower never unpickles
    except Exception:  # noqa: BLE001 - bytes of others, which may break a reader in any way
        found = None
    if not isinstance(found, np.ndarray) or found.dtype not in _TYPES or found.size > most:
        raise FormatError("federated.records_not_readable")
    return found


# ---------------------------------------------------------------------------------------------------------- server


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowerTransport:
    """The way to parties over a Flower grid: for ``Federation.run(transport=...)`` inside a server app.

    Parameters
    ----------
    grid
        Flower's grid.
    nodes
        The node of each party, as Flower numbered it when the party's key was registered.
    digest
        The digest that the parties must have, too, by ``agreement.agree``.
    deadline
        Seconds after which a party that has not answered counts as silent in a round.
    report
        Called after each round with its number, and how many parties were asked and have answered.

    Examples
    --------
    >>> from celosia.federated import Federation, OneShot, Party
    >>> from celosia.learn import StandardScaler
    >>> federation = Federation(
    ...     parties=[Party("north"), Party("south")], update=OneShot(StandardScaler(bounds=([0], [1]))), epsilon=1
    ... )
    >>> def train(grid, context):                       # the main function of a Flower server app
    ...     transport = FlowerTransport.of(federation, grid, nodes={"north": 11, "south": 12}, deadline=600)
    ...     transport.wait(least=2)
    ...     federation.run("progress.json", transport=transport).save("model.json")
    """

    grid: Any
    nodes: Mapping[str, int]
    digest: str
    deadline: float
    report: Callable[[int, int, int], None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.deadline < float("inf"):
            raise ParameterError("federated.no_deadline")

    @classmethod
    def of(
        cls,
        federation: "Federation",
        grid: Any,
        *,
        nodes: Mapping[str, int],
        deadline: float,
        terms: Mapping[str, Any] | None = None,
        report: Callable[[int, int, int], None] | None = None,
    ) -> "FlowerTransport":
        """Return the way to the parties of a federation, all of them remote; ``terms`` are those of its nodes."""
        if set(nodes) != set(federation.names):
            raise ParameterError("federated.nodes_of_other_parties")
        _, digest = agree(federation, terms or {})
        return cls(grid=grid, nodes=nodes, digest=digest, deadline=deadline, report=report)

    def find_online(self) -> set[str]:
        """Return the parties whose nodes are connected."""
        online = set(self._call(self.grid.get_node_ids))
        return {name for name, node in self.nodes.items() if node in online}

    def wait(self, least: int) -> set[str]:
        """Wait until all parties are connected, or the deadline, and return those that have this plan.

        Fewer than ``least`` of them are an error. It is found before anything is paid: parties that have another
        description would refuse every round.
        """
        end = time.monotonic() + self.deadline
        while len(online := self.find_online()) < len(self.nodes) and time.monotonic() < end:
            time.sleep(_PAUSE)
        if len(online) < least:
            raise EngineError("federated.too_few_connected", least=least, found=len(online))
        # No plan has a round 0: who has this plan refuses that round, and others refuse the plan.
        answers = self._exchange(self._make_requests(0, sorted(online), np.zeros(0)), width=0)
        ready = {name for name, answer in answers.items() if answer == Unusable("refused: federated.no_such_round")}
        if len(ready) < least:
            raise EngineError("federated.too_few_agree", least=least, found=len(ready))
        return ready

    def ask(self, plan: "UpdatePlan", number: int, names: Sequence[str], state: "State") -> dict[str, object]:
        """Return what parties answer: an array, None from a silent one, or why the answer is unusable."""
        answers = self._exchange(self._make_requests(number, names, np.asarray(state)), width=plan.width)
        if self.report is not None:
            self.report(number, len(names), sum(answer is not None for answer in answers.values()))
        return answers

    def exchange(self, number: int, step: str, messages: Mapping[str, bytes], state: "State") -> dict[str, object]:
        """Send the messages of a step under masks, and return what each party answers."""
        answers = self._exchange(
            {
                name: Request(plan=self.digest, round=number, step=step, message=message, party=name, state=state)
                for name, message in messages.items()
            },
            width=0,
        )
        if self.report is not None and step == "numbers":
            self.report(number, len(self.nodes), sum(answer is not None for answer in answers.values()))
        return answers

    def _make_requests(self, number: int, names: Sequence[str], state: NDArray[Any]) -> dict[str, Request]:
        return {name: Request(plan=self.digest, round=number, party=name, state=state) for name in names}

    def _exchange(self, requests: Mapping[str, Request], *, width: int) -> dict[str, object]:
        online = self.find_online()
        asked = {name: request for name, request in requests.items() if name in online}
        answers: dict[str, object] = dict.fromkeys(requests)
        waiting = self._push(asked)
        end = time.monotonic() + self.deadline
        while waiting and time.monotonic() < end:
            for reply in self._call(self.grid.pull_messages, list(waiting)):
                name = waiting.pop(reply.metadata.reply_to_message_id, None)
                if name is not None:  # not one that was asked for, or again
                    answers[name] = self._read(reply, asked[name], width)
            if waiting:
                time.sleep(_PAUSE)
        return answers

    def _push(self, asked: Mapping[str, Request]) -> dict[str, str]:
        """Send the requests, and return who is waited for, by the id of the message."""
        app = require("flwr.app", extra="federated")
        messages = [
            app.Message(
                make_records(request.pack()),
                dst_node_id=self.nodes[name],
                message_type=app.MessageType.TRAIN,
                ttl=self.deadline,
                group_id=str(request.round),
            )
            for name, request in asked.items()
        ]
        if not messages:
            return {}
        sent = self._call(self.grid.push_messages, messages)
        return {place: name for place, name in zip(sent, asked, strict=True) if place}

    def _read(self, reply: Any, request: Request, width: int) -> object:
        if reply.has_error():
            return None if reply.error.code in _LOST else Unusable("failed")
        if reply.metadata.src_node_id != self.nodes[request.party]:
            return Unusable("another party")
        try:
            return read_reply(read_records(reply.content, most=width), request)
        except FormatError:
            return Unusable("not readable")

    def _call(self, act: Callable[..., Any], *given: Any) -> Any:
        """Return what the grid answers; its own errors are those of a network."""
        try:
            return act(*given)
        except Exception as error:
            raise EngineError("federated.network_failed", kind=type(error).__name__) from error


def create_server_app(run: Callable[[Any], None]) -> Any:
    """Return a Flower server app that calls a function with the grid."""
    app = require("flwr.serverapp", extra="federated").ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, _context: Any) -> None:
        run(grid)

    return app


# ---------------------------------------------------------------------------------------------------------- client


def create_client_app(open_node: "Callable[[], PartyNode]") -> Any:
    """Return a Flower client app of one party; ``open_node`` is called for each message.

    Flower sends the words of an exception to the server, so none leaves the app.

    >>> create_client_app(lambda: PartyNode.of(federation, "records-of-rounds"))  # doctest: +ELLIPSIS
    <flwr.clientapp.client_app.ClientApp object at ...>
    """
    app = require("flwr.clientapp", extra="federated").ClientApp()

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Any, _context: Any) -> Any:
        reply = require("flwr.app", extra="federated").Message
        return reply(make_records(answer(message.content, open_node)), reply_to=message)

    return app


def answer(content: Any, open_node: "Callable[[], PartyNode]") -> Parcel:
    """Return a party's reply to the records of a message; whatever goes wrong is a refusal."""
    try:
        parcel = read_records(content)
        request = read_request(parcel)
    except FormatError:
        return refuse_unreadable()
    try:
        return open_node().answer(parcel)
    except Exception:  # noqa: BLE001 - its words may quote records
        return request.refuse("federated.answer_failed")
