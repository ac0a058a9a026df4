from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import celosia.guard.web
from celosia.guard.web.rendering import FILES

if TYPE_CHECKING:
    from tests.guard.web.browser import Site

FOLDER = Path(celosia.guard.web.__file__).parent / "static"
CSS = (FOLDER / "pages.css").read_text(encoding="utf-8")
TEXT_PAIRS = [
    ("ink", "paper"), ("ink", "surface"), ("ink", "sunken"), ("muted", "paper"), ("muted", "surface"),
    ("muted", "sunken"), ("link", "paper"), ("link", "surface"), ("link", "sunken"), ("band-ink", "band"),
    ("accent-ink", "accent"), ("accent-ink", "accent-strong"), ("good", "good-paper"), ("warn", "warn-paper"),
    ("bad", "bad-paper"), ("bad", "surface"), ("ink", "warn-paper"),
]  # fmt: skip
SHAPE_PAIRS = [
    ("edge", "surface"), ("edge", "paper"), ("focus", "paper"), ("focus", "surface"), ("left", "surface"),
    ("spent", "sunken"), ("accent", "surface"), ("left", "sunken"),
]  # fmt: skip


def palette(dark: bool) -> dict[str, str]:  # noqa: FBT001
    light, other = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", light))
    return colours | (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", other)) if dark else {})


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.1 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_measure_of_contrast_is_the_published_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everything_can_be_read(dark: bool) -> None:  # noqa: FBT001
    colours = palette(dark)
    assert not {pair for pair in TEXT_PAIRS if contrast(colours[pair[0]], colours[pair[1]]) < 4.5}
    assert not {pair for pair in SHAPE_PAIRS if contrast(colours[pair[0]], colours[pair[1]]) < 3}


def test_style_and_script_ask_nobody_else() -> None:
    own = [CSS, (FOLDER / "pages.js").read_text(encoding="utf-8")]
    assert not re.findall(r"https?:|//[a-z]|@import|eval\(|innerHTML|Function\(", "\n".join(own).replace("// ", ""))


def test_the_libraries_are_those_that_were_published() -> None:
    lines = (FOLDER / "vendor" / "VERSIONS").read_text(encoding="utf-8").splitlines()
    listed = [line.split() for line in lines if not line.startswith("#")]
    for _, version, name, digest in listed:
        content = (FOLDER / "vendor" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert version.count(".") == 2
    scripts = {file.name for file in (FOLDER / "vendor").glob("*.js")}
    assert scripts == {name for _, _, name, _ in listed}
    licences = {file.name.removesuffix(".LICENSE") for file in (FOLDER / "vendor").glob("*.LICENSE")}
    assert licences == {name.removesuffix(".min.js") for name in scripts}
    assert "vega-interpreter" in (FOLDER / "vendor" / "bundled.LICENSES").read_text(encoding="utf-8")


def test_files_are_served_packed_and_kept(site: Site) -> None:
    browser = site.anonymous_browser()
    for name, file in FILES.files.items():
        reply = browser.get(FILES.address_of(name))
        assert reply.status_code == 200
        assert reply.content == file.content == gzip.decompress(file.packed)
        assert reply.headers["content-encoding"] == "gzip"
        assert "immutable" in reply.headers["cache-control"]
        assert reply.headers["x-content-type-options"] == "nosniff"
    plain = browser.get("/static/pages.css", **{"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == FILES.files["pages.css"].content
    assert browser.get("/static/pages.css", **{"if-none-match": plain.headers["etag"]}).status_code == 304


def test_nothing_else_can_be_had(site: Site) -> None:
    cases: list[str] = [
        "",
        "nothing.css",
        "../serving.py",
        "..%2fserving.py",
        "%2e%2e/serving.py",
        "vendor/VERSIONS",
        "vendor",
        "//etc/x",
    ]
    for name in cases:
        assert site.anonymous_browser().get(f"/static/{name}").status_code == 404


def test_the_icon_is_found_where_browsers_look(site: Site) -> None:
    assert site.anonymous_browser().get("/favicon.ico").headers["location"] == "/static/icon.svg"
