"""Every error and note has a code, and every code a sentence with the same gaps in every language."""

from __future__ import annotations

import ast
import inspect
import re
import string
from typing import TYPE_CHECKING

import pytest

from celosia.core import errors
from celosia.core.messages.message import LANGUAGES, load_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ERRORS = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.CelosiaError)}
MADE = {*ERRORS, "NotFoundError", "InputTypeError", "Message", "say", "waiting"}
CODE = re.compile(r"[a-z_]+\.[a-z0-9_]+")


def find_gaps(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


@pytest.fixture(scope="module")
def sentences(root: Path) -> dict[str, dict[str, str]]:
    """The sentences of each language, by code."""
    folder = root / "src" / "celosia" / "core" / "messages"
    packages = sorted(file.stem for file in (folder / "en").glob("*.toml"))
    assert {file.parent.name for file in folder.glob("*/*.toml")} == set(LANGUAGES)
    for language in LANGUAGES:
        assert sorted(file.stem for file in (folder / language).glob("*.toml")) == packages
    return {
        language: {
            f"{package}.{name}": sentence
            for package in packages
            for name, sentence in load_catalogue(language, package).items()
        }
        for language in LANGUAGES
    }


@pytest.fixture(scope="module")
def trees(root: Path) -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in (root / "src").rglob("*.py")}


def list_codes(node: ast.expr) -> list[ast.expr]:
    """The expressions that can be the code of an error: both branches of a condition."""
    return [*list_codes(node.body), *list_codes(node.orelse)] if isinstance(node, ast.IfExp) else [node]


def find_messages(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """The calls that make an error or a message, with the code that they name; without one where a variable does."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in MADE and node.args):
            continue
        for code in list_codes(node.args[0]):
            if isinstance(code, ast.Constant):
                yield node, str(code.value)
            else:
                assert not isinstance(code, ast.JoinedStr), f"a sentence in the code: {ast.unparse(node)[:200]}"


def test_every_language_has_every_sentence_with_the_same_gaps(sentences: dict[str, dict[str, str]]) -> None:
    assert len(sentences["en"]) > 1_000
    for language, found in sentences.items():
        assert found.keys() == sentences["en"].keys(), language
        for code, sentence in found.items():
            assert sentence.strip() == sentence, code
            assert find_gaps(sentence) == find_gaps(sentences["en"][code]), code
    assert all(all(name.isidentifier() for name in find_gaps(sentence)) for sentence in sentences["en"].values())


def test_every_error_names_a_code_and_fills_its_gaps(
    sentences: dict[str, dict[str, str]], trees: dict[Path, ast.Module]
) -> None:
    checked = 0
    for path, tree in trees.items():
        for call, code in find_messages(tree):
            where = f"{path}:{call.lineno}"
            assert code in sentences["en"], f"{where}: {code!r} is in no catalogue"
            if all(keyword.arg for keyword in call.keywords) and ast.unparse(call.func) != "NotFoundError":
                assert {keyword.arg for keyword in call.keywords} == find_gaps(sentences["en"][code]), where
                checked += 1
    assert checked > 1_000


def test_no_sentence_is_left_over(sentences: dict[str, dict[str, str]], trees: dict[Path, ast.Module]) -> None:
    used = {
        node.value
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value)
    }
    assert not sentences["en"].keys() - used


def test_no_program_reads_a_sentence(trees: dict[Path, ast.Module]) -> None:
    """The text of our own error is never cut, matched or compared; its code and fields are."""
    for path, tree in trees.items():
        for handler in (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name):
            ours = handler.type is not None and set(re.findall(r"\w+", ast.unparse(handler.type))) <= ERRORS
            for node in ast.walk(handler) if ours and "testing" not in path.parts else ():  # which look for secrets
                if (
                    isinstance(node, ast.Attribute | ast.Subscript | ast.Compare)
                    and getattr(node, "attr", "") != "encode"
                ):
                    assert f"str({handler.name})" not in ast.unparse(node), f"{path}:{node.lineno}"
