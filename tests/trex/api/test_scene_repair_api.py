"""`trex.begin_scene_repair`: the same repair as on the command line, and each kind of repair by its own name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import trex
from tests.running.command_line import trex as command

SMALL = {
    "generator.look": "fake-small", "generator.deciding": "fake-small", "identify.seeds": 26, "identify.draws": 1,
    "identify.held_out": 2, "identify.step": 0.03, "distill.components": 2,
}  # fmt: skip


def test_python_and_the_command_line_end_in_the_same_bytes(tmp_path: Path) -> None:
    repair = trex.begin_scene_repair("clevr", out=tmp_path / "api", set=SMALL, progress=False)
    found = repair.distill()
    settings = [part for key, value in SMALL.items() for part in ("--set", f"{key}={json.dumps(value)}")]
    assert command("repair", "identify", "clevr", "--out", str(tmp_path / "cli"), *settings).exit_code == 0
    told = command("repair", "distill", str(tmp_path / "cli"), "--json")
    assert told.exit_code == 0 and json.loads(told.stdout)["rand_index"] == found.rand_index
    for name in (
        "repair.json",
        "identify/mistakes.json",
        "distill/mixture.safetensors",
        "distill/distill.json",
    ):
        assert (tmp_path / "api" / name).read_bytes() == (tmp_path / "cli" / name).read_bytes()
    again = trex.open_scene_repair(tmp_path / "cli", progress=False)
    assert again.results.distill == found and again.query == repair.query and not again.is_mended
    assert len(again.sentences) == 2 and again.sources.model.startswith("shipped")
    assert again.report().read_text().count("is not finished") == 2


def test_each_kind_of_repair_names_the_other(tmp_path: Path) -> None:
    with pytest.raises(trex.InputError, match=r"trex\.begin_scene_repair"):
        trex.begin_repair("clevr", out=tmp_path / "r", progress=False)
    with pytest.raises(trex.InputError, match=r"trex\.begin_repair"):
        trex.begin_scene_repair("mnist", out=tmp_path / "r", progress=False)
    with pytest.raises(trex.InputError, match="no repair"):
        trex.open_scene_repair(tmp_path / "nothing")
    with pytest.raises(trex.InputError, match="mapping of keys"):
        trex.begin_scene_repair("clevr", out=tmp_path / "r", set=3, progress=False)  # type: ignore[arg-type]
    assert not (tmp_path / "r").exists()
    for options, told in (
        (["repair", "identify", "clevr", "--data", str(tmp_path)], "takes no data"),
        (["repair", "identify", "mnist", "--processes", "1"], "only a repair on rendered scenes"),
    ):
        said = command(*options, "--out", str(tmp_path / "r"))
        assert said.exit_code == 2 and told in said.stderr
    assert not (tmp_path / "r").exists()
