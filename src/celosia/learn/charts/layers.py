"""The layers that pictures of models are made of: coloured ground, records, centres, ellipses.

Layers take numbers and know no model. Places on the ground are a grid between public bounds, so that nothing about it
comes from records. Rows are plain mappings, which Altair does not check one by one: that takes longer than to draw.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.plots.style import GREY, INK, PALETTE, apply_style

if TYPE_CHECKING:
    import altair as alt

Numbers = NDArray[np.float64]

_TILES = 40  # along each side of the ground: more would only make the picture slow
_SIDE = 400
_TURN = np.linspace(0.0, 2 * np.pi, 73)
_SHAPES = ("circle", "triangle-up", "square", "diamond", "triangle-down", "triangle-right", "triangle-left")
_MAX_DRAWN_RECORDS = 2000  # records in one picture: more would only be ink


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """Two columns, their public bounds and names, and the names of the colours."""

    low: Numbers
    high: Numbers
    titles: tuple[str, str]
    names: tuple[str, ...]

    @property
    def step(self) -> Numbers:
        """The sides of a tile."""
        return np.asarray((self.high - self.low) / _TILES)

    @property
    def grid(self) -> Numbers:
        """The middles of the tiles, one in a row."""
        along = [
            np.linspace(a + s / 2, b - s / 2, _TILES) for a, b, s in zip(self.low, self.high, self.step, strict=True)
        ]
        return np.stack(np.meshgrid(*along), axis=-1).reshape(-1, 2)

    def x(self, column: str = "x") -> "alt.X":
        """The horizontal axis."""
        import altair as alt

        scale = alt.Scale(domain=[float(self.low[0]), float(self.high[0])], nice=False)
        return alt.X(f"{column}:Q", title=self.titles[0], scale=scale, axis=alt.Axis(grid=False, labelFlush=False))

    def y(self, column: str = "y") -> "alt.Y":
        """The vertical axis."""
        import altair as alt

        scale = alt.Scale(domain=[float(self.low[1]), float(self.high[1])], nice=False)
        return alt.Y(f"{column}:Q", title=self.titles[1], scale=scale, axis=alt.Axis(grid=False, labelFlush=False))

    def colour(self) -> "alt.Color":
        """The colours."""
        import altair as alt

        scale = alt.Scale(domain=list(self.names), range=[self.hue(place) for place in range(len(self.names))])
        return alt.Color("name:N", scale=scale, sort=None, legend=None)

    def hue(self, place: int) -> str:
        """The colour of one of them."""
        return PALETTE[place % len(PALETTE)]


def ground(frame: Frame, places: Sequence[int], strength: Numbers) -> "alt.Chart":
    """Return tiles in the colours of what they belong to, the paler the weaker."""
    import altair as alt

    sides = 0.56 * frame.step  # they overlap a little, so that no seams are seen
    colours = np.array([_red_green_blue(frame.hue(place)) for place in range(len(frame.names))])
    fills = _pale(colours[np.asarray(places)], strength)
    columns = [*(frame.grid - sides).T.tolist(), *(frame.grid + sides).T.tolist(), fills]
    rows = [dict(zip(("x", "y", "x2", "y2", "fill"), row, strict=True)) for row in zip(*columns, strict=True)]
    chart: alt.Chart = (
        alt.Chart({"values": rows})
        .mark_rect(strokeWidth=0, opacity=1, clip=True)
        .encode(x=frame.x(), x2="x2:Q", y=frame.y(), y2="y2:Q", fill=alt.Fill("fill:N", scale=None))
    )
    return chart


def words(frame: Frame, positions: Numbers) -> "list[alt.Chart]":
    """Return the names a little above their positions, dark on a light edge."""
    import altair as alt

    rows = [
        {"x": x, "y": y, "name": name}
        for name, (x, y) in zip(frame.names, np.asarray(positions).tolist(), strict=True)
        if np.isfinite([x, y]).all()
    ]
    chart = alt.Chart({"values": rows}).encode(x=frame.x(), y=frame.y(), text="name:N")
    look: dict[str, Any] = {"fontSize": 14, "fontWeight": "bold", "dy": -20, "clip": True}
    return [chart.mark_text(color=INK, stroke="white", strokeWidth=4, **look), chart.mark_text(color=INK, **look)]


def middles(frame: Frame, places: Sequence[int]) -> Numbers:
    """Return, for each name, the tile nearest to the middle of its tiles: inside, also where a region bends."""
    found = np.full((len(frame.names), 2), np.nan)
    for place in set(places):
        tiles = frame.grid[np.asarray(places) == place]
        apart = (tiles - tiles.mean(axis=0)) / frame.step
        found[place] = tiles[int(np.argmin((apart**2).sum(axis=1)))]
    return found


def _red_green_blue(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


def _pale(colours: NDArray[np.int64], strength: Numbers) -> list[str]:
    """Return colours mixed with white, the more of it the weaker."""
    share = (0.08 + 0.5 * np.clip(np.asarray(strength, dtype=np.float64), 0.0, 1.0))[:, None]
    mixed = np.rint(255 - share * (255 - colours)).astype(np.int64) @ np.array([65_536, 256, 1])
    return [f"#{number:06x}" for number in mixed.tolist()]


def cloud(columns: Mapping[str, Any], frame: Frame | None = None) -> "alt.Chart":
    """Return records as dots, some thousands at the most, spread evenly over all; ``name`` colours them."""
    import altair as alt

    size = len(columns["x"])
    kept = np.unique(np.linspace(0, size - 1, min(size, _MAX_DRAWN_RECORDS)).round().astype(np.int64))
    lists = {name: np.asarray(column)[kept].tolist() for name, column in columns.items()}
    rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    chart = alt.Chart({"values": rows})
    dots: alt.Chart
    if frame is None:
        dots = chart.mark_circle(color=GREY, size=14, opacity=0.35).encode(x="x:Q", y="y:Q")
    else:
        shapes = alt.Scale(domain=list(frame.names), range=[_SHAPES[i % len(_SHAPES)] for i in range(len(frame.names))])
        marked = chart.mark_point(size=22, opacity=0.8, filled=True, clip=True)
        shape = alt.Shape("name:N", scale=shapes, sort=None, legend=None)
        dots = marked.encode(x=frame.x(), y=frame.y(), color=frame.colour(), shape=shape)
    return dots


def marks(frame: Frame, centres: Numbers, plain: Numbers | None = None) -> "alt.Chart":
    """Return centres as crosses and, as hollow diamonds, those that are not private."""
    import altair as alt

    series = {"private centre": centres} | ({} if plain is None else {"centre without privacy": plain})
    rows = [
        {"x": x, "y": y, "series": name}
        for name, places in reversed(series.items())
        for x, y in np.asarray(places, dtype=np.float64).tolist()
    ]
    count = len(series)
    legend = alt.Legend(title=None, orient="right", symbolFillColor="transparent", symbolStrokeColor=INK)
    shapes = alt.Scale(domain=list(series), range=["cross", "diamond"][:count])
    fills = alt.Scale(domain=list(series), range=[INK, "transparent"][:count])
    # "ordinal": by default one size would be the end of a range, and a centre nothing. Neither kind hides the other.
    sizes = alt.Scale(type="ordinal", domain=list(series), range=[150, 600][:count])
    chart: alt.Chart = (
        alt.Chart({"values": rows})
        .mark_point(stroke=INK, strokeWidth=2, opacity=1, clip=True)
        .encode(
            x=frame.x(),
            y=frame.y(),
            shape=alt.Shape("series:N", scale=shapes, legend=legend),
            fill=alt.Fill("series:N", scale=fills, legend=None),
            size=alt.Size("series:N", scale=sizes, legend=None),
        )
    )
    return chart


def ellipses(frame: Frame, means: Numbers, variances: Numbers) -> "alt.Chart":
    """Return ellipses of one and two standard deviations around every mean."""
    import altair as alt

    rows = [
        {
            "x": float(mean[0] + times * np.sqrt(variance[0]) * np.cos(turn)),
            "y": float(mean[1] + times * np.sqrt(variance[1]) * np.sin(turn)),
            "name": name,
            "ring": f"{name} {times}",
            "place": place,
        }
        for name, mean, variance in zip(frame.names, means, variances, strict=True)
        for times in (1, 2)
        for place, turn in enumerate(_TURN.tolist())
    ]
    chart: alt.Chart = (
        alt.Chart({"values": rows})
        .mark_line(strokeWidth=1.75, clip=True)
        .encode(x=frame.x(), y=frame.y(), color=frame.colour(), detail="ring:N", order="place:Q")
    )
    return chart


def together(layers: "Sequence[alt.Chart]", title: str, subtitle: str) -> "alt.LayerChart":
    """Return layers as one square picture."""
    import altair as alt

    from celosia.plots.offline import LayerChart

    heading = alt.TitleParams(title, subtitle=subtitle or [])
    chart = LayerChart(layer=list(layers), width=_SIDE, height=_SIDE, title=heading)
    whole: alt.LayerChart = chart.resolve_scale(shape="independent", fill="independent")
    return apply_style(whole)


def with_loose_axis(chart: "alt.LayerChart") -> "alt.LayerChart":
    """Return a chart of curves whose vertical axis need not begin at 0: a line has no area."""
    import altair as alt

    for layer in chart.layer:
        if isinstance(layer.encoding.y, alt.Y):
            layer.encoding.y = layer.encoding.y.scale(zero=False, nice=True)
    return chart
