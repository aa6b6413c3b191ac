"""An old name of a command or an option leads to the new one."""

from __future__ import annotations

import pytest

from tests.running.command_line import refused, trex, whole
from trex.commands.shell.app import RENAMED


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_leads_to_the_new_one(old: str) -> None:
    command, *option = old.split()
    refused(trex(command, "WORD", *option, "VALUE"), f"trex {old} is now ")


@pytest.mark.parametrize("words", [["scenes.json"], ["--prior", "3"]])
def test_scenes_were_rendered_by_render_itself(words: list[str]) -> None:
    refused(trex("render", *words), f"trex render {words[0]} is now trex render scenes {words[0]}")


def test_the_new_names_are_commands() -> None:
    for old in ("work", "top", "serve", "train", "dataset", "mark", "audit --join"):
        group = whole()
        for word in RENAMED[old].partition(" MODEL")[0].split()[1:]:
            group = group.commands[word]
