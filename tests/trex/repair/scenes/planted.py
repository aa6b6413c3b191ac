"""A repair on drawn scenes, with a reader whose fault is planted: no Blender, no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from trex.bank.bank import bank_of
from trex.clevr_models.percept.model import SHIPPED, load_percept
from trex.render.cache import CachedRenderer
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.repair.folder import create
from trex.repair.scenes.loaded import PICTURES, Folder, SceneLoaded, scene_sources
from trex.repair.scenes.reading import RIGHT, PerceptReader, Seen
from trex.repair.settings import SceneQuery, repair_query
from trex.scenes.graph import facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

HIDDEN = 0.7  # the planted reader misreads metal objects that are less visible
TAKEN = "shape cube"


class PlantedReader:
    """Takes every metal object less than HIDDEN visible for a cube, and sees all others as they are."""

    def read(self, scenes: Sequence[Scene], pictures: Sequence[Picture]) -> list[Seen]:
        """It looks at the scenes, not at the pictures."""
        return [self._one(scene) for scene in scenes]

    def _one(self, scene: Scene) -> Seen:
        facts = facts_of(scene, CLEVR)
        return tuple(
            TAKEN if item.material == "metal" and share < HIDDEN else RIGHT
            for item, share in zip(scene.objects, facts.shares, strict=True)
        )


def query(**sections: dict[str, object]) -> SceneQuery:
    """A small repair at the fake look."""
    table: dict[str, object] = {
        "seed": 3,
        "generator": {"name": "clevr", "look": "fake-small", "deciding": "fake-small"},
        "identify": {"seeds": 150, "draws": 1, "step": 0.03, "held_out": 20, "validation": 9},
        "distill": {"components": 1},
        "label": {"pictures": 40},
        "correct": {
            "lambdas": [0.0, 1.0], "seeds": 1, "epochs": 1, "pictures": 6, "choose": 4, "deciding": 4, "questions": 2,
            "loss": 1.0,
        },
    }  # fmt: skip
    for name, section in sections.items():
        known = table.get(name)
        table[name] = {**(known if isinstance(known, dict) else {}), **section}
    return repair_query(table, "the test")


def opened(path: Path, wanted: SceneQuery | None = None) -> Folder:
    """A repair, begun or opened again."""
    given = wanted or query()
    return create(path, "", given, scene_sources(given))


def loaded(place: Path, *, is_planted: bool = True) -> SceneLoaded:
    """What its steps work with: drawn pictures, and the planted reader or the shipped model."""
    torch.set_num_threads(1)  # as `open_scenes` does
    percept, renderer = load_percept(SHIPPED).percept, FakeRenderer(60, 40, vocabulary=CLEVR)
    cache = CachedRenderer(renderer, place / PICTURES)
    bank = bank_of(ScenePrior(), "fake-small", renderer=renderer)  # the session's: scenes are drawn once
    found = SceneLoaded(ScenePrior(), SHIPPED, percept, PerceptReader(percept), bank, cache, cache)
    return replace(found, reader=PlantedReader()) if is_planted else found
