"""Scenes from files or from the prior, rendered to PNG files."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from trex.datasets.clevr_files import check_plain
from trex.foundation.errors import InputError
from trex.foundation.files import read_text
from trex.foundation.json_fields import listed, mapping, short, text, whole
from trex.foundation.parse import parse_json
from trex.query.shape_cards import read_card, shipped_names
from trex.render.ahead import drawers, drawn_ahead
from trex.render.blender.blender_renderer import BlenderRenderer, default_processes
from trex.render.picture import Picture
from trex.scenes.clevr_format.json_files import read_items
from trex.scenes.clevr_format.scene_json import from_clevr
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict
from trex.scenes.vocabulary import CLEVR, Vocabulary

MAX_SCENES = 100_000  # per command
BATCH = 8
LONGEST_NAME = 240  # bytes: a file's name has at most 255, endings included


def drawn_scenes(
    n: int, seed: int, objects: tuple[int, int], processes: int | None
) -> tuple[list[str], Iterator[Scene]]:
    """The names of scenes of the prior, and these, drawn as they are taken, many by so many processes.

    InputError if so many cannot be drawn.
    """
    if n < 1:
        raise InputError("nothing to render; give a scenes file, or --prior N for N scenes of the prior")
    if n > MAX_SCENES or not 0 <= seed < 1 << 63:
        raise InputError(
            f"--prior {n} with --seed {seed} is not possible; give at most "
            f"{MAX_SCENES:,} scenes and a seed from 0 to 2^63 - 1"
        )
    prior = ScenePrior(n_objects=objects)
    most = default_processes() if processes is None else processes
    drawn = drawn_ahead(partial(_drawn, prior, seed), range(n), drawers(prior, n, most))
    return [f"scene_{index:06d}" for index in range(n)], (scene for _, scene in drawn)


def _drawn(prior: ScenePrior, seed: int, index: int) -> Scene:
    return prior.sample(np.random.default_rng([seed, index]))


def everything(introduced: Sequence[str] = ()) -> Vocabulary:
    """CLEVR's vocabulary with the shapes of these cards, and with every shipped shape of another name.

    A card is a path from the current folder, or the name of a shipped shape. InputError if one cannot be read, or if
    CLEVR or a card before it has its name or one of its words.
    """
    vocabulary = CLEVR
    for name in introduced:
        vocabulary = vocabulary.introduce(read_card(name, Path()))
    return vocabulary.with_cards(read_card(name, Path()) for name in shipped_names())


def with_shapes(names: Iterable[str]) -> Vocabulary:
    """CLEVR's vocabulary with these shipped shapes, in this order; InputError for one that does not ship."""
    vocabulary = CLEVR
    for name in names:
        if name not in vocabulary.shapes:
            vocabulary = vocabulary.introduce(read_card(name, Path()))
    return vocabulary


def read_any(path: Path, vocabulary: Vocabulary) -> tuple[list[str], list[Scene]]:
    """Names and scenes of a CLEVR scenes file, of one CLEVR scene, or of one scene in our lossless form.

    InputError unless each name can be that of a file, and each scene's files can have a name of their own.
    """
    named = _read(path, vocabulary)
    names = [name for name, _ in named]
    _check_names(names, path)
    return names, [scene for _, scene in named]


def _read(path: Path, vocabulary: Vocabulary) -> list[tuple[str, Scene]]:
    try:
        items = list(enumerate(read_items(path, "scenes")))
    except InputError as error:
        raise InputError(f"scenes file: {error}; give a scenes file of CLEVR's, or one scene") from error
    return [_named(item, vocabulary, path, None if len(items) == 1 else index) for index, item in items]


