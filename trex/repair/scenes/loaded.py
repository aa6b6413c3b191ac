"""What the steps of a repair on scenes work with: model, prior, bank, and renderers with a picture cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path

import torch

from trex.artifacts.card import card_path
from trex.bank.bank import Bank, bank_of
from trex.clevr_models.percept.model import SHIPPED, Percept, load_percept
from trex.foundation.errors import InputError
from trex.foundation.files import Closing, from_home
from trex.foundation.progress import Progress
from trex.query.schema import RenderSection
from trex.query.toml_file import render_section
from trex.render.cache import CachedRenderer
from trex.render.picture import Picture
from trex.render.renderer import SceneRenderer
from trex.repair.files import Sources, file_sha256
from trex.repair.folder import RepairFolder
from trex.repair.scenes.reading import Seen, read
from trex.repair.settings import SceneQuery
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.worlds.world import picture_size

PICTURES = "cache"  # below the folder; no name of a step, whose folder is deleted when it begins anew
BATCH = 32
NETWORK = ".safetensors"
Folder = RepairFolder[SceneQuery]
Reader = Callable[[Sequence[Scene], Sequence[Picture]], list[Seen]]


class SceneStream(IntEnum):
    """The purposes of random numbers: the first number of a stream's key."""

    GROW = 0
    HOLD = 1
    DRAW = 2
    CHOOSE = 3
    TEST = 4
    DECIDE = 5
    TUNE = 6
    RAW = 7
    ASK = 8
    GROW_FOUND = 9


@dataclass(frozen=True, eq=False)
class SceneLoaded(Closing):
    """The model with its reader, scenes' prior, the bank at the look, and renderers; close it at the end."""

    prior: ScenePrior
    weights: Path
    percept: Percept
    reader: Reader
    bank: Bank
    near: CachedRenderer
    deciding: CachedRenderer
    batch: int = BATCH  # how many pictures are rendered before they are read

    def members(self, numbers: range) -> list[Scene]:
        """Prior scenes by number."""
        return self.bank.scenes(numbers)

    def of_bank(self, numbers: range, progress: Progress, what: str) -> list[Picture]:
        """Their pictures at the look; those that are missing are rendered."""
        return self.pictures(self.bank.renderer, self.members(numbers), progress, what)

    def pictures(
        self, renderer: SceneRenderer, scenes: Sequence[Scene], progress: Progress, what: str
    ) -> list[Picture]:
        found: list[Picture] = []
        for start in range(0, len(scenes), self.batch):
            found += renderer.render(scenes[start : start + self.batch])
            progress(what, len(found), len(scenes))
        return found

    def seen(
        self, scenes: Sequence[Scene], progress: Progress, what: str, renderer: SceneRenderer | None = None
    ) -> list[Seen]:
        """What becomes of the objects in pictures at the look, batch by batch, so that few pictures are held."""
        found: list[Seen] = []
        for start in range(0, len(scenes), self.batch):
            part = scenes[start : start + self.batch]
            found += self.reader(part, (renderer or self.near).render(part))
            progress(what, len(found), len(scenes))
        return found

    def seen_of_bank(self, numbers: range, progress: Progress, what: str) -> list[Seen]:
        return self.seen(self.members(numbers), progress, what, self.bank.renderer)

    def close(self) -> None:
        self.bank.close()
        self.near.close()
        self.deciding.close()


def scene_sources(query: SceneQuery) -> Sources:
    """Names and hashes of what a repair works on; InputError for a model or look that cannot be used."""
    weights = model_path(query.model.name)
    for look in (query.generator.look, query.generator.deciding):
        picture_size(RenderSection(preset=look))
    return Sources(
        generator=f"{query.generator.name} {query.generator.look} {query.generator.deciding}",
        model=f"{query.model.name} {file_sha256(weights)}",
        dataset="clevr",
        train="rendered",
        test="rendered",
    )


def open_scenes(
    query: SceneQuery,
    place: Path,
    open_look: Callable[[RenderSection], SceneRenderer],
    *,
    at_once: int = BATCH,
) -> SceneLoaded:
    """Load the model and open a renderer for each look of a repair in this folder; pictures are kept below it.

    `at_once`: how many pictures are rendered before they are read.
    """
    torch.set_num_threads(1)  # sums come out alike on every machine
    weights, prior = model_path(query.model.name), ScenePrior()
    percept = load_percept(weights).percept
    looks = (query.generator.look, query.generator.deciding)
    near, deciding = map(open_look, map(render_section, looks))
    bank = bank_of(prior, looks[0], renderer=near)
    caches = [CachedRenderer(each, place / PICTURES) for each in (near, deciding)]
    for each in (bank.renderer, *caches):
        if isinstance(each, CachedRenderer):
            each.chunk = max(each.chunk, at_once)
    reader = partial(read, percept)
    return SceneLoaded(prior, weights, percept, reader, bank, caches[0], caches[1], max(BATCH, at_once))


def model_path(name: str) -> Path:
    """The weights of a model that can be tuned here; InputError for any other model."""
    if name == "shipped":
        return SHIPPED
    path = from_home(Path(name))
    if path.suffix != NETWORK:
        raise InputError(
            f"model {name!r} cannot be tuned here; a repair on scenes takes 'shipped' or the path of weights that "
            "trex models train clevr wrote (.safetensors)"
        )
    for file in (path, card_path(path)):
        if not file.is_file():
            raise InputError(f"{file} does not exist; give the path of weights with their card beside them")
    return path
