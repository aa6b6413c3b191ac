"""The names of commands in `trex --help`, and old ones, which lead to the new."""

from __future__ import annotations

import shlex

import pytest

from tests.running.command_line import refused, trex, whole
from trex.commands.shell.app import BOXES, RENAMED, loaded, summarized

NAMES = [name for names in BOXES.values() for name in names]


def test_the_help_lists_every_command_in_its_box_with_the_first_line_of_its_file() -> None:
    printed = trex("--help").stdout
    assert all(box in printed for box in BOXES)
    assert all(f" {name} " in printed for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_is_one_sentence_and_its_command_can_be_loaded(name: str) -> None:
    assert summarized(name, "").help.endswith(".")
    assert loaded(name).name == name


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_leads_to_the_new_one(old: str) -> None:
    command, *option = old.split()
    refused(trex(command, "WORD", *option, "VALUE"), f"trex {old} is now ")


@pytest.mark.parametrize("words", [["scenes.json"], ["my scenes.json"], ["--prior", "3"]])
def test_scenes_were_rendered_by_render_itself(words: list[str]) -> None:
    word = shlex.quote(words[0])
    refused(trex("render", *words), f"trex render {word} is now trex render scenes {word}")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["bnk", "clevr"], "bank"),
        (["scense", "a.json"], "scenes"),
        (["bank", "clever", "--scenes", "9"], "clevr"),
    ],
)
def test_a_word_after_render_that_is_misspelt_names_the_one_that_is_meant(
    words: list[str], meant: str
) -> None:
    """Planted bugs: `trex render bnk` was "now trex render scenes bnk", and "clever" was like no query."""
    done = trex("render", *words)
    assert done.exit_code == 2 and f"did you mean '{meant}'?" in done.output.lower(), done.output


def test_the_new_names_are_commands() -> None:
    for old in ("work", "top", "serve", "train", "dataset", "mark", "audit --join"):
        group = whole()
        for word in RENAMED[old].partition(" MODEL")[0].split()[1:]:
            group = group.commands[word]


def test_a_misspelt_command_is_answered_with_the_one_that_is_meant() -> None:
    refused(trex("chek", "demo"), "command 'chek' is not known", "did you mean 'check'?")


@pytest.mark.parametrize("name", [name for names in BOXES.values() for name in names])
def test_a_command_says_of_itself_what_the_list_of_commands_says(name: str) -> None:
    assert loaded(name).help.strip().partition("\n")[0] == summarized(name, "").help