def _named(data: object, vocabulary: Vocabulary, path: Path, index: int | None) -> tuple[str, Scene]:
    """A scene with its name: its picture's; else that of a file of one scene (`index` None), or its number."""
    where = path.name if index is None else f"{path.name}: scene {index}"
    record = mapping(data, where)
    name = Path(text(record.get("image_filename", ""), f"{where}, image_filename")).stem
    number = whole(record.get("image_index", index or 0), f"{where}, image_index")
    objects = listed(record.get("objects"), f"{where}, objects")
    is_clevr = any("3d_coords" in item for item in objects if isinstance(item, dict))
    scene = from_clevr(record, vocabulary, where) if is_clevr else scene_from_dict(record)
    return name or (path.stem if index is None else f"scene_{number:06d}"), scene


def _check_names(names: Sequence[str], path: Path) -> None:
    for name in names:
        check_plain(name, f"{path.name}, the name of a scene")
        if not name.isprintable() or len(name.encode()) > LONGEST_NAME:
            raise InputError(
                f"{path.name}: a scene's name is {short(name)}; use a printable one of at most {LONGEST_NAME} bytes"
            )
    files = Counter(file for name in names for file in (f"{name}.png", f"{name}.mask.png"))
    twice = next((file for file, number in files.items() if number > 1), None)
    if twice is not None:
        raise InputError(
            f"{path.name}: two scenes would be written to {twice}; give each another image_filename"
        )


def blend_files(
    names: Sequence[str], scenes: Iterable[Scene], out: Path, preset: str, device: str, vocabulary: Vocabulary
) -> Iterator[Path]:
    """Write NAME.blend and NAME.json for each scene, with the preset's settings; yield the path of each .blend file."""
    renderer = BlenderRenderer(preset, device, vocabulary, processes=1)
    _make_folder(out, names)
    with renderer:
        for name, scene in zip(names, scenes, strict=True):
            data = renderer.blend_file(scene)
            with _writing(out):
                _write_scene(out, name, scene)
                (out / f"{name}.blend").write_bytes(data)
            yield out / f"{name}.blend"


def render_files(
    names: Sequence[str],
    scenes: Iterable[Scene],
    out: Path,
    preset: str,
    device: str,
    processes: int | None,
    vocabulary: Vocabulary,
) -> Iterator[Path]:
    """Write NAME.png, NAME.mask.png and NAME.json for each scene; yield the path of each picture."""
    count = default_processes() if processes is None else processes
    renderer = BlenderRenderer(preset, device, vocabulary, count)
    _make_folder(out, names)
    there = iter(scenes)
    with renderer:
        for first in range(0, len(names), BATCH):
            part = list(islice(there, BATCH))
            pictures = renderer.render(part)
            for name, scene, picture in zip(names[first : first + BATCH], part, pictures, strict=True):
                yield _write(out, name, scene, picture)


def _write(out: Path, name: str, scene: Scene, picture: Picture) -> Path:
    with _writing(out):
        _write_scene(out, name, scene)
        Image.fromarray(picture.mask).save(out / f"{name}.mask.png")
        Image.fromarray(picture.pixels).save(out / f"{name}.png")
    return out / f"{name}.png"


def _write_scene(out: Path, name: str, scene: Scene) -> None:
    (out / f"{name}.json").write_text(json.dumps(scene_to_dict(scene)) + "\n", encoding="utf-8")


def _make_folder(out: Path, names: Sequence[str]) -> None:
    """Make the folder before the first render; InputError if nothing, or only over files of others, can be written."""
    with _writing(out):
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    for name in names:
        places = [out / f"{name}{ending}" for ending in (".json", ".png", ".mask.png", ".blend")]
        there = next((place for place in places if place.exists()), None)
        if there is not None and not _is_scene(places[0]):
            raise InputError(f"{there} was not written by this command; give another folder with --out")


def _is_scene(path: Path) -> bool:
    """Whether a file is one of `_write_scene`, which lies beside each picture."""
    try:
        scene_from_dict(parse_json(read_text(path), str(path)))
    except InputError:
        return False
    return True


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    """InputError if what is inside cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write to {out}: {error.strerror or error}; give another place with --out"
        ) from error
