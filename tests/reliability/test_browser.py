"""The pages in a real browser, against a real server: signing in, previewing, asking, curating, auditing.

Every page is watched while it is used: nothing may be written to the console, no policy be broken, no request go to
another host. Screenshots are taken if ``CELOSIA_ARTEFACTS`` names a folder for them.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from celosia.core import ApproxDP
from tests.reliability.serving import PATIENCE, Served, start_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

pytestmark = [pytest.mark.needs_chromium, pytest.mark.xdist_group("browser")]  # one server and browser for all

SPEECH: dict[str, dict[str, str]] = {
    "en": {"ask": "Ask and pay", "preview": "Preview", "holds": "The log holds."},
    "es": {"ask": "Preguntar y pagar", "preview": "Vista previa", "holds": "El registro está íntegro."},
}
WALKS = [
    ("en", 1280),
    *(
        pytest.param(lang, width, marks=pytest.mark.thorough)
        for lang, width in (("en", 390), ("es", 1280), ("es", 390))
    ),
]
LANGUAGES = ["en", pytest.param("es", marks=pytest.mark.thorough)]  # every text is compared elsewhere
FILE = "/new-dataset?file=files/visits.csv"
SQL = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
# Chromium's advice on forms with a password field and no name is no error; a key has no name.
QUIET = ("verbose",)
RETRIES = 5
REFUSED = re.compile(r"status of 40[13]\b")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests here."""
    folder = tmp_path_factory.mktemp("browser")
    budget = ApproxDP(epsilon=20, delta="1e-6")
    (folder / "files").mkdir()
    (folder / "files" / "visits.csv").write_text("patient_id,age,sex,bill\n1,34,F,10.5\n2,71,M,7\n")
    setup: dict[str, Any] = {"workers": 1, "slot_milliseconds": 20, "data_folders": (folder / "files",)}
    with start_server(folder, budget=budget, analysts=("ana", "eva", "leo"), **setup) as server:
        yield server


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for all tests here."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        # One process draws, for starting another takes longer than most tests.
        args = ["--no-sandbox", "--disable-gpu", "--in-process-gpu", "--renderer-process-limit=1"]
        opened = playwright.chromium.launch(executable_path=chromium, args=args, timeout=1000 * PATIENCE)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def window(browser: Browser, served: Served) -> Iterator[Window]:
    """One window for all tests here but those whose browser has other settings: a new one takes a second or two."""
    opened = Window(browser, served)
    yield opened
    opened.context.close()


