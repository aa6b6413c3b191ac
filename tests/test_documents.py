"""The documents hold: links lead somewhere, commands parse, modules exist, the words have their entries."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from trex.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
WORDS = ("world", "model", "query", "target", "hit", "draw", "chain", "run", "effect", "look")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
MODULE = re.compile(r"`(trex(?:\.\w+)+)(?:\(\))?`")
PATH = re.compile(r"`((?:\w+/)+[\w.-]*\.(?:py|md|toml|json|safetensors|png))`")
TOP = {path.name for path in ROOT.iterdir() if path.is_dir()} | {"trex"}
HEADING = re.compile(r"^#+ (.+)$", re.M)
COMMAND = re.compile(r"(?<![\w.-])trex (?=[a-z])(.*)")
USAGE_ERROR = typer.BadParameter.__mro__[1]  # of the click that typer brings along


def prose(path: Path) -> str:
    """The text without code blocks."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def slug(heading: str) -> str:
    """The anchor that GitHub and mkdocs give to a heading."""
    words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return words.strip().replace(" ", "-")


def anchors(path: Path) -> set[str]:
    """All anchors of a document."""
    return {slug(heading) for heading in HEADING.findall(prose(path))}


def dead_links(path: Path) -> list[str]:
    """Relative links of a document whose file or anchor does not exist."""
    found = []
    for link in LINK.findall(prose(path)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


def commands(text: str) -> Iterator[list[str]]:
    """The words of every `trex ...` line in a document's untyped and bash code blocks."""
    for block in FENCE.findall(text):
        language = block.split("\n", 1)[0].removeprefix("```").strip()
        if language not in ("", "bash", "sh"):
            continue
        body = block.split("\n", 1)[1].rsplit("\n", 1)[0].replace("\\\n", " ")
        for line in body.splitlines():
            words = re.sub(r"\s+#.*|\s+& .*$", "", line)
            if match := COMMAND.search(words):
                yield shlex.split(match[1])


def complaint(words: list[str]) -> str:
    """Why the command line does not parse; "" if it does. Nothing runs."""
    command: Any = typer.main.get_command(app)
    try:
        while hasattr(command, "resolve_command"):
            _, command, words = command.resolve_command(command.context_class(command), words)
        command.make_context(command.name, [*words])
    except USAGE_ERROR as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_every_relative_link_and_anchor_leads_somewhere(name: str) -> None:
    assert dead_links(ROOT / name) == []


def test_a_dead_link_and_a_dead_anchor_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading: one\n[a](#a-heading-one) [b](#two) [c](none.md) [d](https://x.example/y)\n")
    assert dead_links(page) == ["#two", "none.md"]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_in_a_code_block_parses(name: str) -> None:
    wrong = {
        " ".join(words): why for words in commands((ROOT / name).read_text()) if (why := complaint(words))
    }
    assert wrong == {}


def test_the_documents_show_commands_of_every_group() -> None:
    shown = {words[0] for name in NAMES for words in commands((ROOT / name).read_text())}
    assert shown >= {"find", "explain", "baseline", "confirm", "export", "queue", "work", "models", "train"}


@pytest.mark.parametrize("line", ["fnd q.toml", "find q.toml --steps 3", "queue ad q.toml", "find"])
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
    files = [file for file in PATH.findall(text) if is_ours(file) and not (ROOT / file).exists()]
    assert (modules, files) == ([], [])


def is_ours(file: str) -> bool:
    """Whether it is a path from the top of the repository; `scenes/CLEVR_...` is one in a folder of CLEVR's layout."""
    return file.split("/")[0] in TOP and "CLEVR_" not in file


def exists(dotted: str) -> bool:
    """Whether this is a module, or a name in one."""
    for end in (0, 1, 2):
        module, *names = dotted.rsplit(".", end)
        with contextlib.suppress(ModuleNotFoundError):
            if importlib.util.find_spec(module) is not None:
                found: object = importlib.import_module(module)
                return all((found := getattr(found, part, None)) is not None for part in names)
    return False


def test_a_module_that_is_gone_is_noticed() -> None:
    assert not exists("trex.inference.rate")
    assert not exists("trex.worlds.vectors.VectorKind")
    assert exists("trex.worlds.vectors.VectorWorld")


def test_the_glossary_has_the_ten_words_and_leads_to_where_they_are_used() -> None:
    text = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.M)[1:]
    assert tuple(part.split("\n", 1)[0].lower() for part in parts) == WORDS
    assert [part[:20] for part in parts if ".md" not in part] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_document_names_the_folder_that_became_trex(name: str) -> None:
    assert "harness" not in (ROOT / name).read_text(encoding="utf-8").lower()


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
    pages = re.findall(r"\w+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(pages) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))
