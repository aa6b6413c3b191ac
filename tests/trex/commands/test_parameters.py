"""Every parameter of what a user calls is described: its type, its default, a value."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

import pytest
import yaml

import trex
from tests.serving.documented_extensions import ROOT, examples
from trex.finding.source import query_keywords
from trex.query.keys import KEYS
from trex.repair.settings import DecoderQuery, SceneQuery

# Classes that trex makes and its user only reads: their fields are described, their constructors are not for use.
MADE = {"AuditResult", "Curve", "Explanation", "Family", "Hit", "QueryCheck", "Repair", "Run", "Stopped"}
PYTHON = ROOT / "docs" / "reference" / "python"
PAGE = (PYTHON / "inference.md").read_text(encoding="utf-8")
KEYS_OF_REPAIRS = (PYTHON / "repair.md").read_text(encoding="utf-8").partition("\n## ")[2]
SHOWN = re.compile(r"^::: ([\w.]+)(?:\n    options: (.+))?$", re.MULTILINE)
EXTENSIONS = ("A target", "A sampler", "A proposal", "A world")  # what the page is for


def described_callables() -> Iterator[tuple[str, Callable[..., object]]]:
    """What a user calls: the verbs and functions, classes that a user makes, and all their methods."""
    for name in sorted({*trex.__all__} - {"__version__"}):
        thing = getattr(trex, name)
        if not inspect.isclass(thing):
            yield name, thing
        elif not issubclass(thing, trex.TrexError):
            if name not in MADE:
                yield name, thing
            methods = (each for each in vars(thing) if not each.startswith("_"))
            yield from (
                (f"{name}.{each}", getattr(thing, each)) for each in methods if callable(getattr(thing, each))
            )


def undescribed(thing: Callable[..., object]) -> list[str]:
    """The parameters without a type, a default or an example; a truth value needs no example besides its default."""
    _, _, section = (inspect.getdoc(thing) or "").partition("Parameters\n----------\n")
    section, _, examples = section.partition("\n\nExamples\n")
    entries = re.findall(r"^(\w[\w, ]*) : (.*)\n((?:    .*\n?)+)", section, re.MULTILINE)
    texts = {name: (kind, text) for names, kind, text in entries for name in names.split(", ")}
    found = []
    for name, each in inspect.signature(thing).parameters.items():
        kind, text = texts.get(name, ("", ""))
        is_shown = "e.g." in text or "Example:" in text or re.search(rf"\b{name}=", examples)
        if name == "self" or (each.default is inspect.Parameter.empty and kind and examples):
            continue
        is_plain = kind.startswith("bool, default ") and "None" not in kind
        if not ("default" in kind or each.default is inspect.Parameter.empty) or not (is_shown or is_plain):
            found.append(name)
    return found


def test_every_parameter_has_its_type_its_default_and_an_example() -> None:
    assert {name: missing for name, thing in described_callables() if (missing := undescribed(thing))} == {}
    assert all("--" not in line for _, thing in described_callables() for line in keyword_lines(thing))


def keyword_lines(thing: Callable[..., object]) -> list[str]:
    """The lines that describe parameters."""
    return [line for line in (inspect.getdoc(thing) or "").splitlines() if line.startswith("    ")]


def test_a_parameter_without_a_default_or_an_example_is_noticed() -> None:
    """Planted bugs, one for each parameter but the first and the last two."""

    def planted(
        a: int, b: int, c: int = 1, d: int = 1, e: bool | None = None, f: bool = True, g: int = 1
    ) -> None:
        """Nothing.

        Parameters
        ----------
        a : int
            Pixels. Example: 3.
        b : int
            Pixels.
        c : int
            Pixels. Example: c=3.
        d : int, default 1
            Pixels.
        e : bool, default None
            Whether; None if it is unknown.
        f : bool, default True
            Whether.
        g : int, default 1
            Pixels, e.g. 3.
        """

    assert undescribed(planted) == ["b", "c", "d", "e"]


@pytest.mark.parametrize("name", [*trex._VERBS, "render", "suite"])
def test_a_verb_shows_every_keyword(name: str) -> None:
    parameters = inspect.signature(getattr(trex, name)).parameters.values()
    assert all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in parameters)


def test_every_key_of_a_query_is_described() -> None:
    keys = query_keywords().values()
    in_options = {"model.name", "model.endpoint", "model.max_requests", "model.trust_remote_code"}
    assert {key.dotted for key in keys if not key.words} == in_options
    assert {*KEYS} <= {key.dotted for key in keys}


def blocks(page: str) -> dict[str, tuple[Callable[..., object], tuple[str, ...]]]:
    """What a page of the reference shows: each name with what it is, and the methods shown with it."""
    found = {}
    for path, options in SHOWN.findall(page):
        home, _, name = path.rpartition(".")
        thing = getattr(importlib.import_module(home), name)
        assert callable(thing), f"{path}: a page that shows a module makes every name in it public"
        members = yaml.safe_load(options or "{}").get("members", True)
        fields = inspect.get_annotations(thing)
        functions = (each for each, value in vars(thing).items() if inspect.isfunction(value))
        public = [each for each in functions if each[0] != "_" and each not in fields]
        shown = public if members is True else [each for each in public if each in (members or ())]
        found[path] = (thing, tuple(shown) if inspect.isclass(thing) else ())
    return found


def gaps(page: str) -> dict[str, list[str]]:
    """The parameters without an entry of what a page shows; nobody calls a protocol, only its methods."""
    called = {}
    for path, (thing, methods) in blocks(page).items():
        if not getattr(thing, "_is_protocol", False):
            called[path] = thing
        called |= {f"{path}.{name}": getattr(thing, name) for name in methods}
    return {name: missing for name, thing in called.items() if (missing := undescribed(thing))}


def test_every_parameter_of_a_building_block_has_an_entry() -> None:
    assert gaps(PAGE) == {}


def test_every_key_of_a_repair_has_an_entry() -> None:
    classes = {path.rpartition(".")[2]: thing for path, (thing, _) in blocks(KEYS_OF_REPAIRS).items()}
    sections = {
        type(value).__name__
        for query in (DecoderQuery(), SceneQuery())
        for name, value in query
        if name not in ("seed", "model")
    }
    assert {*classes} == sections
    assert gaps(KEYS_OF_REPAIRS) == {}


def test_a_building_block_without_an_entry_is_noticed() -> None:
    """What the page left out: a function, a class, and methods without entries."""
    left_out = {
        "trex.inference.types.unscored": {"": ["z"]},
        "trex.inference.targets.kind.NoOptions": {},
        "trex.inference.chains.Checkpoint": {"": ["states", "rng_states", "next_index", "draws"]},
        "trex.inference.types.Renderer": {},
        "trex.inference.types.Target": {".log_weight": ["log_probs"], ".simulate": ["rng", "log_probs"]},
    }
    for path, missing in left_out.items():
        found = gaps(f"# Planted\n\n::: {path}\n    options: {{ members: [log_weight, simulate] }}\n")
        assert found == {f"{path}{name}": names for name, names in missing.items()}


def test_the_page_of_building_blocks_lists_what_it_shows_and_what_the_examples_import() -> None:
    shown = {path.rpartition(".")[2] for path in blocks(PAGE)}
    table = {
        name
        for row in re.findall(r"^\| [a-z].*$", PAGE, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    code = "".join(text for heading in EXTENSIONS for text in examples()[heading].files.values())
    imported = {
        name
        for line in re.findall(r"^from trex\.\S+ import (.+)$", code, re.MULTILINE)
        for name in line.split(", ")
    }
    assert shown == table
    assert imported and imported <= shown


@pytest.mark.parametrize("path", [path for path, _ in SHOWN.findall(PAGE)])
def test_a_building_block_has_an_example_that_works(path: str) -> None:
    thing, _ = blocks(PAGE)[path]
    _, _, example = (inspect.getdoc(thing) or "").partition("\n\nExamples\n--------\n")
    code = "".join(re.findall(r"^(?:    .*)?\n", f"{example.partition('::')[2]}\n", re.MULTILINE))
    assert ">>> " in example or "::\n" in example
    assert ast.parse(textwrap.dedent(code)).body or ">>> " in example
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(thing, path, globs={}):
        assert runner.run(test).failed == 0
