"""The nearest misses of a search without hits are different scenes, and the most confident ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

from tests.running.runs import run
from trex.runs.draw_log import read_draws
from trex.runs.record import BANK, Record
from trex.scenes.distinct import are_distinct
from trex.search.hit import MAX_MISSES, nearest_misses
from trex.worlds.latents import identity


def test_near_misses_are_scenes_that_differ_and_none_of_a_cheaper_look(tmp_path: Path) -> None:
    """Planted bugs: any other picture was another miss, such as the same scene under other noise; a look that does not
    decide was near.
    """
    done = run(tmp_path, ["answer=6", "target.width=1e-6", "search.steps=0", "render.fresh=0"])
    prior = read_draws(done.folder / "draws.jsonl", done.manifest)

    def again(record: Record, k: int) -> Record:
        """The same scene under another noise seed, at a place of its own."""
        return replace(record, index=100 * k + record.index, z=identity(replace(record.scene, noise=k)))

    cheap = replace(again(prior[0], 9), phase=BANK, log_probs=prior[0].log_probs[::-1])
    found = nearest_misses(
        done.manifest, [*prior, *(again(one, k) for one in prior for k in (1, 2, 3)), cheap]
    )
    assert len(found) == min(MAX_MISSES, len(prior)) == MAX_MISSES
    assert all(are_distinct(a.record.scene, b.record.scene) for a, b in combinations(found, 2))
    confidences = [one.confidence for one in found]
    assert confidences == sorted(confidences, reverse=True)
    assert [one.record.scene.objects for one in found] == [
        one.record.scene.objects for one in nearest_misses(done.manifest, prior)
    ]
