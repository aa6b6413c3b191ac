"""The scenes of a suite rendered again; pictures are cached, so that each is rendered only once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.artifacts.cache import pictures_folder
from trex.datasets.render_files import everything, with_shapes
from trex.foundation.errors import InputError
from trex.foundation.files import shown
from trex.foundation.json_fields import field, listed, mapping, short, text
from trex.foundation.parse import parse_json
from trex.inference.scoring import images
from trex.query.schema import RenderSection
from trex.render.cache import CachedRenderer
from trex.render.renderer import SceneRenderer
from trex.runs.folder import check_free
from trex.scenes.clevr_format.scene_json import from_clevr
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary
from trex.suite.batch import REMEDY, Batch
from trex.suite.look import SuiteLook
from trex.worlds.world import open_renderer

SCENES = "scenes/CLEVR_found_scenes.json"
AT_ONCE = 8  # pictures in one call of the renderer: work for all its processes, and little to lose by a kill
Pictures = tuple[NDArray[np.float32], ...]  # of one scene: (H, W, 3) in [0, 1]


@dataclass(frozen=True)
class RenderedSuite:
    """The scenes of a suite by their keys, and the renderer of a look."""

    look: SuiteLook
    scenes: Mapping[str, Scene]
    renderer: SceneRenderer

    def pictures(self, keys: Sequence[str]) -> Iterator[Pictures]:
        """The pictures of each scene, in order: one, or one for each fresh noise seed. RenderError if one fails."""
        rows = [self.look.draws(self.scenes[key]) for key in keys]
        step = max(1, AT_ONCE // max(1, self.look.fresh))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            pictures = iter(self.renderer.render([scene for row in part for scene in row]))
            for row in part:
                yield tuple(images([next(pictures)])[0] for _ in row)


@contextmanager
def open_rendered(
    batches: Sequence[Batch],
    look: SuiteLook,
    device: str = "auto",
    processes: int | None = None,
) -> Iterator[RenderedSuite]:
    """The suite at a look that renders; pictures are kept in the user's cache.

    Nothing is rendered yet; no picture depends on the number of processes. InputError if a batch's scenes cannot be
    read, or if the device or a shape is not there.
    """
    assert look.preset is not None, "the stored pictures are not rendered"
    scenes = {key: scene for batch in batches for key, scene in read_scenes(batch).items()}
    section = RenderSection(preset=look.preset, device=device)
    folder = pictures_folder()
    check_free(folder)
    inner = open_renderer(section, _vocabulary(scenes.values()), processes)
    renderer = CachedRenderer(inner, folder)
    try:
        yield RenderedSuite(look, scenes, renderer)
    finally:
        renderer.close()


def read_scenes(batch: Batch) -> dict[str, Scene]:
    """The exact scene graph of each scene, by its key; InputError if one is missing, damaged or there twice."""
    where = shown(batch.folder / SCENES)
    if SCENES not in batch.content.files:
        raise InputError(f"{where} is not part of its batch, so nothing can be rendered; {REMEDY}")
    items = listed(field(mapping(parse_json(batch.read(SCENES), where), where), "scenes", where), where)
    records = _by_picture(items, where)
    for scene in batch.content.scenes:
        if scene.name not in records:
            raise InputError(f"{where} lacks the scene of {scene.name}; {REMEDY}")
    every = everything()
    return {
        batch.key(scene): from_clevr(records[scene.name], every, f"{where}: the scene of {scene.name}")
        for scene in batch.content.scenes
    }


def _by_picture(items: Sequence[object], where: str) -> dict[str, object]:
    """The records of a scenes file by the names of their pictures; InputError if two have the same."""
    records: dict[str, object] = {}
    for number, item in enumerate(items):
        at = f"{where}: scene {number}"
        name = text(field(mapping(item, at), "image_filename", at), f"{at}, image_filename")
        if name in records:
            raise InputError(f"{where}: two scenes have the picture {short(name)}; {REMEDY}")
        records[name] = item
    return records


def _vocabulary(scenes: Iterable[Scene]) -> Vocabulary:
    """CLEVR's, with the shipped shapes that occur: the key of a renderer names every shape that it loads."""
    return with_shapes(sorted({item.shape for scene in scenes for item in scene.objects}))
