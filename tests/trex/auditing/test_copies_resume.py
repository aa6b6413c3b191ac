"""An audit that copies failures, round by round, ends in the same bytes wherever it was stopped."""

from __future__ import annotations

import shutil
from pathlib import Path

import networkx as nx
import pytest

import trex
from benchmarks.auditing.misreader import Misreader, showing
from tests.worlds.misreader import misreader
from tests.worlds.repair_toy import tree
from trex.auditing.rare import copies
from trex.auditing.rare.copies import ROUND
from trex.auditing.rare.steps import COPIED


def red_metal(graph: nx.DiGraph, index: int) -> bool:
    """A red metal object."""
    return graph.nodes[index]["color"] == "red" and graph.nodes[index]["material"] == "metal"


def carried_out(model: Misreader, folder: Path, out: str) -> None:
    """An audit with a few scenes, in which the model's fault shows too seldom for a rule."""
    world = folder / "world.toml"
    world.write_text("[scene]\nobjects = [3, 4]\n")
    with showing(model, folder / "cache"):
        trex.audit(
            model, world=world, preset="fake", confirm_preset="fake", scenes=12, held_out=12, rare=12,
            questions=8, tested=1, probed=0, wordings=1, explain=False, bank=folder / "bank", out=folder / out,
            progress=False,
        )  # fmt: skip


def test_copies_resume_from_every_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bugs: a log of more copies than those of the first round was refused, so that no audit resumed; a choice
    that came out otherwise, on another processor, gave answers to other scenes than those that were asked about."""
    monkeypatch.setattr(copies, "POOL", 100)
    model = misreader(red_metal)
    carried_out(model, tmp_path, "whole")
    copied = (tmp_path / "whole" / COPIED).read_bytes().splitlines(keepends=True)
    assert len(copied) > ROUND, "copies of several rounds"
    carried_out(model, tmp_path, "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (tmp_path / "cut" / COPIED).write_bytes(b"".join(copied[: ROUND + 1]))
    carried_out(model, tmp_path, "cut")
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")
    monkeypatch.setattr(copies, "POOL", 60)
    (tmp_path / "cut" / COPIED).write_bytes(b"".join(copied[: ROUND + 1]))
    carried_out(model, tmp_path, "cut")
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")
