"""Every parameter of what a user calls is described: its type, its default, a value."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

import pytest

import trex
from trex.finding.source import query_keywords
from trex.query.keys import KEYS

# Classes that trex makes and its user only reads: their fields are described, their constructors are not for use.
MADE = {"AuditResult", "Curve", "Explanation", "Family", "Hit", "QueryCheck", "Repair", "Run", "Stopped"}


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
