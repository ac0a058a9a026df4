from __future__ import annotations

import subprocess
import sys

import altair as alt
import pytest

from celosia.plots.style import BLUE, DASHES, FONT, GREY, INK, PALETTE, VERMILION, Labels, apply_style


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("colour", "least"), [(INK, 7), (GREY, 4.5), (BLUE, 4.5), (VERMILION, 3)])
def test_colours_stand_out_from_the_page(colour: str, least: float) -> None:
    assert 1.05 / (luminance(colour) + 0.05) >= least


@pytest.mark.parametrize("colour", PALETTE)
def test_lines_are_seen_on_the_page(colour: str) -> None:
    assert 1.05 / (luminance(colour) + 0.05) >= 2


def test_every_colour_has_dashes_of_its_own() -> None:
    assert len(set(PALETTE)) == len(PALETTE) == len(set(DASHES)) == len(DASHES)


def test_a_styled_chart_has_the_common_look() -> None:
    config = apply_style(alt.Chart(alt.InlineData(values=[])).mark_point()).to_dict()["config"]
    assert config["font"] == FONT
    assert config["background"] == "white"


def test_labels_need_a_title_only() -> None:
    assert Labels(title="Ages") == Labels(title="Ages", subtitle="", x="", y="")


def test_the_room_is_imported_without_altair() -> None:
    script = "import sys, celosia.plots; print('altair' in sys.modules or 'vl_convert' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "False"
