"""Texts that every picture can hold.

A label may come from an analyst or from data. A character that XML excludes, such as a control character, aborts the
whole process that draws an SVG, so each is shown as U+FFFD (XML 1.0, section 2.2). Vega-Lite writes the title of an
axis into an expression without escaping its backslashes, which can then write such a character, or end the text: a
backslash is shown as U+2216, which looks the same. Our own expressions have none.
"""

import re
from typing import Any, Final

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def make_drawable(value: Any) -> Any:
    """Return a text, or a specification with all its texts, without characters that pictures cannot hold."""
    match value:
        case str():
            return _NOT_XML.sub("\ufffd", value).replace("\\", "\u2216")
        case dict():
            return {make_drawable(name): make_drawable(part) for name, part in value.items()}
        case list():
            return [make_drawable(part) for part in value]
    return value
