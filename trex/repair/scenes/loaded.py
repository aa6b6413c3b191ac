"""What the steps of a repair on scenes work with: model, prior, bank, and renderers with a picture cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TypeVar

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
T = TypeVar("T")
Parted = TypeVar("Parted", Sequence[Scene], range)


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
        return _joined(
            map(self.bank.renderer.render, self._members_in_parts(numbers)), len(numbers), progress, what
        )

    def pictures(
        self, renderer: SceneRenderer, scenes: Sequence[Scene], progress: Progress, what: str
    ) -> list[Picture]:
        return _joined(map(renderer.render, self._in_parts(scenes)), len(scenes), progress, what)

    def seen(
        self, scenes: Sequence[Scene], progress: Progress, what: str, renderer: SceneRenderer | None = None
    ) -> list[Seen]:
        """What becomes of the objects in pictures at the look, batch by batch, so that few pictures are held."""
        read = partial(self._read, renderer or self.near)
        return _joined(map(read, self._in_parts(scenes)), len(scenes), progress, what)

    def seen_of_bank(self, numbers: range, progress: Progress, what: str) -> list[Seen]:
        read = partial(self._read, self.bank.renderer)
        return _joined(map(read, self._members_in_parts(numbers)), len(numbers), progress, what)

    def _read(self, renderer: SceneRenderer, scenes: Sequence[Scene]) -> list[Seen]:
        return self.reader(scenes, renderer.render(scenes))

    def _members_in_parts(self, numbers: range) -> Iterator[Sequence[Scene]]:
        """Prior scenes, which other processes draw while the first ones are rendered."""
        self.bank.draw_ahead(numbers)
        return map(self.members, self._in_parts(numbers))

    def _in_parts(self, items: Parted) -> Iterator[Parted]:
        return (items[start : start + self.batch] for start in range(0, len(items), self.batch))

    def close(self) -> None:
        self.bank.close()
        self.near.close()
        self.deciding.close()


def _joined(parts: Iterable[list[T]], n: int, progress: Progress, what: str) -> list[T]:
    """The items of all parts; progress is told after each."""
    found: list[T] = []
    for part in parts:
        found += part
        progress(what, len(found), n)
    return found


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
