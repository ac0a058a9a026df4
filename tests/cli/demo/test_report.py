from __future__ import annotations

import base64
import dataclasses
import re
from fractions import Fraction
from html.parser import HTMLParser

import pytest

from celosia.cli.demo.report import report
from celosia.cli.demo.story import Story, tell_story
from celosia.noise import Seeded

PICTURES = {
    name: f"<svg xmlns='http://www.w3.org/2000/svg'><title>{name}</title></svg>"
    for name in ("laplace-neighbours", "age-histogram", "age-quantiles", "attack")
}
VOID = {"meta", "br", "img"}
pytestmark = pytest.mark.xdist_group("cli demo")  # the story is told once for all of them


class Outline(HTMLParser):
    """Checks that tags are closed in order, and gathers what is needed below."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.seen if name == tag]


@pytest.fixture(scope="module")
def page(story: Story) -> str:
    return report(story, PICTURES)


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    assert not parser.open
    return parser


def test_every_tag_is_closed_and_every_name_is_one(outline: Outline) -> None:
    names = [attributes["id"] for _, attributes in outline.seen if "id" in attributes]
    assert len(names) == len(set(names)) == 5
    assert [section["aria-labelledby"] for section in outline.all("section")] == names


def test_headings_go_down_one_by_one(page: str) -> None:
    assert re.findall(r"<h(\d)", page) == ["1", *"2" * 5]


def test_nothing_is_requested_from_anywhere(page: str, outline: Outline) -> None:
    policy = next(meta["content"] for meta in outline.all("meta") if "http-equiv" in meta)
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert not {"script", "link", "iframe", "object", "a"} & {tag for tag, _ in outline.seen}
    assert not re.search(r"https?://", page)


def test_every_picture_has_words_in_its_place(outline: Outline) -> None:
    images = outline.all("img")
    assert len(images) == len(PICTURES)
    for image, picture in zip(images, PICTURES.values(), strict=True):
        assert len(image["alt"] or "") > 80
        assert base64.b64decode((image["src"] or "").partition(",")[2]).decode() == picture


def test_every_table_has_a_caption_and_names_its_rows_and_columns(page: str, outline: Outline) -> None:
    assert page.count("<caption>") == len(outline.all("table")) == 4
    assert all(cell.get("scope") in ("row", "col") for cell in outline.all("th"))
    assert len(outline.all("meter")) == 7


def test_the_answers_are_those_of_the_story(page: str, story: Story) -> None:
    for answer in (*story.answers, story.survey):
        for _, true, private, _ in answer.lines:
            assert f"<td>{true}</td><td><strong>{private}</strong></td>" in page
    assert page.count('rowspan="5"') == 2  # cost and way of the five quantiles
    assert "the age of the only woman who died of epilepsy in Nayarit" in page


def test_words_are_escaped(story: Story) -> None:
    hostile = "<script>alert(1)</script>"
    changed = dataclasses.replace(
        story,
        refused=(hostile, hostile),
        answers=(dataclasses.replace(story.answers[0], question=hostile, asked=hostile), *story.answers[1:]),
    )
    page = report(changed, PICTURES)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_picture_that_is_missing_is_left_out(story: Story) -> None:
    assert report(story, {}).count("<figure") == 0


@pytest.mark.thorough  # the command writes one at 1e-6
@pytest.mark.parametrize("epsilon", ["1e-6", "1/3", "50"])
def test_other_epsilons_make_a_page_too(epsilon: str) -> None:
    assert "Two averages" in report(tell_story(Fraction(epsilon), Seeded(1), lambda _: None), PICTURES)
