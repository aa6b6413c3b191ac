"""A repair on drawn scenes, with a planted fault: no Blender, no network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from trex.bank.bank import bank_of
from trex.clevr_models.percept.model import SHIPPED, load_percept
from trex.foundation.progress import silent
from trex.query.toml_text import toml_value
from trex.render.cache import CachedRenderer
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.repair.correct import correct
from trex.repair.folder import create
from trex.repair.results import CorrectResult
from trex.repair.scenes.loaded import PICTURES, Folder, SceneLoaded, scene_sources
from trex.repair.scenes.reading import RIGHT, Seen, read
from trex.repair.settings import SceneQuery, repair_query
from trex.repair.steps import distill, identify, label
from trex.scenes.graph import facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

HIDDEN = 0.7  # the planted reader misreads metal objects that are less visible
TAKEN = "shape cube"
PRIOR = ScenePrior(n_objects=(3, 6))  # crowded scenes take long to draw


def planted(scenes: Sequence[Scene], pictures: Sequence[Picture] = ()) -> list[Seen]:
    """Takes every metal object less than HIDDEN visible for a cube, and sees all others as they are."""
    return [
        tuple(
            TAKEN if item.material == "metal" and share < HIDDEN else RIGHT
            for item, share in zip(scene.objects, facts_of(scene, CLEVR).shares, strict=True)
        )
        for scene in scenes
    ]


def query(**sections: dict[str, object]) -> SceneQuery:
    """A small repair at the fake look."""
    table: dict[str, object] = {
        "seed": 3,
        "generator": {"name": "clevr", "look": "fake-small", "deciding": "fake-small"},
        "identify": {"seeds": 150, "draws": 1, "step": 0.03, "held_out": 20, "validation": 9},
        "label": {"pictures": 60},
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
    sections = given.model_dump(mode="json", exclude_unset=True)
    lines = [f"seed = {sections.pop('seed')}"]
    lines += [
        f"{name}.{key} = {toml_value(key, value)}"
        for name, section in sections.items()
        for key, value in section.items()
    ]
    return create(path, "\n".join(lines), given, scene_sources(given))


def loaded(place: Path, *, is_planted: bool = True) -> SceneLoaded:
    """What its steps work with: drawn pictures, and the planted reader or the shipped model."""
    torch.set_num_threads(1)  # as `open_scenes` does
    percept, renderer = load_percept(SHIPPED).percept, FakeRenderer(60, 40, vocabulary=CLEVR)
    cache = CachedRenderer(renderer, place / PICTURES)
    bank = bank_of(PRIOR, "fake-small", renderer=renderer)  # the session's: scenes are drawn once
    reader = planted if is_planted else partial(read, percept)
    return SceneLoaded(PRIOR, SHIPPED, percept, reader, bank, cache, cache)


SMALL: dict[str, dict[str, object]] = {
    "identify": {"seeds": 30, "held_out": 4}, "label": {"pictures": 16}, "correct": {"most": 1},
}  # fmt: skip


def carried_out(path: Path) -> CorrectResult:
    """A whole repair of the shipped model on flat drawings, on which it misreads much."""
    with opened(path, query(**SMALL)) as folder, loaded(path, is_planted=False) as given:
        for step in (identify, distill, label, correct):
            step(folder, given, silent)
        return folder.found("correct", CorrectResult)
