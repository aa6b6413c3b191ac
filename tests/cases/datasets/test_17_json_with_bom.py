"""Scenes and questions with a byte-order mark, as Windows editors and PowerShell write them.

Right: read as every other file is; the mark is no content, and one of UTF-16 names the encoding.
"""

import json
from pathlib import Path

import pytest

from tests.running.command_line import trex, trex_done
from tests.worlds.baseline_worlds import write_query
from tests.worlds.clevr_folders import official, question_records, scene_records, write
from trex.datasets.render_files import everything, read_any
from trex.foundation.files import read_text
from trex.foundation.parse import parse_json

MARKS = ["utf-8-sig", "utf-16", "utf-16-be"]


def marked(path: Path, key: str, records: list[dict[str, object]], encoding: str) -> None:
    write(path, key, records, encoding)
    if encoding == "utf-16-be":  # Python writes no mark for it
        path.write_bytes(b"\xfe\xff" + path.read_bytes())


@pytest.mark.parametrize("encoding", MARKS)
def test_a_data_set_with_marks_is_read(encoding: str, tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    marked(data / "scenes/CLEVR_val_scenes.json", "scenes", scene_records(2, "val"), encoding)
    marked(data / "questions/CLEVR_val_questions.json", "questions", question_records(2, "val"), encoding)
    done = trex("baseline", write_query(tmp_path), "--dataset", data, "--out", tmp_path / "out", "--json")
    found = json.loads(done.stdout)
    assert (found["problems"], found["baselines"][0]["accuracy"]["of"]) == ([], 2)
    found = json.loads(trex_done("models", "verify", "fake", "--dataset", data, "--json").stdout)
    assert found["official"]["all"]["of"] == 4
    assert len(read_any(data / "scenes/CLEVR_val_scenes.json", everything())[1]) == 2


@pytest.mark.parametrize("encoding", MARKS[:2])
def test_any_text_and_json_with_a_mark_is_read(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text('{"a": "ä"}', encoding=encoding)
    assert parse_json(read_text(path), "it") == parse_json(path.read_bytes(), "it") == {"a": "ä"}
    assert parse_json('\ufeff{"a": "ä"}', "it") == {"a": "ä"}
