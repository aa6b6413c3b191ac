"""CLEVR's scene JSON in and out: CLEVR tools can read our scenes, and we can read theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError, unknown
from trex.foundation.json_fields import Json, field, finite, listed, mapping, text, triple, whole
from trex.scenes.camera import HEIGHT_PX, WIDTH_PX, project
from trex.scenes.clevr_format.json_files import read_items, write_items
from trex.scenes.graph import DIRECTIONS, related
from trex.scenes.properties import RADIUS
from trex.scenes.scene import (
    ATTRIBUTES,
    FARTHEST,
    MAX_SCENE_OBJECTS,
    TAU,
    Nuisances,
    Scene,
    SceneObject,
    Vec3,
    noise_seed,
    nuisances_from_dict,
)
from trex.scenes.vocabulary import CLEVR, Vocabulary

# Our extra keys; CLEVR itself stores neither the offsets of camera and lights nor the renderer's seed.
NUISANCES, NOISE = "nuisances", "noise"


@dataclass(frozen=True, slots=True)
class SceneRecord:
    """A scene and the name of its picture in CLEVR's files."""

    scene: Scene
    image_filename: str
    image_index: int
    split: str


def from_clevr(data: object, vocabulary: Vocabulary = CLEVR, where: str = "the scene") -> Scene:
    """The scene of a CLEVR scene record; InputError names the wrong part.

    x and y come from 3d_coords (z follows from the size); relations follow from them. `rotation`, which CLEVR draws
    from 0 to 360, is read as radians, modulo 2 pi, as it was rendered (clevr-dataset-gen, utils.py). Nuisances and
    noise are zero if the record has none.
    """
    record = mapping(data, where)
    items = listed(field(record, "objects", where), f"{where}, objects")
    if len(items) > MAX_SCENE_OBJECTS:
        raise InputError(f"{where} has {len(items):,} objects; the limit for a scene is {MAX_SCENE_OBJECTS}")
    objects = tuple(_object(item, vocabulary, f"{where}, object {i}") for i, item in enumerate(items))
    return Scene(objects, _nuisances(record, where), _noise(record, where))


def _object(data: object, vocabulary: Vocabulary, where: str) -> SceneObject:
    record = mapping(data, where)
    shape, size, color, material = (_word(record, name, vocabulary, where) for name in ATTRIBUTES)
    coords = f"{where}, 3d_coords"
    x, y, _ = (_near(value, coords) for value in triple(field(record, "3d_coords", where), coords))
    rotation = finite(field(record, "rotation", where), f"{where}, rotation") % TAU
    return SceneObject(shape, size, color, material, x, y, rotation if rotation < TAU else 0.0)


def _near(value: object, where: str) -> float:
    """A coordinate in Blender units."""
    number = finite(value, where)
    if abs(number) > FARTHEST:
        raise InputError(f"{where} is {number}; it must lie between {-FARTHEST:g} and {FARTHEST:g}")
    return number


def _word(record: Mapping[str, object], attribute: str, vocabulary: Vocabulary, where: str) -> str:
    output = text(field(record, attribute, where), f"{where}, {attribute}")
    word = next(
        (word for word in (output, output.strip().lower()) if word in vocabulary.values(attribute)), ""
    )
    if not word:
        raise unknown(f"{where}: {attribute}", output, vocabulary.values(attribute))
    return word


def _nuisances(record: Mapping[str, object], where: str) -> Nuisances:
    if NUISANCES not in record:
        return Nuisances()
    where = f"{where}, {NUISANCES}"
    return nuisances_from_dict(
        mapping(record[NUISANCES], where), lambda name, value: _near(value, f"{where}, {name}")
    )


def _noise(record: Mapping[str, object], where: str) -> int:
    try:
        return noise_seed(record.get(NOISE, 0))
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def to_clevr(scene: Scene, image_filename: str = "", image_index: int = 0, split: str = "new") -> Json:
    """The scene as a CLEVR scene record, pixel_coords at 480x320; `from_clevr` restores it bit for bit."""
    directions = {name: list(vector) for name, vector in DIRECTIONS.items()}
    return {
        "split": split,
        "image_index": image_index,
        "image_filename": image_filename,
        "objects": _objects(scene),
        "relationships": related(scene),
        "directions": directions | {"above": [0.0, 0.0, 1.0], "below": [0.0, 0.0, -1.0]},
        NUISANCES: scene.nuisances.to_dict(),
        NOISE: scene.noise,
    }


def _objects(scene: Scene) -> list[Json]:
    centers = [center(item) for item in scene.objects]
    if not centers:
        return []
    columns, rows, depths = project(np.asarray(centers), scene.nuisances.camera, WIDTH_PX, HEIGHT_PX)
    return [
        {name: getattr(item, name) for name in ATTRIBUTES}
        | {
            "3d_coords": list(at),
            "rotation": item.rotation,
            "pixel_coords": [round(float(column)), round(float(row)), float(depth)],
        }
        for item, at, column, row, depth in zip(scene.objects, centers, columns, rows, depths, strict=True)
    ]


def center(item: SceneObject) -> Vec3:
    """The center of an object that stands on the ground: CLEVR's 3d_coords, in Blender units."""
    if item.size not in RADIUS:
        raise unknown("size", item.size, RADIUS)
    return (item.x, item.y, RADIUS[item.size])


def read_scenes(path: Path, vocabulary: Vocabulary = CLEVR) -> Iterator[SceneRecord]:
    """The scenes of a CLEVR scenes file, one at a time; InputError names the file and the scene."""
    for index, data in enumerate(read_items(path, "scenes")):
        where = f"{path.name}: scene {index}"
        record = mapping(data, where)
        yield SceneRecord(
            from_clevr(record, vocabulary, where),
            text(field(record, "image_filename", where), f"{where}, image_filename"),
            whole(record.get("image_index", index), f"{where}, image_index"),
            text(record.get("split", ""), f"{where}, split"),
        )


def write_scenes(path: Path, records: Iterable[SceneRecord], info: Mapping[str, object]) -> int:
    """Write a CLEVR scenes file atomically and return the number of scenes; `info` becomes its header."""
    items = (to_clevr(r.scene, r.image_filename, r.image_index, r.split) for r in records)
    return write_items(path, "scenes", items, info)
