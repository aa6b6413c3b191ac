"""The keywords of a verb in Python: its signature, and the numpydoc section that describes each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from trex.foundation.errors import TrexError
from trex.foundation.options import Key, Options

PROGRESS, MODEL, SET = "progress", "model", "set"
HEAD = "Parameters\n----------\n"
FLAG = re.compile(r"--([a-z][a-z-]*)")
# A command to its end, or an option: with what it is in Python, before its value ("--dataset DIR") or another word.
IN_WORDS = re.compile(
    r"\btrex [a-z][^;,(`]*|(?<!\S)(?P<flag>--[a-z][a-z-]*)"
    r"(?: \(in Python: [^)]*\)|(?P<value> (?=[A-Z0-9/.'\"]))|(?P<word>(?= [a-z])))?"
)


def python_parameters(options: type[Options]) -> Sequence[inspect.Parameter]:
    """The argument first, then every option as a keyword with its real default."""
    parameters = []
    fields = options.model_fields.items()
    for name, info in sorted(fields, key=lambda field: not options.declared(field[0]).is_argument):
        is_argument = options.declared(name).is_argument
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if is_argument else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if info.is_required() else info.default
        annotation = object if name == MODEL else info.annotation
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    shown = inspect.Parameter(PROGRESS, inspect.Parameter.KEYWORD_ONLY, default=True, annotation=bool)
    return [*parameters, shown]


def key_parameters(keys: Mapping[str, Key]) -> Sequence[inspect.Parameter]:
    """A keyword for each key of a query; None leaves it as it is."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, kind, default=None, annotation=_plain(each.type))
        for name, each in keys.items()
    ]


def described(
    text: str, options: type[Options], keys: Mapping[str, Key] | None = None, without: Sequence[str] = ()
) -> str:
    """The documentation with every parameter: those that it describes itself, the options, the keys."""
    before, _, own = text.partition(HEAD)
    known = {name for line in own.splitlines() for name in line.partition(" : ")[0].split(", ")}
    further = [each for each in python_parameters(options) if each.name not in {*known, *without}]
    lines = [line for each in further for line in _option_lines(options, each)]
    for name, key in (keys or {}).items():
        lines += _lines(name, _plain(key.type), key.default, key.words, key.example)
    return "\n".join([f"{in_python(before).rstrip()}\n\n{HEAD}{own.rstrip()}".rstrip(), *lines])


def in_python(text: str) -> str:
    """A help text with the names that options have in Python; that one repeats, its type says."""
    return FLAG.sub(lambda flag: flag[1].replace("-", "_"), text.replace(" Repeatable.", ""))


@contextmanager
def in_keywords(options: type[Options]) -> Iterator[None]:
    """Errors within it name the keywords of a verb with these options."""
    try:
        yield
    except TrexError as error:
        error.args = (in_call(str(error), options),)
        raise


def in_call(words: str, options: type[Options]) -> str:
    """The words of an error with the keywords of a verb in place of its options; whole commands stay as they are."""
    keywords: dict[str, str] = {}
    for name, info in options.model_fields.items():
        if options.declared(name).is_argument or name == SET:  # --set KEY=VALUE has its own form in Python
            continue
        for value in (False, True):
            typed = options.spelled(name, value, is_typed=True)
            keywords[typed] = f"{name}={value}" if info.annotation is bool else f"{name}="

    def named(found: re.Match[str]) -> str:
        keyword = keywords.get(found["flag"])
        if keyword is None:
            return found[0]
        if keyword[-1] != "=":
            return keyword + (found["value"] or "")
        return keyword if found["word"] is None else keyword[:-1]

    return IN_WORDS.sub(named, words)


def _option_lines(options: type[Options], parameter: inspect.Parameter) -> list[str]:
    if parameter.name == PROGRESS:
        return _lines(PROGRESS, bool, True, "Show the progress.", None)
    option = options.declared(parameter.name)
    example = None if "e.g." in option.help else option.example
    return _lines(parameter.name, parameter.annotation, parameter.default, in_python(option.help), example)


def _lines(name: str, kind: object, default: object, words: str, example: object) -> list[str]:
    shown = inspect.formatannotation(kind).replace("pathlib.", "").replace("trex.query.schema.", "")
    given = "" if default is inspect.Parameter.empty else f", default {_shown(default)}"
    value = "" if example is None else f" Example: {name}={example!r}."
    return [f"{name} : {shown}{given}", f"    {words}{value}"]


def _shown(default: object) -> str:
    return repr(str(default) if isinstance(default, Path) else default)


def _plain(kind: Any) -> Any:
    """A type without what pydantic checks of it."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _plain(parts[0])
    if origin in (Union, UnionType):
        return reduce(or_, map(_plain, parts))
    return origin[tuple(map(_plain, parts))] if origin in (tuple, dict) else kind
