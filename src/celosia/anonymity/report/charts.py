"""Charts of a report: how many records are in classes of which size, and columns before and after."""

import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding import Coded, encode
from celosia.anonymity.microdata import Microdata
from celosia.core.messages.message import Message
from celosia.plots import Labels, pairs

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray

_CUTS: Final = (1, 2, 3, 5, 10, 20, 50, 100)
_MOST_BARS: Final = 12
_REST: Final = "…"  # stands for the values that are too rare for a bar of their own
_MOST_SHARED: Final = 0.5  # of the values: with fewer, they have become labels of another kind


def draw_class_sizes(
    before: "NDArray[np.float64]", after: "NDArray[np.float64]", *, language: str = "en"
) -> "alt.LayerChart":
    """Draw the share of records in classes of each size; the arguments have the class size of each record."""
    names = [*(_write_range(low, high) for low, high in itertools.pairwise(_CUTS)), f"{_CUTS[-1]}+"]
    shares = [
        np.bincount(np.searchsorted(_CUTS, sizes, side="right") - 1, minlength=len(_CUTS)) / max(len(sizes), 1)
        for sizes in (before, after)
    ]
    labels = Labels(
        title=Message("anonymity_report.class_sizes"),
        subtitle=Message("anonymity_report.class_sizes_subtitle"),
        x=Message("anonymity_report.class_size"),
        y=Message("anonymity_report.share_of_records"),
        language=language,
    )
    return pairs(names, *shares, labels=labels)


def _write_range(low: int, high: int) -> str:
    return str(low) if high == low + 1 else f"{low}-{high - 1}"


def draw_column(original: Microdata, masked: Microdata, name: str, *, language: str = "en") -> "alt.LayerChart | None":
    """Draw the distribution of a column before and after, or return None where the values are of another kind."""
    import pyarrow as pa

    before, after = original.get_column(name), masked.get_column(name)
    if before.type != after.type or not len(after):
        return None
    both = encode(pa.chunked_array([before, after]), name=name)
    one, two = both.codes[: len(before)], both.codes[len(before) :]
    number = pa.types.is_integer(before.type) or pa.types.is_floating(before.type)
    if not len(both.labels) or not (number or np.isin(two, one).mean() > _MOST_SHARED):
        return None
    names, places = _make_bars(both, one)
    names[-1] = Message("anonymity_report.no_value").render(language)
    names[-2] = Message("anonymity_report.rest").render(language) if names[-2] == _REST else names[-2]
    shares = [np.bincount(places[codes], minlength=len(names))[: len(names)] / len(codes) for codes in (one, two)]
    labels = Labels(title=name, x=name, y=Message("anonymity_report.share_of_records"), language=language)
    kept = [place for place in range(len(names)) if shares[0][place] or shares[1][place]]
    return pairs([names[place] for place in kept], shares[0][kept], shares[1][kept], labels=labels)


def _make_bars(column: Coded, original: "NDArray[np.int32]") -> "tuple[list[str], NDArray[np.int64]]":
    """Return the names of bars, and the bar of each code; the last one is for nulls, which have code -1."""
    import pyarrow as pa

    labels = column.labels
    if len(labels) <= _MOST_BARS:
        names = [_write(value) for value in labels.to_pylist()]
        return [*names, "–"], np.append(np.arange(len(labels)), len(labels))
    if pa.types.is_integer(labels.type) or pa.types.is_floating(labels.type):
        present = np.sort(original[original >= 0])
        inner = np.linspace(0, len(present) - 1, _MOST_BARS + 1).astype(np.int64)[1:-1]
        cuts = np.unique(present[inner]) if len(present) else present
        bars = np.searchsorted(cuts, np.arange(len(labels)), side="right")
        firsts = np.searchsorted(bars, np.unique(bars))
        names = [f"{_write(labels[int(first)].as_py())} +" for first in firsts]
        return [*names, "–"], np.append(np.searchsorted(np.unique(bars), bars), len(names))
    counts = np.bincount(original[original >= 0], minlength=len(labels))
    largest = np.sort(np.argsort(-counts, kind="stable")[: _MOST_BARS - 1])
    places = np.full(len(labels) + 1, len(largest))
    places[largest] = np.arange(len(largest))
    places[-1] = len(largest) + 1
    return [*(_write(labels[int(place)].as_py()) for place in largest), _REST, "–"], places


def _write(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
