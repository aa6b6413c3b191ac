"""The benchmark of kills, on the fake world: a trial that changes nothing passes, a changed byte is told."""

from __future__ import annotations

import importlib
import random
from pathlib import Path

import pytest

from benchmarks.kills import HEAVY, KINDS, Bench, Task, results, trial, undisturbed
from tests.running.runs import write_query


def tried(folder: Path) -> tuple[Bench, Task]:
    (folder / "bench").mkdir()
    query = str(write_query(folder / "bench"))
    bench = Bench(folder / "bench", random.Random(1))
    return bench, Task("find", lambda place, _: ["find", query, "--out", str(place)])


@pytest.mark.slow
def test_a_command_that_was_struck_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    bench, task = tried(tmp_path)
    whole, growth = undisturbed(bench, task, tmp_path / "whole")
    assert {"draws.jsonl", "findings.json"} <= set(whole) and growth > 0
    trial(bench, task, whole, growth)
    assert bench.problems == [] and bench.trials == {"find": 1}
    assert sum(bench.done.values()) <= len(KINDS)  # the fake world has no Blender to kill


@pytest.mark.slow
def test_one_changed_byte_is_told(tmp_path: Path) -> None:
    bench, task = tried(tmp_path)
    whole, _ = undisturbed(bench, task, tmp_path / "whole")
    draws = bytearray(whole["draws.jsonl"])
    draws[len(draws) // 2] ^= 1
    (tmp_path / "whole" / "draws.jsonl").write_bytes(draws)
    assert results(tmp_path / "whole") != whole
    bench.compare(task, tmp_path / "whole", whole)
    assert len(bench.problems) == 1 and "1 files differ: draws.jsonl" in bench.problems[0]


def test_an_exit_code_that_nothing_explains_is_told(tmp_path: Path) -> None:
    bench, _ = tried(tmp_path)
    trial(bench, Task("nonsense", lambda place, _: ["find", str(tmp_path / "nothing.toml")]), {}, 10)
    assert "exit code 2 at the end" in bench.problems[0] and "nothing.toml" in bench.problems[0]


def test_of_a_log_that_is_appended_to_the_whole_lines_count(tmp_path: Path) -> None:
    path = tmp_path / "drawn" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'\n0 abc {"a":1}\n1 abd {"a":')
    before = results(tmp_path)
    path.write_bytes(b'\n0 abc {"a":1}\n')
    assert results(tmp_path) == before
    path.write_bytes(b'\n0 abc {"a":2}\n')
    assert results(tmp_path) != before


@pytest.mark.parametrize("module", HEAVY)
def test_what_is_imported_before_the_forks_is_there(module: str) -> None:
    importlib.import_module(module)
