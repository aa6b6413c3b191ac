"""The overhead of the search per proposal: everything except rendering and scoring."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.figure import note, show
from trex.finding.find import manifest_of
from trex.inference.scoring import Scored, Scorer
from trex.query.toml_file import parse_query
from trex.runs.folder import create
from trex.runs.journal import Journal
from trex.search.engine import InProcess
from trex.search.progress import Silent
from trex.search.search import Search
from trex.worlds.latents import Latent
from trex.worlds.registry import make_plan

CHAINS, STEPS, PRIOR = 4, 100, 20
QUERY = f"""
question = "How many red things are there?"
answer = "1"
[scene]
revoke = ["red"]
[model]
name = "fake"
[render]
preset = "fake"
[search]
prior_scenes = {PRIOR}
chains = {CHAINS}
steps = {STEPS}
further = 0
control = false
"""


class Timed(Scorer[Latent]):
    """A scorer that counts the seconds spent in it."""

    def score(self, zs: Sequence[Latent]) -> list[Scored]:
        began = time.perf_counter()
        scored = super().score(zs)
        SPENT[0] += time.perf_counter() - began
        return scored


SPENT = [0.0]


def overhead() -> None:
    """Milliseconds a proposal: propose, prior by geometry, decide, write to the disk, tell; the fake renders."""
    note("running chains over the fake renderer, its pictures and scores not counted")
    _of_a_proposal(seed=1)  # which imports what a search needs
    show("proposal.overhead_ms", _of_a_proposal(seed=0) * 1e3, "ms")


def _of_a_proposal(seed: int) -> float:
    """The seconds that a proposal of one search takes."""
    world = make_plan(parse_query(QUERY, "the benchmark's query", (f"search.seed={seed}",)), Path()).open()
    world = replace(world, scorer=Timed(world.scorer.renderer, world.scorer.classifier))
    with tempfile.TemporaryDirectory() as place:
        manifest = manifest_of(world, Path("query.toml"), ())
        with create(Path(place) / "run", QUERY, manifest) as folder, Journal(folder) as journal:
            SPENT[0] = 0.0
            began = time.perf_counter()
            Search(folder, InProcess(world, folder), journal, Silent()).run()
            return (time.perf_counter() - began - SPENT[0]) / len(journal.records)
