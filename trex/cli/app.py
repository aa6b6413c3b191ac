"""The command line: `trex` and its commands, which the extension point of `trex.cli.command` finds."""

from __future__ import annotations

from typing import Annotated

import typer

from trex.cli.command import COMMANDS
from trex.cli.errors import Guarded


class Trex(Guarded):
    """The commands of `trex`; broken installed ones are named on standard error and left out."""

    notes = tuple(map(str, COMMANDS.sound.problems))


app = typer.Typer(
    cls=Trex,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find rendered pictures on which a vision model gives the answers that you specify.",
)


def _version(is_asked: bool) -> None:
    if is_asked:
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


for command in sorted(COMMANDS.sound.found.values(), key=lambda command: command.order):
    command.add_to(app)


if __name__ == "__main__":
    app()
