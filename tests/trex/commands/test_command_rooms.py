"""`trex --help` is written from the first lines of the commands' files, which it does not import."""

from __future__ import annotations

import pytest

from tests.running.command_line import trex
from trex.commands.shell.app import BOXES, loaded, summarized

NAMES = [name for names in BOXES.values() for name in names]


def test_the_help_lists_every_command_in_its_box_with_the_first_line_of_its_file() -> None:
    printed = trex("--help").stdout
    assert all(box in printed for box in BOXES)
    assert all(f" {name} " in printed for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_is_one_sentence_and_its_command_can_be_loaded(name: str) -> None:
    assert summarized(name, "").help.endswith(".")
    assert loaded(name).name == name
