"""The tables of docs/reference/ that follow from the code, written into its pages.

python docs/tables.py    # tests/test_reference_tables.py fails until this has been done

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. Its last column is kept where people write it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel

from trex.commands.shell.app import app
from trex.query.schema import Query
from trex.render.presets import ANALYTIC, ANALYTIC_SIZE, PRESETS
from trex.worlds.costs import CPU_S

REFERENCE = Path(__file__).resolve().parent / "reference"
CARD = Path(__file__).resolve().parent.parent / "reproduce" / "measured" / "gpu_h200.jsonl"
TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
TYPES = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true, false",
    "string": "text",
    "object": "table",
}
VALUES = {int: "N", float: "NUMBER", Path: "PATH"}
JSON = "--json"  # nearly every command has it
DENOISERS = {"high": "denoised well", "fast": "denoised", None: "not denoised"}
OFTEN = 3  # commands with the same option, from which on it is a common option
MANY = 6  # options of a command, from which on another that has all of them refers to it
Rows = list[tuple[str, ...]]
SECTIONS = [name for name in Query.model_fields if isinstance(getattr(Query(), name), BaseModel)]


def written(text: str) -> str:
    """A page with its tables made anew."""
    return TABLE.sub(lambda found: f"{found[1]}{MAKERS[found[2]](found[3])}{found[4]}", text)


def table(head: Sequence[str], rows: Rows) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def meanings(before: str) -> Mapping[str, str]:
    """The last cell of each row by its first, in a table as it stands."""
    rows = [re.split(r"(?<!\\) *\| *", line.strip())[1:-1] for line in before.splitlines() if "|" in line]
    return {cells[0]: cells[-1] for cells in rows}


def keys(section: str) -> Callable[[str], str]:
    """The table of the keys of one section of a query; "" for those before any section."""

    def made(before: str) -> str:
        known, whole = meanings(before), Query()
        model = type(getattr(whole, section)) if section else Query
        rows: Rows = []
        for name, info in model.model_json_schema()["properties"].items():
            if section or name not in SECTIONS:
                cell = allowed(info) + default(info.get("default"))
                rows.append((f"`{name}`", cell, known.get(f"`{name}`", "")))
        return table(("key", "value", "what it sets"), rows)

    return made


def allowed(info: Mapping[str, Any]) -> str:
    """The type and the bounds of a key, from its JSON schema."""
    info = next((each for each in info.get("anyOf", [info]) if each.get("type") != "null"), info)
    if "prefixItems" in info:
        return "whole number, or a pair"
    if info.get("type") == "array":
        return f"list, at most {info['maxItems']}" if "maxItems" in info else "list"
    words = TYPES[info["type"]]
    low, high = info.get("minimum"), info.get("maximum", info.get("exclusiveMaximum"))
    if low is None:
        return words
    return f"{words}, {number(low)} to {'below ' if 'exclusiveMaximum' in info else ''}{number(high)}"


def number(value: float) -> str:
    """A bound as people write it."""
    if value == 1 << 63:
        return "2^63"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6f}".rstrip("0")


def default(value: object) -> str:
    """A default as TOML, in words that follow those of its type; "" if there is none, or it depends on other keys."""
    return "" if value in (None, "", [], {}) else f"; default `{json.dumps(value)}`"


def presets(before: str) -> str:
    """The render presets, from the most expensive to the cheapest."""
    rows: Rows = []
    figures = {item["name"]: item["value"] for item in map(json.loads, CARD.read_text().splitlines())}
    for preset in PRESETS.values():
        denoiser = DENOISERS[preset.denoise]
        samples = f"{preset.samples} sample{'s' if preset.samples > 1 else ''}"
        picture = f"{preset.width}×{preset.height}, {samples}, {denoiser}"
        card = max((figures.get(f"gpu.cuda.per_s.{preset.name}.{n}", 0.0) for n in (1, 4, 8)), default=0.0)
        rows.append((f"`{preset.name}`", picture, seconds(preset.name), f"{card:.2g}" if card else "–"))
    width, height = ANALYTIC_SIZE
    rows.append((f"`{ANALYTIC}`", f"{width}×{height}, shaded without Blender", seconds(ANALYTIC), "–"))
    return table(("preset", "picture", "CPU seconds", "an H200, pictures a second"), rows)


def seconds(preset: str) -> str:
    """The CPU seconds of a picture, with two digits."""
    return f"{CPU_S[preset]:.0f}" if CPU_S[preset] > 10 else f"{CPU_S[preset]:.2g}"


def walk(command: Any, words: tuple[str, ...] = ("trex",)) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by the words that call it."""
    names = command.list_commands(None) if hasattr(command, "list_commands") else ()
    for name in names:
        yield from walk(command.get_command(None, name), (*words, name))
    if not names:
        yield " ".join(words), command


