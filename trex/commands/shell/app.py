"""The command line: `trex`, whose commands are imported when they are used."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from trex.commands.shell.errors import Guarded
from trex.foundation.errors import InputError, unknown

FOLDER = Path(__file__).parent.parent
BOXES = {  # of `trex --help`; a command is in the file of its name, but those on one query are in one file
    "Start": ("init",),
    "One query": ("find", "resume", "check", "report"),
    "Why, and how often": ("explain", "curve", "audit", "baseline", "label", "export"),
    "What follows": ("suite", "repair"),
    "Many queries": ("queue",),
    "Models and pictures": ("render", "models", "cache", "doctor"),
}
HOMES = dict.fromkeys(BOXES["One query"], "query")
SUMMARY = r'(?s)\ndef {}\(.*?:\n    """(.*?)(?:\n|""")'
RENDER = ("scenes", "dataset", "bank", "--help", "-h")  # after `trex render`
RENAMED = {  # what was called otherwise before, for the error
    "work": "trex queue run",
    "top": "trex queue watch",
    "serve": "trex queue serve",
    "train": "trex models train",
    "dataset": "trex render dataset",
    "bank": "trex render bank, cache banks and cache prune-banks",
    "mark": "trex label",
    "confirm": "trex report --confirm PRESET",
    "audit --look": "trex audit --preset",
    "audit --deciding": "trex audit --confirm-preset",
    "audit --join": "trex queue audit MODEL, then trex queue run --workers N",
    **dict.fromkeys(("repair --serve", "repair --export"), "trex label FOLDER, with the same option"),
    **dict.fromkeys(("render --parity", "render --compare-assets"), "python -m reproduce parity or assets"),
    **dict.fromkeys(
        ("experiment", "paper", "overconfidence"), "a part of reproduce/, run by python -m reproduce"
    ),
}


class Trex(Guarded):
    """The commands of `trex`. Only the one that is used is imported: `trex --help` reads first lines."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the boxes."""
        return [name for names in BOXES.values() for name in names]

    def get_command(self, ctx: Any, name: str) -> Any:
        """The command, imported now, or None if there is none of this name."""
        if name not in self.commands and name in self.list_commands(ctx):
            self.commands[name] = loaded(name)
        return super().get_command(ctx, name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments begin with; InputError if it has another name now."""
        if new := renamed(args):
            raise InputError(new)
        if not args[0].startswith("-") and args[0] not in (names := self.list_commands(ctx)):
            raise unknown("command", args[0], names)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help with the summaries of all commands."""
        loaded = self.commands
        self.commands = {name: summarized(name, box) for box, names in BOXES.items() for name in names}
        super().format_help(ctx, formatter)
        self.commands = loaded


def loaded(name: str) -> Any:
    """The command of this name, as its file declares it: a verb, a function or a typer app of several commands."""
    module = importlib.import_module(f"trex.commands.{HOMES.get(name, name)}")
    verb = module.VERBS[name] if name in HOMES else getattr(module, "VERB", None)
    return _built(name, verb.command() if verb else module.COMMAND)


def renamed(args: Sequence[str]) -> str:
    """What does now what these arguments did in an earlier version, "" if they still do."""
    command, *words = args
    given = {command, *(word.partition("=")[0] for word in words)}
    for old, new in RENAMED.items():
        name, *option = old.split()
        if name == command and given.issuperset(option):
            return f"trex {old} is now {new}"
    if command == "render" and words and words[0] not in RENDER and not words[0].isalpha():
        word = shlex.quote(words[0])
        return f"trex render {word} is now trex render scenes {word}"
    return ""


def summarized(name: str, box: str) -> Any:
    """A command with the first line of its own help: that of its function, or of the file of several; cannot run."""
    text = (FOLDER / f"{HOMES.get(name, name)}.py").read_text(encoding="utf-8")
    found = None if "\nCOMMAND = " in text else re.search(SUMMARY.format(name), text)
    return _built(name, lambda: None, found[1] if found else text.partition("\n")[0].strip('"'), box)


def _built(name: str, declared: Any, help: str | None = None, box: str | None = None) -> Any:
    outer = typer.Typer(add_completion=False)
    if isinstance(declared, typer.Typer):
        outer.add_typer(declared, name=name)
    else:
        outer.command(name, help=help, rich_help_panel=box)(declared)
    return typer.main.get_group(outer).commands[name]


app = typer.Typer(
    cls=Trex,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find the scenes that fool your vision model, and measure how often they occur.",
)


def _version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"trex {version('bayes-trex')}")
        raise typer.Exit


@app.callback()
def trex(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Options of `trex` itself."""


if __name__ == "__main__":
    app()
