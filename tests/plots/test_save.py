from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from celosia.core import ParameterError
from celosia.plots import Labels, Panel, densities, intervals, save

if TYPE_CHECKING:
    import altair as alt

TITLE = "Laplace: neighbours 108 & 107"


@pytest.fixture(scope="module")
def chart() -> alt.HConcatChart:
    panels = [
        Panel(title=title, outputs=[106, 107, 108, 109], masses=([0.1, 0.2, 0.5, 0.2], [0.2, 0.5, 0.2, 0.1]))
        for title in ("ε = 1", "ε = 0.1")
    ]
    return densities(panels, values=(108, 107), labels=Labels(title=TITLE))


def test_svg_is_svg_with_the_titles(chart: alt.HConcatChart, tmp_path: Path) -> None:
    path = save(chart, tmp_path / "chart.svg")
    root = ET.parse(path).getroot()
    assert root.tag.endswith("svg")
    text = " ".join(root.itertext())
    for words in (TITLE, "ε = 1", "ε = 0.1", "f(D) = 108", "f(D′) = 107"):
        assert words in text


def test_png_is_png(chart: alt.HConcatChart, tmp_path: Path) -> None:
    assert save(chart, str(tmp_path / "chart.PNG")).read_bytes().startswith(b"\x89PNG\r\n")


def test_html_needs_no_network(chart: alt.HConcatChart, tmp_path: Path) -> None:
    page = save(chart, tmp_path / "chart.html").read_text(encoding="utf-8")
    assert "<title>Laplace: neighbours 108 &amp; 107</title>" in page
    assert not re.search(r"<(script|link)[^>]*\b(src|href)=", page)
    assert "default-src 'none'" in page


def test_a_title_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    evil = intervals(["a"], [1], ([0], [2]), labels=Labels(title="</script><script>alert(1)</script>"))
    page = save(evil, tmp_path / "chart.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;/script&gt;" in page


@pytest.mark.parametrize("name", ["chart.bmp", "chart", "chart.svg.gz"])
def test_an_unknown_suffix_is_refused(chart: alt.HConcatChart, tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match=rf"\.html, \.png or \.svg, not as '{re.escape(name)}'"):
        save(chart, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_directory_is_named(chart: alt.HConcatChart, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"There is no directory '.*nowhere' to save 'chart\.svg' in"):
        save(chart, tmp_path / "nowhere" / "chart.svg")


def test_a_place_that_cannot_be_written_is_named(chart: alt.HConcatChart, tmp_path: Path) -> None:
    (tmp_path / "chart.svg").mkdir()
    with pytest.raises(ParameterError, match=r"chart\.svg' cannot be written"):
        save(chart, tmp_path / "chart.svg")
    assert [file.name for file in tmp_path.iterdir()] == ["chart.svg"]


def test_the_old_chart_stays_until_the_new_one_is_whole(
    chart: alt.HConcatChart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "chart.svg"
    target.write_text("old", encoding="utf-8")
    written = Path.write_bytes

    def fail_halfway(path: Path, content: bytes) -> int:
        written(path, content[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", fail_halfway)
        with pytest.raises(ParameterError, match="No space left on device"):
            save(chart, target)
    assert target.read_text(encoding="utf-8") == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["chart.svg"]
    save(chart, target)
    assert target.read_text(encoding="utf-8").startswith("<svg")


def test_the_file_may_be_read_by_whom_the_umask_allows(chart: alt.HConcatChart, tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        path = save(chart, tmp_path / "chart.svg")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.needs_chromium
def test_html_is_drawn_by_a_browser_and_asks_nobody(chart: alt.HConcatChart, tmp_path: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    path = tmp_path / "chart.html"
    chart.save(path)  # the chart's own method writes the same page as celosia.plots.save
    assert path.read_bytes() == save(chart, tmp_path / "same.html").read_bytes()
    asked: list[str] = []
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto(path.as_uri())
        page.wait_for_selector("#chart svg")
        shown = page.locator("#chart svg").first.inner_html()
        title = page.title()
        browser.close()
    assert title == TITLE
    for words in ("ε = 1", "ε = 0.1", "f(D) = 108", "f(D′) = 107"):
        assert words in shown
    assert asked == [path.as_uri()]
    assert not wrong
