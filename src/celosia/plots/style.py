"""The common style of all charts: one palette, one type face, quiet axes.

The colours are those of Okabe and Ito (*Color Universal Design*, 2008), which people with any of the common colour
vision deficiencies can distinguish; no chart relies on colour alone.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from celosia.core.messages.message import Message

if TYPE_CHECKING:
    import altair as alt

    Chart = TypeVar("Chart", bound=alt.TopLevelMixin)

BLUE = "#0072b2"
"""The first series."""

VERMILION = "#d55e00"
"""The second series."""

GREY = "#6b6b6b"
"""Elements for comparison."""

INK = "#222222"
"""Text."""

PALETTE = (BLUE, VERMILION, "#009e73", "#cc79a7", INK, "#e69f00", "#56b4e9")
"""Colours for several series, in this order; the yellow of the palette is missing, for it fades on white."""

DASHES = ((1, 0), (8, 4), (2, 3), (10, 3, 2, 3), (5, 3), (14, 4), (8, 2, 2, 2, 2, 2))
"""Dash patterns beside the colours, so that series are distinct in grey too."""

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
"""Type faces, at least one of which is on every system."""


_LOCALES: Final[dict[str, dict[str, Any]]] = {
    "es": {"number": {"decimal": ",", "thousands": ".", "grouping": [3], "currency": ["", " €"]}}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Title, subtitle and axis titles of a chart, and the language of its legend and numbers.

    Titles that are messages are written in that language.

    >>> Labels(title="Deaths by age", x="Age, in years", y="Deaths").subtitle
    ''
    """

    title: str
    subtitle: str = ""
    x: str = ""
    y: str = ""
    language: str = "en"

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, self.write(getattr(self, field.name)))

    def write(self, text: str) -> str:
        """Return a message in the language of the chart, and any other text unchanged."""
        return text.render(self.language) if isinstance(text, Message) else text


def apply_style(chart: "Chart", language: str = "en") -> "Chart":
    """Return a complete chart with the common style; parts of a chart cannot have it."""
    import altair as alt

    axis = {
        "labelColor": INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "domainColor": "#999999",
        "tickColor": "#999999",
        "gridColor": "#e8e8e8",
    }
    title = {"anchor": "start", "color": INK, "fontSize": 17, "subtitleColor": GREY, "subtitleFontSize": 13}
    legend = {"labelFontSize": 13, "labelColor": INK, "orient": "bottom", "title": None, "symbolStrokeWidth": 3}
    configured: Chart = chart.configure(
        font=FONT,
        background="white",
        padding=16,
        axis=axis,
        title=title | {"offset": 18, "subtitlePadding": 6},
        legend=legend,
        view={"stroke": None},
        locale=_LOCALES.get(language, alt.Undefined),
    )
    return configured
