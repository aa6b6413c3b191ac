"""The documents hold: links lead somewhere, commands parse, modules exist, the words have their entries."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from benchmarks.documents.pictures import PICTURES
from tests.serving.documents import (
    MODULE,
    NAMES,
    PATH,
    ROOT,
    commands,
    complaint,
    dead_links,
    exists,
    files_of_code,
    is_ours,
    named,
    place_of,
    prose,
    unknown_words,
)
from trex.pages.glossary import WORDS

SPOKEN = [
    name for name in NAMES if name not in ("CHANGELOG.md", "reproduce/LOG.md")
]  # not of former commands
OLD = {"CHANGELOG.md", "LOG.md"}  # they name what was there


@pytest.mark.parametrize("name", NAMES)
def test_every_relative_link_and_anchor_leads_somewhere(name: str) -> None:
    assert dead_links(ROOT / name) == []


def test_a_dead_link_and_a_dead_anchor_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading: one\n[a](#a-heading-one) [b](#two) [c](none.md) [d](https://x.example/y)\n")
    assert dead_links(page) == ["#two", "none.md"]


def test_every_document_that_code_messages_and_tests_name_is_there() -> None:
    dead = {
        str(path.relative_to(ROOT)): wrong
        for path in files_of_code()
        if path.name not in OLD and (wrong := list(named(path.read_text(encoding="utf-8"), path)))
    }
    assert dead == {}


def test_a_document_that_is_gone_or_lacks_the_anchor_is_noticed() -> None:
    gone = "docs/NO" + "NE.md"
    lost = "docs/faq" + ".md#no-such-one"
    text = f"see {gone}, docs/faq.md#questions ({lost}) and x/{gone}"
    assert list(named(text)) == [gone, lost]


@pytest.mark.parametrize("name", SPOKEN)
def test_every_command_in_a_code_block_parses(name: str) -> None:
    wrong = {
        " ".join(words): why for words in commands((ROOT / name).read_text()) if (why := complaint(words))
    }
    assert wrong == {}


@pytest.mark.parametrize("name", SPOKEN)
def test_every_command_in_the_text_has_its_options(name: str) -> None:
    spans = re.findall(r"`trex ([a-z][^`]*)`", prose(ROOT / name))
    assert {span: found for span in spans if (found := unknown_words(span.split()))} == {}


def test_an_option_that_the_text_invents_is_noticed() -> None:
    assert unknown_words(["models", "verify", "NAME", "--dataset", "DIR"]) == []
    assert unknown_words(["models", "verify", "NAME", "--data", "DIR"]) == ["--data"]
    assert unknown_words(["modles", "verify"]) == ["modles"]


def test_the_documents_show_commands_of_every_group() -> None:
    shown = {words[0] for name in SPOKEN for words in commands((ROOT / name).read_text())}
    assert shown >= {"find", "explain", "baseline", "report", "export", "queue", "render", "models"}


@pytest.mark.parametrize("line", ["fnd q.toml", "find q.toml --steps 3", "queue ad q.toml", "resume"])
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    assert complaint(next(commands(f"```\ntrex {line}\n```")))


@pytest.mark.parametrize("name", NAMES)
def test_every_python_and_toml_example_can_be_read(name: str) -> None:
    for language, body in re.findall(r"^```(python|toml)\n(.*?)^```", (ROOT / name).read_text(), re.M | re.S):
        if language == "python":
            ast.parse(body)
        else:
            tomllib.loads(body)


def test_the_readme_names_commands_of_make_that_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"(?:^|`)make (\w+)", (ROOT / "README.md").read_text(), re.M))
    assert {"demo", "test", "docs"} <= named <= targets


@pytest.mark.parametrize("name", NAMES)
def test_every_module_and_file_that_a_document_names_exists(name: str) -> None:
    text = prose(ROOT / name)
    modules = [module for module in MODULE.findall(text) if not exists(module)]
    files = [file for file in PATH.findall(text) if is_ours(file) and not place_of(file).exists()]
    assert (modules, files) == ([], [])


def test_a_module_that_is_gone_is_noticed() -> None:
    assert not exists("trex.inference.rate")
    assert not exists("trex.worlds.vectors.VectorKind")
    assert exists("trex.worlds.vectors.VectorWorld")


def test_the_glossary_has_every_word_that_pages_explain() -> None:
    text = re.sub(r"[*\s]+", " ", (ROOT / "docs" / "reference" / "glossary.md").read_text("utf-8").lower())
    stems = {word: word.lower().removesuffix("ies").removesuffix("s") for word in WORDS}
    assert [word for word, stem in stems.items() if not re.search(rf"(?<!\w){re.escape(stem)}", text)] == []


def test_the_glossary_is_in_alphabetical_order() -> None:
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    terms = [term.lower() for term in re.findall(r"^## (.+)$", text, re.M)]
    assert terms == sorted(terms)
    assert len(terms) > 50


def test_the_citation_file_says_what_citation_file_format_requires() -> None:
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    assert found["cff-version"] == "1.2.0"
    paper = found["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Booth", "Zhou", "Shah", "Shah"]
    assert "2002.10248" in paper["url"]
    assert (
        paper["title"].lower() in (ROOT / "README.md").read_text().replace("{", "").replace("}", "").lower()
    )


def test_the_site_has_every_document() -> None:
    pages = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    docs = ROOT / "docs"
    there = [*docs.rglob("*.md"), *(path.with_suffix(".md") for path in docs.rglob("*.ipynb"))]
    assert sorted(pages) == sorted(path.relative_to(docs).as_posix() for path in there)


def test_every_picture_can_be_made_again_by_its_name() -> None:
    made = {path.stem for path in (ROOT / "docs" / "images").iterdir()}
    assert sorted(PICTURES) == sorted(made)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report.png", "found.webp"])
def test_the_first_pictures_are_in_true_color(name: str) -> None:
    """A palette of 200 colors once turned an object responsible black."""
    with Image.open(ROOT / "docs" / "images" / name) as picture:
        assert picture.mode in ("RGB", "RGBA")
        pixels = np.asarray(picture.convert("RGB"), dtype=np.int64)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 5_000
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    assert np.sum((red > blue + 60) & (green > blue + 60)) > 200  # the yellow sphere and cylinder are yellow
    assert np.sum((red > green + 100) & (red > blue + 100)) > 200  # the outline of the misread object is red
