"""Small queries on the fake world, for tests of whole runs: each takes a fraction of a second."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from trex.finding import conclude
from trex.finding.conclude import Outcome
from trex.finding.find import find_query, resume
from trex.finding.source import query_file
from trex.query.schema import Query
from trex.query.toml_file import parse_query, read_text
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.runs.checked_lines import chained
from trex.runs.manifest import seal_of
from trex.scenes.scene import Scene
from trex.search.progress import Silent

QUERY = """
question = "How many red things are there?"
answer = "2"

[scene]
revoke = ["cube"]

[model]
name = "fake"

[render]
preset = "fake"

[search]
prior_scenes = 12
chains = 3
steps = 12
"""
BANK = ["search.bank=60", "search.prior_scenes=30", "render.fresh=1", "search.steps=6"]
# Each ends in another phase, or goes through others: chains to the end, chains that stop early, a common target, a
# positive control; a bank before chains, a bank whose second sample is drawn, chains that a cheap look leads, a spread
# sample with hits of its own after them, a hit that does not survive a fresh noise draw, and the mean over two noise
# draws; hits that up to seven noise draws decide.
SEARCHES = {
    "chains": [],
    "random walk": ["search.kernel=random_walk"],
    "stops when found": ["search.stop_when_found=4", "search.steps=40"],
    "common": [
        "search.prior_scenes=60",
        "search.further=2000",
        "target.kind=threshold",
        "target.threshold=0.01",
        "answer=0",
    ],
    "control": ["answer=6", "target.width=1e-6", "search.prior_scenes=100", "search.chains=4"],
    "bank": [*BANK, "search.kernel=block"],
    "second sample": [
        *BANK,
        "search.prior_scenes=12",
        "search.further=100",
        "target.kind=threshold",
        "target.threshold=0.5",
        "answer=0",
    ],
    "surrogate": [*BANK, "search.inner=3"],
    "spread": [
        *BANK,
        "search.bank=300",
        "search.prior_scenes=14",
        "search.further=0",
        "search.inner=3",
        "search.bank_seed=9",
        "search.spread=60",
    ],
    "fragile": ["answer=3", "render.noise=2", "render.fresh=1"],
    "noise draws": ["answer=1", "search.prior_scenes=40", "render.fresh=7"],
}


@contextmanager
def without_reports() -> Iterator[None]:
    """Runs whose draws and results alone matter: no report is made, and nothing waits for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        patch.setattr(conclude, "write_report", lambda folder, *_, **__: folder.path / "report.html")
        yield


def leave_draws(folder: Path, data: bytes) -> None:
    """Leave these bytes of a run's draws, as a kill would have: the run has not ended."""
    (folder / "finished").unlink(missing_ok=True)
    (folder / "draws.jsonl").write_bytes(data)


def change_manifest(
    folder: Path, change: Callable[[dict[str, Any]], object], *, is_sealed: bool = True
) -> None:
    """A run whose `run.json` was written like this: with its seal, or without one, as earlier versions did."""
    place = folder / "run.json"
    data = json.loads(place.read_text())
    change(data)
    data["seal"] = seal_of(data) if is_sealed else ""
    if not is_sealed:
        del data["seal"]
    place.write_text(json.dumps(data))
    seal_draws(folder)


def seal_draws(folder: Path) -> None:
    """Give the lines that are there their checksums, as a program with a bug would."""
    seal = json.loads((folder / "run.json").read_text()).get("seal", "")
    sums = chained(draws(folder).splitlines(keepends=True), seal)
    (folder / "draws.check").write_text("".join(f"{text}\n" for text in sums))


def write_query(folder: Path, text: str = QUERY) -> Path:
    """The query as a file."""
    path = folder / "query.toml"
    path.write_text(text, encoding="utf-8")
    return path


def find(query: Path, overrides: Sequence[str], out: Path) -> Outcome:
    """A whole run of the query in a file, in this process."""
    return find_query(query_file(query, overrides), out, Silent(), lambda _: None)


def run(folder: Path, overrides: Sequence[str] = (), name: str = "run") -> Outcome:
    """A whole run of QUERY."""
    return find(write_query(folder), overrides, folder / name)


def go_on(path: Path) -> Outcome:
    """Resume a run, in this process."""
    return resume(path, Silent(), lambda _: None)


def draws(path: Path) -> bytes:
    """The draws of a run, byte for byte."""
    return (path / "draws.jsonl").read_bytes()


def rendered_scenes(monkeypatch: pytest.MonkeyPatch, most: int | None = None) -> list[Scene]:
    """The scenes that are rendered from now on; Ctrl-C comes before a batch that exceeds `most`."""
    scenes: list[Scene] = []
    real = FakeRenderer.render

    def render(self: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        if most is not None and len(scenes) + len(zs) > most:
            raise KeyboardInterrupt
        scenes.extend(zs)
        return real(self, zs)

    monkeypatch.setattr(FakeRenderer, "render", render)
    return scenes


def read_query(path: Path, overrides: Sequence[str] = ()) -> Query:
    """The query in a TOML file, with `key=value` overrides (dotted keys, TOML values)."""
    return parse_query(read_text(path), str(path), overrides)
