"""Commands of `trex` and the extension point that finds them: ours, and those of other distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import typer

from trex.foundation.extensions import ExtensionPoint

SEARCH, WHY, MANY, PARTS = "One query", "Why, and how often", "Many queries", "Models and pictures"
ADDED = "From other packages"


@dataclass(frozen=True)
class Command:
    """A command: a name, and a function with typer's annotations or a typer app with commands of its own.

    `panel` is its box in `trex --help`, `order` its place there. Every call of `trex` imports the module that
    declares it, which therefore imports anything slow inside its functions.
    """

    name: str
    app: Callable[..., None] | typer.Typer
    panel: str = ADDED
    order: int = 1000

    def add_to(self, app: typer.Typer) -> None:
        """Add the command to this app."""
        if isinstance(self.app, typer.Typer):
            app.add_typer(self.app, name=self.name, rich_help_panel=self.panel)
        else:
            app.command(self.name, rich_help_panel=self.panel)(self.app)


COMMANDS = ExtensionPoint("command", "trex.cli.commands", "COMMAND", "trex.commands", Command)
