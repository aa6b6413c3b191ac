"""Bad inputs, by the hundred: each ends in one clear line (`benchmarks/bad_inputs`)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def count(*words: str) -> dict[str, object]:
    command = [sys.executable, "-m", "benchmarks.bad_inputs", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(1200)
def test_every_twentieth_bad_input_ends_in_one_clear_line() -> None:
    found = count("--every", "20")
    assert found["which"] == []
    assert int(str(found["inputs"])) >= 40


@pytest.mark.process
@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_every_bad_input_ends_in_one_clear_line() -> None:
    found = count()
    assert found["which"] == []
    assert int(str(found["inputs"])) >= 400


def test_the_verdict_knows_a_traceback_a_hang_and_silence() -> None:
    sys.path.insert(0, str(ROOT))
    from benchmarks.bad_inputs.runner import Ending, unclear

    def verdict(code: int | None, err: str, *, is_accepted: bool = False) -> str:
        return unclear(Ending(code, "", err), is_accepted=is_accepted)

    assert verdict(2, "writing to x\nerror: width is 3; give less\n") == ""
    assert verdict(None, "") == "hang"
    assert verdict(1, "Traceback (most recent call last):\n") == "traceback"
    assert verdict(2, "") == "silence"
    assert verdict(0, "") == "accepted"
    assert verdict(0, "", is_accepted=True) == "silence"
    assert verdict(0, "note: images/x.png: no readable PNG\n", is_accepted=True) == ""
    assert verdict(2, "error: a\nb\n") != ""
    assert verdict(2, "error: a\x00b\n") != ""
    assert verdict(-9, "error: a\n") != ""
    assert verdict(137, "error: a\n") == "exit code 137"
