"""Each command's file lies in the room for its box in `trex --help`, and is found there."""

import importlib
from pathlib import Path

import pytest

from trex.cli import commands
from trex.cli.command import COMMANDS, MANY, PARTS, SEARCH, WHY

FOLDER = Path(commands.__file__).parent
PANELS = {"searching": SEARCH, "judging": WHY, "queueing": MANY, "preparing": PARTS}


@pytest.mark.parametrize("room", PANELS)
def test_the_commands_of_a_room_are_found_and_shown_in_its_box(room: str) -> None:
    names = []
    for path in (FOLDER / room).glob("[!_]*.py"):
        module = importlib.import_module(f"trex.cli.commands.{room}.{path.stem}")
        declared = getattr(module, "COMMAND", ())
        names += [one.name for one in (declared if isinstance(declared, tuple) else (declared,))]
    assert names and {COMMANDS.ours[name].panel for name in names} == {PANELS[room]}
