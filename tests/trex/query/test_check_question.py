"""`trex check "QUESTION"` shows how a question is read; a query accepts every question that can be read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.references.scene_strategies import random_scene
from tests.running.command_line import trex
from tests.running.runs import write_query
from trex.query.question import resolve_question
from trex.query.shipped import is_question
from trex.query.toml_file import parse_query
from trex.scenes.questions.english import parse, phrase
from trex.scenes.questions.families import FAMILIES, random_question
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.vocabulary import CLEVR

MORE = "Are there more cubes than spheres?"


def test_a_question_is_shown_with_its_family_and_program() -> None:
    result = trex("check", MORE)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert "question  Are there more cubes than spheres?" in lines
    assert "reworded  Is the number of cubes greater than the number of spheres?" in lines
    assert "family    compare_integer/greater_than (number 3 of CLEVR's 90, index 2)" in lines
    assert "answers   yes, no" in lines
    assert [line[10:].strip() for line in lines[-7:]] == [
        "0  scene",
        "1  filter_shape cube of 0",
        "2  count of 1",
        "3  scene",
        "4  filter_shape sphere of 3",
        "5  count of 4",
        "6  greater_than of 2 and 5",
    ]


def test_a_question_for_machines() -> None:
    data = json.loads(trex("check", "How many balls?", "--json").stdout)
    assert data["family"] == {"index": 84, "name": "zero_hop/count"}
    assert data["phrased"] == "How many spheres are there?"
    assert data["answers"] == [str(count) for count in range(11)]
    assert program_from_json(data["program"]) == parse("How many balls?")


def test_a_question_of_no_family_says_so() -> None:
    text = "What size is the thing that is left of the cube and is the same color as the ball?"
    assert "family    none of CLEVR's 90" in trex("check", text).stdout
    assert json.loads(trex("check", text, "--json").stdout)["family"] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "How many cbues are there?",
            "'cbues' in 'How many cbues are there?' is not known; did you mean 'cubes'",
        ),
        ("Is the cube red?", "cannot be read at 'red'"),
        ("Why?", "'why'"),
        ("?", "the question is empty"),
        ("How many " + "red " * 999, "longer than 1000 characters"),
    ],
)
def test_what_is_not_understood_is_the_users_input(text: str, words: str) -> None:
    result = trex("check", text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_options_of_a_query_are_refused_with_a_question() -> None:
    result = trex("check", MORE, "--model", "fake", "--set", "search.seed=1")
    assert result.exit_code == 2
    assert "--model and --set do not apply" in result.stderr


def test_a_path_is_no_question(tmp_path: Path) -> None:
    folder = tmp_path / "my queries"
    folder.mkdir()
    assert trex("check", write_query(folder)).exit_code == 0
    assert not is_question("demo")
    assert not is_question("no such.toml")
    assert not is_question(str(folder))
    assert is_question("Why?")
    assert "no such.toml" in trex("check", "no such.toml").stderr


def test_a_query_takes_an_english_question_of_every_family() -> None:
    rng = np.random.default_rng(3)
    for family in FAMILIES:
        drawn = None
        while drawn is None:
            drawn = random_question(rng, random_scene(rng, 8), family)
        program, answer = drawn
        text = f"question = {json.dumps(phrase(program))}\nanswer = {json.dumps(answer)}"
        resolved = resolve_question(parse_query(text, "q.toml"), CLEVR)
        assert resolved.program == program
        assert resolved.answers == (answer,)
