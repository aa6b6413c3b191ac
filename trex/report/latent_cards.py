"""The parts of a latent, for its card in the report."""

from __future__ import annotations

from dataclasses import dataclass

from trex.runs.record import Record
from trex.scenes.describe import object_words
from trex.scenes.scene import Scene
from trex.worlds.latents import vector_of

NUISANCES = {"camera": "camera", "key": "key light", "fill": "fill light", "back": "back light"}


@dataclass(frozen=True)
class Table:
    """A latent's parts: rows of a name and numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def parts(record: Record) -> tuple[str, ...]:
    """The objects of a record's scene in words, for the report's text search; empty for a vector."""
    if not isinstance(record.z, Scene):
        return ()
    scene = record.z
    return tuple(object_words(scene, index) for index in range(len(scene.objects)))


def table(record: Record) -> Table:
    """Each object's position and visible pixels, or every coordinate of the vector."""
    if not isinstance(record.z, Scene):
        values = enumerate(vector_of(record.z).tolist(), start=1)
        return Table(
            "Latent", ("coordinate", "value"), tuple((f"z{k}", f"{value:.3f}") for k, value in values)
        )
    objects = record.z.objects
    rows = [
        (f"{o.size} {o.color} {o.material} {o.shape}", f"{o.x:.2f}", f"{o.y:.2f}", str(seen))
        for o, seen in zip(objects, record.visible, strict=True)
    ]
    return Table(f"{len(objects)} objects", ("object", "x", "y", "pixels"), tuple(rows))


def nuisances(record: Record) -> Table | None:
    """What does not belong to the objects: offsets of camera and lights in Blender units, and the noise seed.

    None for a vector.
    """
    if not isinstance(record.z, Scene):
        return None
    scene = record.z
    rows = [
        (name, *(f"{value:+.2f}" for value in getattr(scene.nuisances, field)))
        for field, name in NUISANCES.items()
    ]
    seed = ("noise seed", str(scene.noise), "", "")
    return Table("Camera, lights and noise", ("offset", "x", "y", "z"), (*rows, seed))