@cache
def commands() -> Mapping[str, Any]:
    """All commands of trex by the words that call them."""
    return dict(walk(typer.main.get_command(app)))


@cache
def options(words: str) -> tuple[str, ...]:
    """The options of a command, each in a line."""
    return tuple(line(each) for each in commands()[words].params if each.opts[0].startswith("-"))


def line(parameter: Any) -> str:
    """An option with its value's name, what it does, and its default."""
    kind, given = parameter.type_descriptor.annotation, parameter.default
    value = "" if kind is bool else f" {parameter.metavar or VALUES.get(kind, 'TEXT')}"
    shown = getattr(given, "value", given)
    words = f"`{'/'.join((*parameter.opts, *parameter.secondary_opts))}{value}`: {parameter.help}"
    if parameter.required:
        return f"{words} Required."
    return (
        words
        if shown in (None, (), False, "")
        else f"{words} Default: {'on' if shown is True else f'`{shown}`'}."
    )


@cache
def borrowed(words: str) -> str:
    """An earlier command all of whose options this one has, and that has many; "" if there is none."""
    for other in commands():
        if other == words:
            return ""
        if len(options(other)) >= MANY and set(options(other)) <= set(options(words)):
            return other
    return ""


def own(words: str) -> list[str]:
    """The options of a command without those of the command that it borrows from."""
    others = options(borrowed(words)) if borrowed(words) else ()
    return [each for each in options(words) if each not in others]


@cache
def often() -> tuple[str, ...]:
    """The options that several commands share, the most frequent first."""
    found = Counter(each for words in commands() for each in own(words))
    return tuple(each for each, n in found.most_common() if n >= OFTEN)


def common_options(before: str) -> str:
    """The options that several commands share."""
    return "".join(f"- {each}\n" for each in often())


def every_command(before: str) -> str:
    """A heading for each command, with its first sentence and its options."""
    return "\n" + "\n".join(map(_command, commands()))


def _command(words: str) -> str:
    command = commands()[words]
    arguments = [each for each in command.params if not each.opts[0].startswith("-")]
    paragraph = " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split())
    also = [f"`{_flag(each)}`" for each in own(words) if each in often() and _flag(each) != JSON]
    if borrowed(words):
        also.insert(0, f"all options of `{borrowed(words)}`")
    heading = f"### {' '.join([words, *map(_argument, arguments)])}\n"
    listed = "".join(f"- {each}\n" for each in own(words) if each not in often())
    parts = [heading, f"{paragraph}\n", listed, f"Also: {', '.join(also)}.\n" if also else ""]
    return "\n".join(part for part in parts if part)


def _flag(written: str) -> str:
    """The option of a line, without the name of its value."""
    return written.split("`")[1].split()[0]


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required else f"[{name}]"


MAKERS: dict[str, Callable[[str], str]] = {
    "query": keys(""),
    **{name: keys(name) for name in SECTIONS},
    "presets": presets,
    "common-options": common_options,
    "commands": every_command,
}


def main() -> None:
    """Write every table."""
    for path in sorted(REFERENCE.glob("*.md")):
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
