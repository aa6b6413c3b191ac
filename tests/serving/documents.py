"""Reading the documents: their links, commands, modules and files, and what in them does not exist."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import typer

from tests.running.command_line import whole
from trex.foundation.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path
    for folder, pattern in (
        (".", "*.md"),
        ("docs", "**/*.md"),
        ("reproduce", "*.md"),
        ("reproduce/docs", "*.md"),
    )
    for path in (ROOT / folder).glob(pattern)
)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
CODE = {
    ".py",
    ".toml",
    ".html",
    ".js",
    ".yml",
    ".yaml",
    ".md",
    ".ipynb",
    ".cff",
    "",
}  # where documents are named
NO_CODE = {"runs", "site", "build", "dist", "node_modules"}
NAMED = re.compile(r"(?<![\w./-])((?:reproduce/)?docs/[\w./-]*\w\w\.(?:md|ipynb))(#[\w-]+)?")  # not docs/a.md
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
MODULE = re.compile(r"`(trex(?:\.\w+)+)(?:\(\))?`")
PATH = re.compile(r"`((?:\w+/)+[\w.-]*\.(?:py|md|toml|json|safetensors|png))`")
TOP = {path.name for path in ROOT.iterdir() if path.is_dir()} | {"trex"}
HEADING = re.compile(r"^#+ (.+)$", re.M)
COMMAND = re.compile(r"(?<![\w.-])trex (?=[a-z])(.*)")
# Of the click that typer brings along.
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[1])


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


def named(text: str, page: Path = ROOT) -> Iterator[str]:
    """The documents that a text names, each with its anchor, and that do not exist, or lack the anchor."""
    for file, anchor in NAMED.findall(text):
        places = [
            ROOT / file,
            *([ROOT / "reproduce" / file] if page.is_relative_to(ROOT / "reproduce") else []),
        ]
        found = next((place for place in places if place.exists()), None)
        if found is None or (anchor and anchor[1:] not in anchors(found)):
            yield file + anchor


def files_of_code() -> Iterator[Path]:
    """Every text file of the repository that may name a document."""
    for folder in sorted(ROOT.iterdir()):
        if folder.name.startswith(".") and folder.name != ".github":
            continue
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.suffix in CODE and path.is_file() and not NO_CODE & set(path.relative_to(ROOT).parts):
                yield path


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
    command: Any = whole()
    try:
        while hasattr(command, "resolve_command"):
            _, command, words = command.resolve_command(command.context_class(command), words)
        command.make_context(command.name, [*words])
    except (USAGE_ERROR, InputError) as error:
        return str(error)
    return ""


def unknown_words(words: list[str]) -> list[str]:
    """Commands and options among the words that do not exist; arguments are not looked at."""
    command: Any = whole()
    while hasattr(command, "commands") and words:
        if words[0] not in command.commands:
            return words[:1]
        command, words = command.commands[words[0]], words[1:]
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    return [word for word in words if word.startswith("--") and word not in known]


def is_ours(file: str) -> bool:
    """Whether it is a path from the top of the repository; `scenes/CLEVR_...` is one in a folder of CLEVR's layout."""
    return file.split("/")[0] in TOP and "CLEVR_" not in file


def exists(dotted: str) -> bool:
    """Whether this is a module, or a name in one."""
    for end in (0, 1, 2):
        module, *names = dotted.rsplit(".", end)
        with contextlib.suppress(ModuleNotFoundError):
            if importlib.util.find_spec(module) is not None:
                found: object = importlib.import_module(module) if names else module
                return all((found := getattr(found, part, None)) is not None for part in names)
    return False


def place_of(file: str) -> Path:
    """The file that a document names; of a placeholder such as `trex/export/NAME.py`, the folder."""
    path = ROOT / file
    return path.parent if path.stem == "NAME" else path
