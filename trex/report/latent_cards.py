"""The parts of a latent, for its card in the report."""

from __future__ import annotations

from trex.pages.table import Table, table_of
from trex.runs.record import Record
from trex.scenes.describe import object_words
from trex.scenes.scene import NUISANCES
from trex.worlds.latents import VECTORS, form_of

Cells = Table[tuple[str, ...]]


def parts(record: Record) -> tuple[str, ...]:
    """The objects of a record's scene in words, for the report's text search; empty for a vector."""
    return tuple(object_words(record.z, index) for index in range(len(form_of(record.z).objects(record.z))))


def table(record: Record) -> Cells:
    """Each object's position and visible pixels, or every coordinate of the vector."""
    if form_of(record.z) is VECTORS:
        values = enumerate(record.z.tolist(), start=1)
        return table_of("Latent", ("coordinate", "value"), [(f"z{k}", f"{value:.3f}") for k, value in values])
    objects = record.scene.objects
    rows = [
        (name, f"{o.x:.2f}", f"{o.y:.2f}", str(seen))
        for name, o, seen in zip(parts(record), objects, record.visible, strict=True)
    ]
    return table_of(f"{len(objects)} objects", ("object", "x", "y", "pixels"), rows)


def nuisances(record: Record) -> Cells | None:
    """What does not belong to the objects: the offsets of the nuisances, in their units, and the noise seed.

    None for a vector.
    """
    if form_of(record.z) is VECTORS:
        return None
    scene = record.scene
    rows: list[tuple[str, ...]] = [
        (
            part.words if part.unit == "Blender units" else f"{part.words} ({part.unit})",
            *(f"{value:+.2f}" for value in getattr(scene.nuisances, part.name)),
            *[""] * (3 - part.n),
        )
        for part in NUISANCES
    ]
    seed = ("noise seed", str(scene.noise), "", "")
    return table_of("Camera, lights and noise", ("offset", "x", "y", "z"), [*rows, seed])
