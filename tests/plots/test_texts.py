"""Any text can stand in a picture: the library that draws would abort the process, so each runs in one of its own."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from celosia.plots.texts import make_drawable

ESCAPES = "\\\" + format(27, 'c') + \"'\\x1b\\u001b\\"
BAD = f"{ESCAPES}a\x00\x08\x0b\x1b[31m\x1f\x7f\x85\ud800\ufffe\uffff&<>\"'"

DRAW = """
import sys
from celosia.plots import Labels, intervals, save
from celosia.plots.texts import make_drawable
bad = eval(sys.argv[1])
labels = Labels(title=bad, subtitle=bad, x=bad, y=bad)
chart = intervals([bad, "b"], [1, 2], ([0, 1], [2, 3]), true=[1, 2], labels=labels)
for suffix in ("svg", "png"):
    save(chart, f"{sys.argv[2]}/chart.{suffix}")
"""


def test_characters_that_xml_excludes_are_drawn_as_others(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRAW, ascii(BAD), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    text = " ".join(ET.parse(f"{tmp_path}/chart.svg").getroot().itertext())
    assert make_drawable(BAD) in text


@given(st.text(st.characters()))
def test_all_that_is_left_is_xml(text: str) -> None:
    found = make_drawable({text: [text, 1, None]})
    ((name, (value, number, nothing)),) = found.items()
    assert name == value
    assert (number, nothing) == (1, None)
    assert len(value) == len(text)
    assert "\\" not in value
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
    ET.fromstring(f"<a>{escaped}</a>")
