"""Who learns what: a guarantee for each party against each other one, and against coalitions, before training begins.

The report names the parties that hold others together, and for masked sums the edge worth adding. It depends on the
graph and the noise only, not on any record, so it can be published.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from celosia.accounting.accountants.base import exact_delta
from celosia.core import ApproxDP
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, format_exact, safe_repr
from celosia.core.html_table import draw_table
from celosia.core.messages.message import Message, Numeral
from celosia.federated.disclosure.better_edge import EdgeSuggestion, suggest_edge
from celosia.federated.disclosure.methods import FreshNoise, GossipOnce, MaskedSums
from celosia.federated.disclosure.views import list_observers
from celosia.federated.topology.charts import draw_topology
from celosia.federated.topology.graph import Edge, Graph, read_coalition
from celosia.plots import Labels, matrices

if TYPE_CHECKING:
    import altair as alt

_DIGITS: Final = 12  # of exposures that count as equal
_MAX_COLUMNS: Final = 16  # of a printed table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Disclosure:
    """What each observer learns about each party.

    ``exposures`` has a row for each of ``observers`` and a column for each party: 1 is local privacy, 0 means that
    nothing is learned, and a party's own entry is NaN. ``get`` has the guarantees. See ``who_learns_what``.

    >>> from celosia.core import GaussianEvent
    >>> from celosia.federated import FreshNoise, make_graph
    >>> training = FreshNoise(event=GaussianEvent(variance=400, sensitivity_squared=1), rounds=9)
    >>> print(who_learns_what(make_graph("path", 3), training, delta="1e-6"))
    Epsilon at delta = 1e-06 of each party (columns) against each observer (rows)
           1      2      3
    1      ·  0.613  0.613
    2  0.613      ·  0.613
    3  0.613  0.613      ·
    Most exposed: 2 against 1, ApproxDP(epsilon=0.6125228773351701, delta='1e-06').
    Cut vertices, without which others are not connected: 2.
    """

    graph: Graph
    method: GossipOnce | FreshNoise | MaskedSums
    delta: Fraction
    observers: tuple[tuple[str, ...], ...]
    exposures: NDArray[np.float64] = field(repr=False)
    prices: Mapping[float, ApproxDP] = field(repr=False)
    suggestion: EdgeSuggestion | None = None

    @property
    def epsilons(self) -> NDArray[np.float64]:
        """The epsilons at ``delta``, in the shape of ``exposures``."""
        known = [np.nan if np.isnan(one) else float(self._price(one).epsilon) for one in self.exposures.ravel()]
        return np.reshape(known, self.exposures.shape)

    @property
    def most_exposed(self) -> tuple[str, tuple[str, ...]]:
        """The party with the largest epsilon, and the observer against which it has it."""
        row, column = np.unravel_index(int(np.nanargmax(self.epsilons)), self.exposures.shape)
        return self.graph.parties[column], self.observers[row]

    def get(self, party: str, *, against: str | Iterable[str]) -> ApproxDP:
        """Return the guarantee of a party's privacy unit against an observer: a party or a stated coalition."""
        observer, [place] = read_coalition(self.graph, against), self.graph.find_places([party])
        if observer not in self.observers:
            raise ParameterError("federated.coalition_not_stated", coalition=safe_repr(observer))
        exposure = self.exposures[self.observers.index(observer), place]
        if np.isnan(exposure):
            raise ParameterError("federated.party_in_coalition", name=safe_repr(party))
        return self._price(exposure)

    def draw(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw the epsilons as a heat map."""
        labels = Labels(
            title=Message("federated.disclosure_title"),
            subtitle=Message("federated.disclosure_subtitle", delta=_write_delta(self.delta)),
            x=Message("federated.about_axis"),
            y=Message("federated.observer_axis"),
            language=language,
        )
        outside = labels.write(Message("federated.outsider"))
        return matrices(
            [_name(one, outside) for one in self.observers], self.graph.parties, self.epsilons, labels=labels
        )

    def draw_topology(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw the graph with the larger epsilon of its two ends against each other on each edge."""
        places, epsilons = {name: place for place, name in enumerate(self.graph.parties)}, self.epsilons
        worst: dict[Edge, float] = {
            (a, b): float(max(epsilons[places[a], places[b]], epsilons[places[b], places[a]]))
            for a, b in self.graph.edges
        }
        return draw_topology(self.graph, worst, language=language)

    def _price(self, exposure: float) -> ApproxDP:
        return self.prices[round(float(exposure), _DIGITS)]

    def _list_notes(self) -> list[str]:
        party, observer = self.most_exposed
        cuts = self.graph.cut_vertices
        shown = [*cuts[:_MAX_COLUMNS], *(["…"] if len(cuts) > _MAX_COLUMNS else [])]
        notes = [f"Most exposed: {party} against {_name(observer)}, {self.get(party, against=observer)!r}."]
        notes += [f"Cut vertices, without which others are not connected: {', '.join(shown)}."] if cuts else []
        return notes + ([] if self.suggestion is None else [str(self.suggestion)])

    def _list_rows(self) -> list[list[str]]:
        cells = [["·" if np.isnan(one) else f"{one:.3g}" for one in row] for row in self.epsilons]
        return [[_name(observer), *row] for observer, row in zip(self.observers, cells, strict=True)]

    def __str__(self) -> str:
        delta = format_exact(self.delta).strip("'")
        title = f"Epsilon at delta = {delta} of each party (columns) against each observer (rows)"
        if len(self.graph.parties) > _MAX_COLUMNS:
            return "\n".join(
                [f"{len(self.graph.parties)} parties, {len(self.observers)} observers.", *self._list_notes()]
            )
        table = [["", *self.graph.parties], *self._list_rows()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        return "\n".join([title, *lines, *self._list_notes()])

    def _repr_html_(self) -> str:
        title = f"Epsilon of each party against each observer, {type(self.method).__name__}"
        return draw_table(["observer", *self.graph.parties], self._list_rows(), title=title, notes=self._list_notes())


def who_learns_what(
    graph: Graph,
    method: GossipOnce | FreshNoise | MaskedSums,
    *,
    delta: Exact,
    coalitions: Iterable[Iterable[str]] = (),
) -> Disclosure:
    """Return what each party, and each of some coalitions, learns about each other party.

    Parameters
    ----------
    graph
        Who talks to whom.
    method
        What they do: ``GossipOnce``, ``FreshNoise`` or ``MaskedSums``.
    delta
        That of the guarantees.
    coalitions
        Lists of parties that put together what they see.

    Examples
    --------
    >>> from celosia.core import GaussianEvent
    >>> from celosia.federated import MaskedSums, make_graph
    >>> masked = MaskedSums(event=GaussianEvent(variance=25, sensitivity_squared=1))
    >>> report = who_learns_what(make_graph("creditors"), masked, delta="1e-6", coalitions=[["3", "7"]])
    >>> report.most_exposed
    ('5', ('4',))
    >>> print(report)  # doctest: +ELLIPSIS
    Epsilon at delta = 1e-06 of each party (columns) against each observer
    ...
    """
    if not isinstance(graph, Graph):
        raise ParameterError("federated.not_a_graph", graph=safe_repr(graph))
    if not isinstance(method, GossipOnce | FreshNoise | MaskedSums):
        raise ParameterError("federated.unknown_method", method=safe_repr(method))
    allowed = exact_delta(delta)
    singles_and_stated = list_observers(graph, coalitions)
    observers = tuple(dict.fromkeys([*singles_and_stated, *method.list_outsiders()]))
    exposures = np.array([method.measure(graph, observer) for observer in observers])
    different = {round(float(one), _DIGITS) for one in exposures.ravel() if not np.isnan(one)}
    return Disclosure(
        graph=graph,
        method=method,
        delta=allowed,
        observers=observers,
        exposures=exposures,
        prices={one: method.price(one, allowed) if one else _nothing(method) for one in different},
        suggestion=suggest_edge(graph, method, delta=delta, coalitions=singles_and_stated)
        if isinstance(method, MaskedSums)
        else None,
    )


def _nothing(method: GossipOnce | FreshNoise | MaskedSums) -> ApproxDP:
    return ApproxDP(epsilon=0, delta=0, adjacency=method.event.adjacency, unit=method.event.unit)


def _name(observer: tuple[str, ...], outside: str = "outsider") -> str:
    return " + ".join(observer) or outside


def _write_delta(delta: Fraction) -> Numeral:
    return Numeral(format_exact(delta).strip("'").replace("e-0", "e-"))
