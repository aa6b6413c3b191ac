"""`--families`: an audit that asks some kinds of questions only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex
from trex.scenes.questions.families import FAMILIES

ARGUMENTS = (
    "audit", "fake", "--look", "fake", "--deciding", "fake", "--world", "one_cube_without_cubes",
    "--scenes", "20", "--held-out", "20", "--questions", "9", "--tested", "2", "--probed", "0",
)  # fmt: skip
CHOSEN = ("--families", "zero_hop/count", "--families", "compare_integer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("families")
    assert trex(*ARGUMENTS, *CHOSEN, "--bank", place / "bank", "--out", place / "audit").exit_code == 0
    return place / "audit"


def test_questions_of_these_kinds_and_families_alone_are_asked(folder: Path) -> None:
    lines = map(json.loads, (folder / "swept.jsonl").read_text().splitlines())
    asked = {FAMILIES[answer["family"]] for line in lines for answer in line["answers"]}
    names, kinds = {family.name for family in asked}, {family.kind for family in asked}
    assert kinds == {"zero_hop", "compare_integer"}
    assert {name for name in names if name.startswith("zero_hop")} == {"zero_hop/count"}
    assert len(names) > 2, "a kind stands for all of its families"
    assert (
        "of these kinds or families alone: compare_integer, zero_hop/count"
        in (folder / "report.html").read_text()
    )


def test_the_choice_is_part_of_the_audit(folder: Path) -> None:
    """In another order it is the same one."""
    again = (*CHOSEN[2:], *CHOSEN[:2])
    assert trex(*ARGUMENTS, *again, "--bank", folder.parent / "bank", "--out", folder).exit_code == 0
    refused(trex(*ARGUMENTS, "--out", folder), "other settings (families)")


def test_an_unknown_kind_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    refused(trex(*ARGUMENTS, "--families", "zero_hops", "--out", tmp_path / "audit"), "zero_hop")
    assert not (tmp_path / "audit").exists()
