from __future__ import annotations

import re

from celosia.core.html_page import (
    STYLE,
    write_code,
    write_figure,
    write_list,
    write_page,
    write_paragraph,
    write_section,
    write_table,
)


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert not re.search(r"url\(|@import|https?:|//", STYLE)


def test_it_knows_dark_paper_and_narrow_screens() -> None:
    assert "prefers-color-scheme: dark" in STYLE
    assert "@media print" in STYLE
    assert "overflow-x: auto" in STYLE


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_stands_out_in_light_and_dark() -> None:
    # 4.5 : 1 is what the Web Content Accessibility Guidelines 2.1 ask for (success criterion 1.4.3).
    for scheme in re.findall(r":root \{(.*?)\}", STYLE, flags=re.DOTALL):
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", scheme))
        for text in ("ink", "quiet"):
            for ground in ("paper", "stripe", "warn"):
                bright, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
                assert (bright + 0.05) / (dark + 0.05) >= 4.5, (text, ground)


def test_a_page_escapes_every_text() -> None:
    parts = [
        write_paragraph("<b>", warning=True),
        write_list(["<i>"]),
        write_figure("<svg/>", "<q>"),
        write_table("<c>", ["<h>"], [[["<strong>n</strong>"]]]),
        "",
    ]
    page = write_page("<t>", "<l>", [write_section("one", "<s>", parts)], language="es")
    for text in ("<b>", "<i>", "<q>", "<c>", "<h>", "<t>", "<l>", "<s>", "<svg/>"):
        assert text not in page
    assert '<html lang="es">' in page
    assert "<strong>n</strong>" in page  # cells are HTML
    assert write_code("a < b") == "<code>a &lt; b</code>"
