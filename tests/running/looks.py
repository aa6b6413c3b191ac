"""Ladders of the fake world's looks, some of them useless, and found scenes at a large look."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trex.foundation.files import write_atomic
from trex.inference.scoring import Scorer
from trex.inference.types import Floats
from trex.render.fake import FakeRenderer
from trex.runs.draw_log import read_draws
from trex.runs.folder import RunFolder, open_run
from trex.search.hit import Hit
from trex.search.results import read_results
from trex.trials.confirmation import CODEC, FOLDER, Confirmation, Confirmed, Look, confirmation_path
from trex.worlds import looks, world
from trex.worlds.registry import make_plan
from trex.worlds.world import Plan

TINY, SMALL = "fake-tiny", "fake-small"  # of six pixels, which say nothing; half as wide as the deciding look
SIZE = (480, 320)


def use_ladder(patch: pytest.MonkeyPatch, *names: str) -> None:
    """From now on the fake world's cheap looks are these, cheapest first."""
    patch.setitem(world.WITHOUT_BLENDER, TINY, (3, 2))
    patch.setitem(looks.LADDERS, "fake", names)


def add_looks(run: Path, top: int) -> Confirmation:
    """Renders the most confident scenes at 480×320 by the fake renderer and records what the model says there."""
    with open_run(run, for_writing=True) as folder:
        manifest = folder.manifest
        plan = make_plan(manifest.query, run)
        renderer = FakeRenderer(*SIZE, vocabulary=plan.vocabulary)
        found = read_results(manifest, read_draws(folder.draws)).found[:top]
        scenes = tuple(_confirmed(folder, plan, renderer, hit) for hit in found)
        confirmation = Confirmation("reference", SIZE, renderer.key, manifest.made.model, len(found), scenes)
        (folder.path / FOLDER).mkdir(exist_ok=True)
        write_atomic(confirmation_path(folder, "reference"), CODEC.text(confirmation).encode())
        return confirmation


def _confirmed(folder: RunFolder, plan: Plan, renderer: FakeRenderer, found: Hit) -> Confirmed:
    (scored,) = Scorer(renderer, plan.bound).score([found.record.scene])
    (picture,) = renderer.render([found.record.scene])
    kept = folder.save_picture(picture.pixels, picture.mask)
    before = np.array(found.record.log_probs)
    return Confirmed(
        found.known_truth,
        _look(plan, before, found.record.picture),
        _look(plan, np.array(scored.log_probs), kept),
    )


def _look(plan: Plan, log_probs: Floats, picture: str) -> Look:
    answer = plan.bound.labels[int(log_probs.argmax())]
    hit = bool(plan.target.is_hit(log_probs))
    return Look(picture, answer, plan.target.confidence(log_probs), hit, tuple(map(float, log_probs)))