class Watch:
    """What a page did that it must not."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.faults: list[str] = []
        self._url = url
        context.on("console", self._said)
        context.on("weberror", lambda error: self.faults.append(f"error {error.error}"))
        context.on("request", self._asked)
        context.on("requestfailed", self._failed)

    def check(self) -> None:
        """Raise AssertionError if there is anything."""
        assert self.faults == []

    def _said(self, message: ConsoleMessage) -> None:
        # An answer that a test provokes (a sign-in that is refused, a question that needs an approval) shows in the
        # console as the browser's own line.
        # A preview that is still under way when its page is left is given up, and htmx says so; one that failed for
        # another reason shows as a request that failed.
        left = message.text.startswith(("htmx:afterRequest", "htmx:sendError", "htmx:sendAbort"))
        if message.type not in QUIET and not REFUSED.search(message.text) and not left:
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self._url}/", "data:", "about:blank")):
            self.faults.append(f"request to {request.url}")

    def _failed(self, request: Request) -> None:
        # A preview that a newer one overtakes is given up on purpose.
        if "ERR_ABORTED" not in str(request.failure):
            self.faults.append(f"failed {request.url}: {request.failure}")


class Window:
    """A page in a context of its own, watched."""

    def __init__(self, browser: Browser, served: Served, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(1000 * PATIENCE)
        self.watch = Watch(self.context, served.url)
        self.page = self.context.new_page()

    @contextmanager
    def open_page(self, width: int = 1200, height: int = 900) -> Iterator[Page]:
        """The page of somebody who was never here; at the end nothing may have gone wrong in it."""
        self.watch.faults.clear()
        self.context.clear_cookies()
        self.page.set_viewport_size({"width": width, "height": height})
        try:
            yield self.page
        finally:
            self.page.emulate_media(media="null", color_scheme="null")
            self.page.goto("about:blank")
        self.watch.check()


def sign_in_by_hand(page: Page, served: Served, who: str, lang: str = "en") -> None:
    page.goto(f"{served.url}/sign-in?lang={lang}")
    page.fill("#key", served.keys[who])
    page.click("main button[type=submit]")
    page.wait_for_url("**/datasets")
    assert page.get_attribute("html", "lang") == lang


def sign_in(page: Page, served: Served, who: str, lang: str = "en") -> None:
    """Sign in as the form does, without drawing its page and the next."""
    # A connection of an earlier test may be closed by the server in this moment: it is opened again.
    form = page.request.get(f"{served.url}/sign-in?lang={lang}", max_retries=RETRIES).text()
    token = re.search(r'name="token" value="([0-9a-f]+)"', form)
    fields = {"key": served.keys[who], "token": token[1] if token else ""}
    headers = {"Origin": served.url}
    reply = page.request.post(f"{served.url}/sign-in", form=fields, headers=headers, max_retries=RETRIES)
    assert reply.url == f"{served.url}/datasets"
    assert f'<html lang="{lang}"' in reply.text()


def shoot(page: Page, name: str) -> None:
    folder = os.environ.get("CELOSIA_ARTEFACTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.mark.parametrize(("lang", "width"), WALKS)
def test_a_data_set_from_its_file_to_its_log(window: Window, served: Served, lang: str, width: int) -> None:
    """All roles, one after another, through the pages alone."""
    name = f"visits_{lang}_{width}"
    lines = (f"{n // 2},{20 + n % 60},{'FM'[n % 2]},{n % 90}.5" for n in range(200))
    served.config.with_name("files").joinpath(f"{name}.csv").write_text("\n".join(["patient_id,age,sex,bill", *lines]))
    walk = Walk(lang, width, name)
    with window.open_page(width) as page:
        sign_in(page, served, "owner", lang)
        page.goto(f"{served.url}/datasets")
        add_by_wizard(page, walk)
        share_with_ana(page, walk)
        set_budget(page, walk)
        sign_in(page, served, "curator", lang)
        page.goto(f"{served.url}/datasets/{name}/curation")
        edit_schema(page, walk)
        assert page.request.get(f"{served.url}/datasets/{name}", max_retries=RETRIES).ok
        sign_in(page, served, "eva", lang)
        assert (
            page.request.get(f"{served.url}/datasets/{name}", max_retries=RETRIES).status == 404
        )  # shared with ana alone
        page.context.clear_cookies()
        page.goto(f"{served.url}/?lang={lang}")
        page.wait_for_url("**/sign-in")
        walk.see(page, "sign-in")
        sign_in_by_hand(page, served, "ana", lang)
        ask_beyond_the_threshold(page, walk)
        sign_in(page, served, "curator", lang)
        page.goto(f"{served.url}/datasets")
        approve(page, walk)
        sign_in(page, served, "ana", lang)
        page.goto(f"{served.url}/approvals")
        ask_what_was_approved(page, walk)
        fit_a_model(page, walk)
        sign_in(page, served, "auditor", lang)
        page.goto(f"{served.url}/log")
        read_the_log(page, walk)


class Walk:
    """The language, the width and the data set of a walk."""

    def __init__(self, lang: str, width: int, name: str) -> None:
        self.lang, self.width, self.name, self._seen = lang, width, name, 0

    def number(self, text: str) -> str:
        """A number as it is typed in this language."""
        return text.replace(".", ",") if self.lang == "es" else text

    def see(self, page: Page, what: str) -> None:
        """Nothing is wider than the screen, or out of sight in its table."""
        self._seen += 1
        shoot(page, f"{self.lang}-{self.width}-{self._seen:02d}-{what}")
        page.wait_for_load_state()  # between two pages there is no document
        assert page.evaluate("document.documentElement.scrollWidth") <= self.width, what
        assert cut_tables(page) == 0, what


def add_by_wizard(page: Page, walk: Walk) -> None:
    """By keyboard, but for the choices."""
    page.click("main a[href='/new-dataset']")
    page.click(f"text=files/{walk.name}.csv")
    assert page.is_disabled("#low-2")  # of a text
    page.select_option("#kind-2", "category")
    page.fill("#values-2", "F, M")
    page.focus("#high-3")
    page.keyboard.type("1000")
    walk.see(page, "columns")
    walk_to(page, "button", "")
    page.keyboard.press("Enter")
    page.wait_for_selector("#schema")
    assert page.input_value("#name") == walk.name
    walk.see(page, "add")
    walk_to(page, "textarea", "")
    walk_to(page, "button", "")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{walk.name}/curation?done=added")


def share_with_ana(page: Page, walk: Walk) -> None:
    page.check("#who-some")
    page.check("[name='analyst ana']")
    walk.see(page, "sharing")
    page.click("form:has(#others) button")
    walk.see(page, "confirm")
    page.click(".button.danger")
    page.wait_for_url("**/curation?done=shared")


def set_budget(page: Page, walk: Walk) -> None:
    page.click("nav a[href='/datasets']")
    page.click(f"main a[href='/budget?dataset={walk.name}']")  # it has none, and the page says so
    assert page.input_value("#dataset") == walk.name
    page.select_option("#kind", "approx")
    page.fill("#epsilon", "8")
    page.fill("#delta", "1e-6")
    page.fill("#approval_above", walk.number("1.5"))
    page.click("form:has(#epsilon) button")
    page.wait_for_url("**/budget?done=budget")
    assert walk.number("1.5") in page.inner_text(f".budget:has-text('{walk.name}')")
    walk.see(page, "budget")


def edit_schema(page: Page, walk: Walk) -> None:
    page.fill("#high-1", "115")
    page.click("form:has(#high-1) button")
    page.wait_for_url("**/curation?done=bounds")
    assert page.input_value("#high-1") == "115"
    walk.see(page, "curation")
    page.click("main a[href$='/schema']")
    page.fill("#schema", page.input_value("#schema").replace("1000", "500"))
    page.click("form:has(#schema) button")
    walk.see(page, "schema-notes")
    page.click(".button.danger")
    page.wait_for_url("**/curation?done=schema")


def ask_beyond_the_threshold(page: Page, walk: Walk) -> None:
    walk.see(page, "data-sets")
    page.click(f"main a[href='/datasets/{walk.name}/ask']")
    page.wait_for_selector("#cost")
    page.fill("#sql", f"SELECT sex, COUNT(*) FROM {walk.name} GROUP BY sex")
    move_the_slider(page)
    page.fill("#amount", "2")
    page.click("#question button.main")
    page.click("main a[href='/approvals']")
    assert page.locator("form[action='/approvals/ask']").count() == 0  # not yet
    walk.see(page, "approval")


def approve(page: Page, walk: Walk) -> None:
    page.click("nav a[href='/approvals']")
    asked = page.locator(f"section:has-text('{walk.name}')")
    asked.locator("input[name=reason]").fill("once")
    walk.see(page, "approve")
    asked.locator("button[value=granted]").click()
    page.wait_for_url("**/approvals?done=granted")


def ask_what_was_approved(page: Page, walk: Walk) -> None:
    page.click(f"section:has-text('{walk.name}') form[action='/approvals/ask'] button")
    page.wait_for_url("**/answers/*")
    see_the_chart(page, bars=2)
    walk.see(page, "answer")
    see_the_print(page)
    shoot(page, f"{walk.lang}-{walk.width}-print")
    page.emulate_media(media="null")
    page.click("nav a[href='/budget']")
    assert float(page.get_attribute(f".budget:has-text('{walk.name}') .bar", "data-spent") or "nan") == 0.25
    walk.see(page, "own-budget")


def fit_a_model(page: Page, walk: Walk) -> None:
    from playwright.sync_api import expect

    page.click("nav a[href='/datasets']")
    page.click(f"main a[href='/datasets/{walk.name}/ask']")
    page.click("main a[href$='tab=model']")
    page.select_option("#model", "PCA")
    assert page.is_disabled("#target")
    page.select_option("#model", "Ridge")
    page.select_option("#target", "bill")
    page.check("[name='feature age']")
    page.fill("#amount", walk.number("0.5"))
    # The first fit of a process loads the estimators.
    expect(page.locator("#cost")).to_contain_text(walk.number("0.5"), timeout=1000 * PATIENCE)
    walk.see(page, "model")
    page.click("#question button.main")
    page.wait_for_url("**/answers/*")
    assert "coef_" in page.inner_text("main")
    walk.see(page, "fitted")
    page.click("nav a[href='/answers']")
    assert page.locator(f"tbody tr:has-text('{walk.name}')").count() == 2
    walk.see(page, "answers")


def read_the_log(page: Page, walk: Walk) -> None:
    head = page.inner_text("#head-hash")
    assert re.fullmatch(r"\d+:[0-9a-f]{64}", head)
    page.fill("#head", head)
    page.click("form:has(#head) button")
    page.wait_for_selector(f"text={SPEECH[walk.lang]['holds']}")
    page.select_option("#kind", "approval granted")
    page.fill("#dataset", walk.name)
    page.click("form:has(#kind) button")
    page.wait_for_url("**/log?kind=approval*")
    assert page.locator("tbody tr").count() == 1
    walk.see(page, "log")
    for link, words in (("csv", "approval granted"), ("jsonl", '"approval granted"')):
        with page.expect_download() as download:
            page.click(f"main a[href*='{link}']")
        assert words in Path(download.value.path()).read_text()


def move_the_slider(page: Page) -> None:
    """Moving it changes the number, the cost and the expected error, without a button."""
    from playwright.sync_api import expect

    expect(page.locator("#preview .facts")).to_contain_text("2")  # groups: the preview is that of the question
    cost, error = page.inner_text("#cost"), page.inner_text(".expected-error")
    assert page.is_visible("#slider")
    page.focus("#slider")
    amount = page.input_value("#amount")
    for _ in range(2):
        page.keyboard.press("PageUp")
    assert float(page.input_value("#amount").replace(",", ".")) > float(amount.replace(",", "."))
    expect(page.locator("#cost")).not_to_have_text(cost)
    expect(page.locator(".expected-error")).not_to_have_text(error)


def see_the_chart(page: Page, *, bars: int) -> None:
    page.wait_for_selector(".chart.drawn svg.marks")
    shapes = page.locator(".chart svg [aria-roledescription=bar]")
    assert shapes.count() == bars
    # Noise may make one of them small.
    assert max(box["height"] for shape in shapes.all() if (box := shape.bounding_box())) > 10


def see_the_print(page: Page) -> None:
    """On paper there is the answer, and no menu."""
    page.emulate_media(media="print")
    assert not page.is_visible(".band nav")
    assert page.is_visible("table")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_api_is_tried_with_a_typed_key_alone(window: Window, served: Served, lang: str) -> None:
    from playwright.sync_api import expect

    with window.open_page(390, 844) as page:
        sign_in(page, served, "ana", lang)
        page.goto(f"{served.url}/try-api")
        page.focus("#api-key")
        page.keyboard.type(served.keys["ana"])
        expect(page.locator("#api-operation option")).not_to_have_count(1)
        walk_to(page, "button", "")
        page.keyboard.press("Enter")
        expect(page.locator("#api-status")).to_contain_text("200")
        assert '"people"' in page.inner_text("#api-reply")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        shoot(page, f"{lang}-25-try-api")
        page.select_option("#api-operation", "POST /v1/queries")
        page.fill("#api-body", '{"dataset": "people", "sql": "SELECT COUNT(*) FROM people", "epsilon": "0.01"}')
        page.click("#api-send")
        expect(page.locator("#api-reply")).to_contain_text('"state"')
        for path in (
            "https://127.0.0.2:9/v1/x",
            "//127.0.0.2:9/v1/x",
            "/v1/../users",
            "/datasets",
            "http://[",
            "/\\\\x",
        ):
            page.fill("#api-path", path)
            page.click("#api-send")
            expect(page.locator("#api-status")).to_contain_text("/v1/")
        kept = page.evaluate("JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])")
        assert served.keys["ana"] not in kept


def test_an_owner_makes_and_revokes_a_key(window: Window, served: Served) -> None:
    with window.open_page() as page:
        sign_in(page, served, "owner")
        page.goto(f"{served.url}/users")
        page.fill("#name", "berta")
        page.click("form:has(#name) button")
        key = page.inner_text("#made-key")
        shoot(page, "en-11-users")
        page.goto(f"{served.url}/users")
        assert key not in page.content()
        page.click(f"[aria-label*='{key.split('_')[1]}']")
        page.click("main button[type=submit]")  # the second look
        page.wait_for_url("**/users?done=revoked")
    with window.open_page() as page:
        page.goto(f"{served.url}/sign-in")
        page.fill("#key", key)
        page.click("main button[type=submit]")
        page.wait_for_selector("[role=alert]")


# Spanish words are longer.
@pytest.mark.parametrize("lang", [pytest.param("en", marks=pytest.mark.thorough), "es"])
def test_narrow_screens_never_scroll_sideways(window: Window, served: Served, lang: str) -> None:
    from playwright.sync_api import expect

    with window.open_page(360, 740) as page:
        page.emulate_media(color_scheme="dark")
        sign_in(page, served, "eva", lang)
        page.goto(f"{served.url}/datasets/people/ask?tab=form")
        page.wait_for_selector("#cost")
        page.select_option("#group", "sex")
        expect(page.locator("#preview pre")).to_contain_text("sex")
        shoot(page, f"{lang}-12-narrow-ask")
        page.click(f"text={SPEECH[lang]['ask']}")
        see_the_chart(page, bars=2)
        shoot(page, f"{lang}-13-narrow-answer")
        answer = page.url
        page.fill("#name", "Mujeres y hombres")
        page.click("form:has(#name) button")
        page.wait_for_url("**/dashboard")
        expect(page.locator("img.chart-image")).to_have_js_property("complete", value=True)
        assert page.locator("img.chart-image").evaluate("image => image.naturalWidth") > 100
        shoot(page, f"{lang}-26-narrow-dashboard")
        for path in (
            "/datasets",
            "/datasets/people",
            "/datasets/people/ask",
            "/answers",
            "/dashboard",
            "/budget",
            answer,
        ):
            page.goto(path if path == answer else f"{served.url}{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
            assert cut_tables(page) == 0, path


CUT = "frames => frames.filter(frame => frame.scrollWidth > frame.clientWidth + 1).length"


def cut_tables(page: Page) -> int:
    """How many tables are wider than their frame, so that something in them is out of sight."""
    return int(page.eval_on_selector_all(".scroll", CUT))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_numbers_and_their_intervals_are_whole_on_narrow_screens(window: Window, served: Served, lang: str) -> None:
    with window.open_page(360, 740) as page:
        sign_in(page, served, "eva", lang)
        page.goto(f"{served.url}/datasets/people/ask")
        page.fill("#sql", "SELECT sex, COUNT(*), SUM(income), AVG(income), AVG(age) FROM people GROUP BY sex")
        page.click(f"text={SPEECH[lang]['ask']}")
        page.wait_for_url("**/answers/*")
        assert cut_tables(page) == 0
        assert page.locator("tbody td").count() >= 8
        labels = "cells => new Set(cells.map(cell => getComputedStyle(cell).display)).size"
        assert page.eval_on_selector_all(".stack tbody [data-label]", labels) == 1
        for cell in page.locator("tbody td:visible").all():
            box = cell.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360
        shoot(page, f"{lang}-16-narrow-table")
        page.goto(f"{served.url}/answers")
        shoot(page, f"{lang}-17-narrow-answers")


def test_a_question_that_is_deleted_takes_its_preview_along(window: Window, served: Served) -> None:
    from playwright.sync_api import expect

    with window.open_page() as page:
        sign_in(page, served, "eva")
        page.goto(f"{served.url}/datasets/people/ask")
        page.wait_for_selector("#cost")
        page.fill("#sql", "")
        expect(page.locator("#cost")).to_have_count(0)
        assert "Write a question" in page.inner_text("#preview")
        page.fill("#sql", SQL)
        page.wait_for_selector("#cost")


def test_nor_do_the_other_roles_pages(window: Window, served: Served) -> None:
    """In Spanish, whose words are longer."""
    pages = {
        "curator": [
            "/datasets/people/curation",
            "/datasets/people/schema",
            "/new-dataset",
            f"{FILE}&as=text",
            "/budget",
        ],
        "auditor": ["/log"],
        "owner": ["/users", FILE],
    }
    with window.open_page(360, 740) as page:
        for who, paths in pages.items():
            sign_in(page, served, who, "es")
            for path in paths:
                page.goto(f"{served.url}{path}")
                assert page.url == f"{served.url}{path}"
                assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
                assert cut_tables(page) == 0, path
                shoot(page, f"es-18-narrow{re.sub('[^a-z]+', '-', path)}")


def test_without_a_script_everything_can_be_read_and_asked(browser: Browser, served: Served) -> None:
    window = Window(browser, served, java_script_enabled=False)
    with closing(window.context), window.open_page() as page:
        sign_in_by_hand(page, served, "leo")
        page.goto(f"{served.url}/datasets/people/ask?tab=form")
        assert not page.is_visible("#slider")
        page.select_option("#aggregate", "mean")
        page.select_option("#column", "income")
        page.select_option("#group", "sex")
        page.fill("#amount", "1.5")
        page.get_by_role("button", name=SPEECH["en"]["preview"], exact=True).click()
        assert "AVG(income)" in page.inner_text("#preview")
        assert "1.5" in page.inner_text("#cost")
        page.click(f"text={SPEECH['en']['ask']}")
        page.wait_for_url("**/answers/*")
        picture = page.locator("img.chart-image")
        assert picture.evaluate("image => image.complete && image.naturalWidth") > 100
        assert page.locator("tbody tr").count() == 2
        shoot(page, "en-14-without-script")


def test_the_keyboard_is_enough(window: Window, served: Served) -> None:
    with window.open_page() as page:
        page.goto(f"{served.url}/sign-in?lang=en")
        assert page.evaluate("document.activeElement.id") == "key"  # where one begins to type
        page.keyboard.type(served.keys["leo"])
        page.keyboard.press("Enter")
        page.wait_for_url("**/datasets")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        walk_to(page, "a", "Ask")
        page.keyboard.press("Enter")
        page.wait_for_url("**/people/ask")
        walk_to(page, "textarea", "")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Control+A")
        page.keyboard.type("SELECT COUNT(*) FROM people WHERE age < 40")
        walk_to(page, "button", "Ask and pay")
        page.keyboard.press("Enter")
        page.wait_for_url("**/answers/*")


def walk_to(page: Page, tag: str, words: str) -> None:
    """Press Tab until the focus is where it should be."""
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate("[document.activeElement.tagName.toLowerCase(), document.activeElement.innerText]")
        if found[0] == tag and found[1].startswith(words):
            return
    pytest.fail(f"the keyboard does not reach {tag} {words!r}")


def test_a_policy_that_is_broken_would_be_seen(window: Window, served: Served) -> None:
    """The watch itself: inline style and script, and a request elsewhere, are told."""
    with window.open_page() as page:
        page.goto(f"{served.url}/sign-in")
        page.evaluate(
            """() => {
            const part = document.createElement('div'); part.innerHTML = '<p style="color: red">x</p>';
            document.body.append(part);
            const script = document.createElement('script'); script.textContent = '1'; document.body.append(script);
            const image = new Image(); image.src = 'http://127.0.0.2:9/x.png';
            }"""
        )
        deadline = time.monotonic() + PATIENCE
        while not all(policy in "\n".join(window.watch.faults) for policy in ("style-src", "script-src", "img-src")):
            assert time.monotonic() < deadline, window.watch.faults
            page.wait_for_timeout(20)
        with pytest.raises(AssertionError):
            window.watch.check()
        window.watch.faults.clear()
