"""Cards as Markdown and HTML: whatever a column is called, it is shown and never becomes anything else."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from celosia.learn.io.card_pages import Section, html_page, markdown

HOSTILE = '<script>alert("x")</script> | # **bold** [link](http://evil.example) `code` \n## heading & ümläut'
SECTION = Section(
    title=HOSTILE, paragraphs=(HOSTILE,), header=("Column", "Kind"), rows=[[HOSTILE, HOSTILE]], code=HOSTILE
)


class Seen(HTMLParser):
    """Which tags there are, and all the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def seen(page: str) -> Seen:
    reader = Seen()
    reader.feed(page)
    return reader


ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "p", "strong", "div", "table",
    "thead", "tbody", "tr", "th", "td", "pre", "code",
}  # fmt: skip


@given(st.text(max_size=60), st.booleans())
def test_no_text_becomes_a_tag(text: str, warning: bool) -> None:  # noqa: FBT001 - drawn
    section = Section(
        title=text, paragraphs=(text,), header=("a", text), rows=[[text, text]], code=text, warning=warning
    )
    found = seen(html_page(text, [section]))
    assert set(found.tags) <= ALLOWED
    assert (found.tags.count("section"), found.tags.count("tr"), found.tags.count("p")) == (1, 2, 1)
    assert found.attributes <= {"lang", "charset", "name", "content", "class", "scope"}


def test_hostile_names_are_shown_as_they_are() -> None:
    found = seen(html_page(HOSTILE, [SECTION]))
    assert "script" not in found.tags
    assert "a" not in found.tags
    assert found.text.count('<script>alert("x")</script>') == 7
    assert "src=" not in html_page("x", [SECTION]).replace("&", "")


def test_markdown_keeps_its_shape() -> None:
    text = markdown(HOSTILE, [SECTION])
    assert [line[:3] for line in text.splitlines() if line.startswith("#")] == ["# \\", "## "]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 3
    assert all(len(line.replace("\\|", "").split("|")) == 4 for line in rows)
    assert "<script>" not in text.replace("    <script>", "")  # only where it is code


def test_warnings_say_so() -> None:
    section = Section(title="Noise", paragraphs=("It can be repeated.",), warning=True)
    assert "> **Warning.** It can be repeated." in markdown("x", [section])
    assert '<p class="warning"><strong>Warning.</strong> It can be repeated.</p>' in html_page("x", [section])


def test_the_page_stands_alone() -> None:
    page = html_page("x", [SECTION])
    assert page.startswith("<!doctype html>")
    assert "http" not in page.replace("http://evil.example", "")
    assert "@import" not in page
    assert "url(" not in page
