"""A scene as a frozen value: objects and nuisances, its lossless JSON form, and its objects in words."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from trex.foundation.errors import InputError, unknown
from trex.foundation.json_fields import listed, mapping, text
from trex.scenes.properties import WORDS

Vec3 = tuple[float, float, float]
Json = dict[str, object]
ATTRIBUTES = ("shape", "size", "color", "material")
TAU = 2.0 * math.pi
ZERO: Vec3 = (0.0, 0.0, 0.0)
MAX_SCENE_OBJECTS = 100  # in a foreign scene; CLEVR's have 3 to 10
FARTHEST = 1e4  # bound on any number in a foreign scene; CLEVR's ground reaches from -3 to 3
NOISE_SEEDS = 1 << 31  # Cycles takes seeds from 0 to 2^31 - 1


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object standing on the ground: x, y in Blender units, rotation about z in radians, in [0, 2 pi)."""

    shape: str
    size: str
    color: str
    material: str
    x: float
    y: float
    rotation: float

    @property
    def category(self) -> tuple[str, str, str, str]:
        """The discrete part: (shape, size, color, material)."""
        return (self.shape, self.size, self.color, self.material)


def with_attribute(item: SceneObject, attribute: str, value: str) -> SceneObject:
    """The object with shape, size, color or material set to `value`, without any check."""
    pairs = dict(zip(ATTRIBUTES, item.category, strict=True)) | {attribute: value}
    return SceneObject(
        pairs["shape"], pairs["size"], pairs["color"], pairs["material"], item.x, item.y, item.rotation
    )


class Nuisance(NamedTuple):
    """What is redrawn for each picture besides its objects: offsets, uniform within `reach` along each coordinate.

    `path` is the value of Blender's scene that they are added to. Nuisances of one `group` are redrawn together where
    an audit looks at what a failure depends on. A stored scene without the nuisance has 0.
    """

    name: str
    n: int  # coordinates
    words: str
    reach: float
    path: str
    group: str
    unit: str


def nuisance(
    words: str, reach: float, path: str, group: str, unit: str = "Blender units"
) -> dict[str, object]:
    """The declaration of a nuisance, for a field of `Nuisances`; see `Nuisance`."""
    return {"nuisance": (words, reach, path, group, unit)}


@dataclass(frozen=True, slots=True)
class Nuisances:
    """The nuisances of one scene, in the order in which they are drawn; the ranges are clevr-dataset-gen's."""

    camera: Vec3 = field(
        default=ZERO, metadata=nuisance("camera", 0.5, 'objects["Camera"].location', "camera")
    )
    key: Vec3 = field(default=ZERO, metadata=nuisance("key light", 1.0, 'objects["Key"].location', "lights"))
    fill: Vec3 = field(
        default=ZERO, metadata=nuisance("fill light", 1.0, 'objects["Fill"].location', "lights")
    )
    back: Vec3 = field(
        default=ZERO, metadata=nuisance("back light", 1.0, 'objects["Back"].location', "lights")
    )

    @property
    def coordinates(self) -> list[float]:
        """Every coordinate, in order."""
        return [value for part in NUISANCES for value in getattr(self, part.name)]

    def mapped(self, change: Callable[[float, float], float]) -> Nuisances:
        """The same with `change(coordinate, reach)` in place of each coordinate, in order."""
        changed: dict[str, Any] = {
            part.name: tuple(change(value, part.reach) for value in getattr(self, part.name))
            for part in NUISANCES
        }
        return Nuisances(**changed)

    def redrawn(self, new: Nuisances, group: str) -> Nuisances:
        """The same with the nuisances of one group from `new`."""
        return replace(self, **{p.name: getattr(new, p.name) for p in NUISANCES if p.group == group})

    def to_dict(self) -> Json:
        """Each nuisance as a list, by name."""
        return {part.name: list(getattr(self, part.name)) for part in NUISANCES}


NUISANCES = tuple(
    Nuisance(f.name, len(getattr(Nuisances(), f.name)), *f.metadata["nuisance"]) for f in fields(Nuisances)
)


