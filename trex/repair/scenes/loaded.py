"""What the steps of a repair on scenes work with: model, prior, bank, and renderers with a picture cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import torch

from trex.artifacts.card import card_path
from trex.bank.bank import Bank, bank_of
from trex.clevr_models.percept.model import SHIPPED, Percept, load_percept
from trex.foundation.errors import InputError, RunError
from trex.query.schema import RenderSection
from trex.query.toml_file import render_section
from trex.render.cache import CachedRenderer
from trex.render.picture import Picture
from trex.render.renderer import SceneRenderer
from trex.repair.folder import QUERY, StepFolder, open_folder, table_of
from trex.repair.loaded import Progress
from trex.repair.records import Sources, file_sha256
from trex.repair.scenes.reading import PerceptReader, Reader, Seen
from trex.repair.scenes.settings import SceneRepairQuery, scene_query
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.worlds.world import open_renderer, picture_size

PICTURES = "cache"  # below the folder; no name of a step, whose folder is deleted when it begins anew
BATCH = 32  # pictures between two updates of the progress
NETWORK = ".safetensors"


class SceneFolder(StepFolder[SceneRepairQuery]):
    """A repair on rendered scenes."""


@dataclass(frozen=True, eq=False)
class SceneLoaded:
    """The model with its reader, scenes' prior, the bank at the look, and renderers; close it at the end."""

    prior: ScenePrior
    weights: Path
    percept: Percept
    reader: Reader
    bank: Bank
    near: CachedRenderer
    deciding: CachedRenderer

    def members(self, numbers: range) -> list[Scene]:
        """Prior scenes by number."""
        return self.bank.scenes(numbers)

    def of_bank(self, numbers: range, progress: Progress, what: str) -> list[Picture]:
        """Their pictures at the look; those that are missing are rendered."""
        return _rendered(self.bank.renderer, self.members(numbers), progress, what)

    def pictures(self, scenes: Sequence[Scene], progress: Progress, what: str) -> list[Picture]:
        """Pictures of other scenes at the look."""
        return _rendered(self.near, scenes, progress, what)

    def decided(self, scenes: Sequence[Scene], progress: Progress, what: str) -> list[Picture]:
        """Pictures at the deciding look."""
        return _rendered(self.deciding, scenes, progress, what)

    def seen(self, scenes: Sequence[Scene], progress: Progress, what: str) -> list[Seen]:
        """What becomes of the objects in pictures at the look, batch by batch, so that few pictures are held."""
        found: list[Seen] = []
        for start in range(0, len(scenes), BATCH):
            part = scenes[start : start + BATCH]
            found += self.reader.read(part, self.near.render(part))
            progress(what, len(found), len(scenes))
        return found

    def seen_of_bank(self, numbers: range, progress: Progress, what: str) -> list[Seen]:
        """The same of prior scenes."""
        found: list[Seen] = []
        for start in range(numbers.start, numbers.stop, BATCH):
            part = self.members(range(start, min(start + BATCH, numbers.stop)))
            found += self.reader.read(part, self.bank.renderer.render(part))
            progress(what, len(found), len(numbers))
        return found

    def close(self) -> None:
        """Close bank and renderers."""
        self.bank.close()
        self.near.close()
        self.deciding.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def scene_sources(query: SceneRepairQuery) -> Sources:
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
    query: SceneRepairQuery, place: Path, processes: int | None = None, bank_folder: Path | None = None
) -> SceneLoaded:
    """Load the model and open the renderers of a repair in this folder; pictures are kept below it."""
    torch.set_num_threads(1)  # sums come out alike on every machine
    weights, prior = model_path(query.model.name), ScenePrior()
    percept = load_percept(weights).percept
    looks = (query.generator.look, query.generator.deciding)
    sections = [render_section(look, processes) for look in looks]
    bank = bank_of(prior, sections[0], bank_folder)
    near, deciding = (
        CachedRenderer(open_renderer(one, prior.vocabulary, processes), place / PICTURES) for one in sections
    )
    return SceneLoaded(prior, weights, percept, PerceptReader(percept), bank, near, deciding)


def open_scene_folder(path: Path) -> SceneFolder:
    """The repair in a folder, with the settings that its repair.toml has now."""
    query = scene_query(table_of(path), str(path / QUERY))
    return SceneFolder(path, query, *open_folder(path))


def model_path(name: str) -> Path:
    """The weights of a model that can be tuned here; InputError for any other model."""
    if name == "shipped":
        return SHIPPED
    path = Path(name)
    if path.suffix != NETWORK:
        raise InputError(
            f"model {name!r} cannot be tuned here; a repair on scenes takes 'shipped' or the path of weights that "
            "trex models train clevr wrote (.safetensors)"
        )
    for one in (path, card_path(path)):
        if not one.is_file():
            raise InputError(f"{one} does not exist; give the path of weights with their card beside them")
    return path


def check_scene_sources(query: SceneRepairQuery, known: Sources, where: Path) -> None:
    """RunError if a repair was begun with another model or other looks."""
    now = scene_sources(query)
    if now != known:
        raise RunError(
            f"{where} was begun with {known.model} at {known.generator}, now {now.model} at {now.generator}; "
            "give those again, or begin anew"
        )


def _rendered(
    renderer: SceneRenderer, scenes: Sequence[Scene], progress: Progress, what: str
) -> list[Picture]:
    found: list[Picture] = []
    for start in range(0, len(scenes), BATCH):
        found += renderer.render(scenes[start : start + BATCH])
        progress(what, len(found), len(scenes))
    return found
