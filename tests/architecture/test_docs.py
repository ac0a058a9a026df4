"""The site builds without a warning, and shows doctests as code."""

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_doctests_are_fenced(root: Path) -> None:
    spec = importlib.util.spec_from_file_location("doctest_fences", root / "docs" / "doctest_fences.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.fenced("Add.\n\n>>> 1 + 1\n2\n\nMore.") == "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    assert module.fenced("Add.\n\n    >>> 1") == "Add.\n\n    ```pycon\n    >>> 1\n    ```"
    untouched = "Add.\n\nExamples\n--------\n>>> 1\n1"
    assert module.fenced(untouched) == untouched


def test_the_site_builds_without_a_warning(root: Path, tmp_path: Path, *, thorough: bool) -> None:
    """Quickly, without the reference, which takes most of the time and whose names are looked up below."""
    config = root / "mkdocs.yml"
    if not thorough:
        config = tmp_path / "mkdocs.yml"
        (tmp_path / "proofs").symlink_to(root / "proofs")
        paths = {"docs_dir": root / "docs", "hooks": [root / "docs" / "proofs_nav.py"], "watch": []}
        lines = [f"{name}: {json.dumps(value, default=str)}" for name, value in paths.items()]
        config.write_text("\n".join([f"INHERIT: {root / 'mkdocs.yml'}", "plugins: [search]", *lines]))
    command = ["mkdocs", "build", "--strict", "--quiet", "-f", str(config), "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "site" / "api" / "mechanisms" / "index.html").read_text()
    if thorough:
        assert "Permute" in page
        assert "<blockquote>" not in page
    proofs = sorted((tmp_path / "site" / "proofs").glob("*/index.html"))
    assert len(proofs) >= 10
    for proof in proofs:  # a lone asterisk in a formula would be read as emphasis, and be gone
        emphasised = re.findall(r"<em>(.*?)</em>", proof.read_text(), flags=re.DOTALL)
        torn = [text for text in emphasised if not text[0].isalnum() or text.count("⌊") != text.count("⌋")]
        assert not torn, proof


def test_the_reference_names_modules_that_exist(root: Path) -> None:
    pages = (root / "docs").rglob("*.md")
    named = {name for page in pages for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), flags=re.MULTILINE)}
    assert len(named) > 15
    assert not [name for name in named if importlib.util.find_spec(name) is None]


@pytest.mark.parametrize(
    "name",
    [
        "start.md",
        "survey.md",
        "api/accounting.md",
        "api/anonymity.md",
        "api/data.md",
        "api/divergences.md",
        "api/federated.md",
        "api/learn.md",
        "api/ledger.md",
        "api/local.md",
        "api/query.md",
        "api/sketches.md",
    ],
)
def test_the_pages_do_what_they_say(root: Path, name: str) -> None:
    text = (root / "docs" / name).read_text()
    # A fence would be taken for the last line of what is expected.
    plain = "\n".join("" if line.startswith("```") else line for line in text.splitlines())
    page = doctest.DocTestParser().get_doctest(plain, {}, name, name, 0)
    assert len(page.examples) > 10
    results = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(page)
    assert results.failed == 0


def test_decisions_have_one_title_each(root: Path) -> None:
    site = (root / "mkdocs.yml").read_text(encoding="utf-8")
    pages = sorted((root / "docs" / "adr").glob("*.md"))
    for number, page in enumerate(pages, 1):
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        assert page.name.startswith(f"{number:04}-")
        assert title.startswith(f"{number}. ")
        assert f'"{title}": adr/{page.name}' in site


def test_the_front_page_leads_to_every_package(root: Path) -> None:
    front = (root / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [page.name for page in (root / "docs" / "api").glob("*.md") if f"(api/{page.name})" not in front]
    assert not missing