def nuisances_from_dict(stored: Mapping[str, object], read: Callable[[str, object], float]) -> Nuisances:
    """The nuisances of a stored scene, 0 where it has none; `read` takes the name and the value of a coordinate.

    InputError for an unknown nuisance, or another number of coordinates.
    """
    parts = {part.name: part for part in NUISANCES}
    found: dict[str, Any] = {}
    for name, value in stored.items():
        if name not in parts:
            raise unknown("nuisance", name, list(parts))
        values = listed(value, name)
        if len(values) != parts[name].n:
            raise InputError(f"nuisance {name} has {len(values)} numbers; it must have {parts[name].n}")
        found[name] = tuple(read(f"{name}[{axis}]", v) for axis, v in zip("xyz", values, strict=False))
    return Nuisances(**found)


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that determines a picture, except the renderer's settings.

    `noise` is the seed of the renderer's random numbers, 0 to 2^31 - 1; scenes from elsewhere have 0.
    """

    objects: tuple[SceneObject, ...]
    nuisances: Nuisances
    noise: int = 0


def scene_to_dict(scene: Scene) -> Json:
    """A JSON object from which `scene_from_dict` restores the same scene, bit for bit."""
    objects = [{f.name: getattr(o, f.name) for f in fields(SceneObject)} for o in scene.objects]
    noise: Json = {"noise": scene.noise} if scene.noise else {}
    return {"objects": objects, "nuisances": scene.nuisances.to_dict(), **noise}


def scene_from_dict(data: object) -> Scene:
    """The scene written by `scene_to_dict`; InputError for any other form.

    Sizes, colors and materials are CLEVR's; a shape may be any word, as cards introduce more.
    """
    try:
        record = mapping(data, "it")
        objects = tuple(_object(o) for o in counted(listed(record["objects"], "objects")))
        stored = mapping(record["nuisances"], "nuisances")
        nuisances = nuisances_from_dict(stored, lambda _, value: _finite(value))
        noise = noise_seed(record.get("noise", 0))
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"not a scene: {type(error).__name__} {error}; expected objects and nuisances"
        ) from error
    return Scene(objects, nuisances, noise)


def noise_seed(value: object) -> int:
    """The seed in a foreign scene; ValueError if it is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < NOISE_SEEDS:
        raise ValueError(f"noise {value!r:.40} is not a whole number from 0 to {NOISE_SEEDS - 1}")
    return value


def counted(objects: list[object]) -> list[object]:
    """The objects of a foreign scene; ValueError if there are more than `MAX_SCENE_OBJECTS`."""
    if len(objects) > MAX_SCENE_OBJECTS:
        raise ValueError(
            f"{len(objects):,} objects are too many; the limit for a scene is {MAX_SCENE_OBJECTS}"
        )
    return objects


def _object(data: object) -> SceneObject:
    record = mapping(data, "an object")
    shape, size, color, material = (text(record[name], name) for name in ATTRIBUTES)
    for name, value in (("size", size), ("color", color), ("material", material)):
        if value not in WORDS[name]:
            raise unknown(name, value, WORDS[name])
    x, y, rotation = (_finite(record[name]) for name in ("x", "y", "rotation"))
    return SceneObject(shape, size, color, material, x, y, rotation)


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= FARTHEST:
        raise ValueError(f"{value!r} is not a number from {-FARTHEST:g} to {FARTHEST:g}")
    return float(value)


def scene_id(scene: Scene) -> str:
    """sha256 (hex) of the scene's canonical JSON: equal if and only if the scenes are equal."""
    text = json.dumps(scene_to_dict(scene), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def object_words(scene: Scene, index: int, beside: Sequence[int] = ()) -> str:
    """An object in words: "small red metal cylinder"; "other small ..." if one of those named before has the same."""
    item = scene.objects[index]
    is_alike = any(scene.objects[other].category == item.category for other in beside)
    return f"{'other ' if is_alike else ''}{item.size} {item.color} {item.material} {item.shape}"


def scene_words(scene: Scene) -> str:
    """The objects of a scene in words, for readers who do not see it."""
    items = ", ".join(object_words(scene, index) for index in range(len(scene.objects)))
    return f"Rendered scene with {len(scene.objects)} objects: {items}"
