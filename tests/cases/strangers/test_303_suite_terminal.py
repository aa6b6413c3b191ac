"""Words of files from others never move the cursor, name the window or forge a line: they are refused or escaped."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.running.command_line import trex, trex_done
from tests.running.runs import run
from trex.foundation.words import escaped, escaped_lines

TITLE = "\x1b]0;pwned\x07\x1b[2J\x1b[H"
FORGED = "\nfake on 1 scene: all passing"
EVIL = {
    "a terminal's commands": f"2{TITLE}",
    "a forged line": f"2{FORGED}",
    "one-byte commands": "2\x9b2J",
    "a return": "2\rall passing",
    "text in reverse": "2\u202egnissap lla\u202c",
    "an isolate": "2\u2066all passing\u2069",
    "another separator of lines": "2\u2028all passing",
    "hidden": "2\u200ball passing",
}
PROGRAM = [
    {"function": "scene", "inputs": [], "value_inputs": []},
    {"function": "filter_shape", "inputs": [0], "value_inputs": ["cube"]},
    {"function": "count", "inputs": [1], "value_inputs": []},
]


def suite(folder: Path, key: str, evil: str) -> Path:
    """A suite of one scene, with this text under the key of its batch or of its scene."""
    file = io.BytesIO()
    Image.new("RGB", (120, 80)).save(file, "PNG")
    name = "CLEVR_found_000000.png"
    scene: dict[str, object] = {
        "name": name, "truth": "2", "answer": "3", "confidence": 0.99, "confirmed": [],
        "question": "How many cubes are there?", "program": PROGRAM, "group": 0,
    }  # fmt: skip
    files = {f"images/found/{name}": hashlib.sha256(file.getvalue()).hexdigest()}
    batch: dict[str, object] = {
        "run": "r", "model": "m", "scenes": [scene], "files": files, "format": 1, "weights": "",
    }  # fmt: skip
    (scene if key in scene else batch)[key] = [evil] if key == "confirmed" else evil
    data = json.dumps(batch).encode()
    place = folder / hashlib.sha256(data).hexdigest()[:32]
    (place / "images" / "found").mkdir(parents=True)
    (place / "images" / "found" / name).write_bytes(file.getvalue())
    (place / "batch.json").write_bytes(data)
    return folder


def is_clean(text: str) -> bool:
    """Whether a terminal shows the text as it is, without a line that was forged."""
    return text.replace("\n", "").replace("\xa0", " ").isprintable() and FORGED not in text


def each(places: tuple[str, ...]) -> list[tuple[str, str]]:
    """Every evil text in the first place, and one of them in every other."""
    return [(places[0], kind) for kind in EVIL] + [(place, "a forged line") for place in places[1:]]


@pytest.mark.parametrize(("key", "kind"), each(("truth", "answer", "question", "run", "model", "confirmed")))
def test_a_suite_from_elsewhere(key: str, kind: str, tmp_path: Path) -> None:
    result = trex("suite", "run", suite(tmp_path / "evil", key, EVIL[kind]), "--model", "fake")
    assert result.exit_code == 2 and "unprintable" in result.stderr, result.output
    assert is_clean(result.output)


def test_a_suite_with_plain_words_still_runs(tmp_path: Path) -> None:
    result = trex("suite", "run", suite(tmp_path / "good", "truth", "2"), "--model", "fake")
    assert "fake" in result.stdout and "unprintable" not in result.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("made")).folder


@pytest.mark.parametrize(("command", "kind"), each(("resume", "report", "explain", "export")))
def test_a_run_folder_from_elsewhere(command: str, kind: str, made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / "run")
    manifest = json.loads((place / "run.json").read_text())
    manifest["facts"]["model"] = EVIL[kind]
    (place / "run.json").write_text(json.dumps(manifest))
    result = trex(command, place)
    assert result.exit_code == 2, result.output
    assert is_clean(result.output)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in ("a terminal's commands", "hidden") else pytest.mark.slow)
        for kind in EVIL
    ],
)
def test_a_folder_whose_name_is_evil(kind: str, made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / f"run {EVIL[kind]}")
    for words in (["report", place], ["resume", place], ["queue", "list", "--runs", place]):
        assert is_clean(trex(*words).output.replace(FORGED, "")), words
    assert trex_done("queue", "watch", "--once", "--runs", place.parent).output


def test_what_a_person_writes_is_shown_as_it_is() -> None:
    text = "12 Würfel, 3 €: 日本語 שלום \u00a0😀"
    assert escaped(text) == text
    assert escaped_lines("one\n\ttwo\n") == "one\n\ttwo\n"
    assert escaped("a\x1b\x9b\u202e\udc80\n") == "a\\x1b\\x9b\\u202e\\udc80\\n"
