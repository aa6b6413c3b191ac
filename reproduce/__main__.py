"""`python -m reproduce`: every command that runs a part of the publications again."""

from __future__ import annotations

import sys

import typer

from reproduce.commands.adaptation import ADDA, OVERCONFIDENCE
from reproduce.commands.experiments import experiment, paper
from reproduce.commands.fid import fid
from reproduce.commands.parity import assets, parity
from reproduce.datasets import offer_datasets
from trex.commands.shell.errors import Guarded

NAME = "python -m reproduce"
app = typer.Typer(
    cls=Guarded,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Run what the publications describe.",
    epilog=f"{NAME} trex ... is trex with two more data sets: signs and svhn.",
)
for command in (experiment, paper, parity, assets, ADDA, OVERCONFIDENCE, fid):
    app.command()(command)


def main() -> None:
    """Run a command, or `trex` itself, with the data sets in color among its own."""
    offer_datasets()
    if sys.argv[1:2] == ["trex"]:
        from trex.commands.shell.app import app as trex

        trex(sys.argv[2:], prog_name=f"{NAME} trex")
    app(prog_name=NAME)


if __name__ == "__main__":
    main()
