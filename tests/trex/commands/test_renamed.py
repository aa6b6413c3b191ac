"""An old name of a command leads to the new one."""

from __future__ import annotations

import pytest

from tests.running.command_line import refused, trex, whole
from trex.commands.shell.app import RENAMED


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_command_names_the_new_one(old: str) -> None:
    refused(trex(old, "--help"), f"trex {old} is now ")


def test_the_new_names_are_commands() -> None:
    for old in ("work", "top", "serve", "train", "dataset", "mark"):
        group = whole()
        for word in RENAMED[old].split():
            group = group.commands[word]
