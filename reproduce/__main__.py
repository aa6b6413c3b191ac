"""`python -m reproduce`: every command that runs a part of the publications again."""

from __future__ import annotations

import typer

from reproduce.commands.adaptation import adda, overconfidence
from reproduce.commands.experiments import experiment, paper
from reproduce.commands.fid import fid
from reproduce.commands.parity import assets, parity
from trex.commands.shell.errors import Guarded

app = typer.Typer(
    cls=Guarded,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Run what the publications describe.",
)
for command in (experiment, paper, parity, assets, adda, overconfidence, fid):
    app.command()(command)

if __name__ == "__main__":
    app(prog_name="python -m reproduce")
