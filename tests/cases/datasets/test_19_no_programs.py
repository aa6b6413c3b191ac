"""Questions with answers and without programs, the form of CLEVR-Humans.

Right: their English is read if it has one of CLEVR's forms; otherwise it is said how many have no program.
"""

import json
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.worlds.clevr_folders import official, question_records, write

HUMAN = "What would you call the thing that looks like a coin?"


def questions(data: Path, *texts: str) -> None:
    records = [
        {key: value for key, value in record.items() if key != "program"}
        | ({"question": text} if text else {})
        for record, text in zip(question_records(2, "val"), texts, strict=True)
    ]
    write(data / "questions/CLEVR_val_questions.json", "questions", records)


def test_their_english_is_read(tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    questions(data, "", "", "", "")
    found = json.loads(trex_done("models", "verify", "fake", "--dataset", data, "--json").stdout)
    assert found["official"]["count"]["right"] == found["official"]["count"]["of"] == 2
    assert found["skipped"] == 0
    assert found["notes"][0].startswith("4 questions have no complete program and were read as English")


def test_those_that_cannot_be_read_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    questions(data, "", HUMAN, "", HUMAN)
    found = json.loads(trex_done("models", "verify", "fake", "--dataset", data, "--json").stdout)
    assert (found["official"]["all"]["of"], found["skipped"]) == (2, 2)
    note = next(note for note in found["notes"] if "not read" in note)
    assert note.startswith("2 questions have no program and are not read")
    assert "CLEVR_val_questions.json: question 1" in note and "coin" in note


@pytest.mark.parametrize("program", [None, [], ""])
def test_nothing_but_such_questions_is_refused_with_the_reason(program: object, tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    questions(data, HUMAN, HUMAN, HUMAN, HUMAN)
    path = data / "questions/CLEVR_val_questions.json"
    records = json.loads(path.read_text())["questions"]
    write(path, "questions", [record | {"program": program} for record in records])
    result = trex("models", "verify", "fake", "--dataset", data)
    refused(result, "4 questions have no program", "CLEVR_val_questions.json: question 0", "coin")
