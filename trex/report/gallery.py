"""The gallery of a report: which hits it shows, in which order, under which filters, and what it says of each."""

from __future__ import annotations

import os
from collections.abc import Sequence

from trex.families.family import Family
from trex.families.lineage import NO_FAMILY, Families
from trex.foundation.words import counted, percent
from trex.pages.table import Table, table_of
from trex.pages.thumbnails import SMALL_PX, jpeg_url
from trex.render.png_url import url_of_png
from trex.runs.folder import RunFolder
from trex.runs.picture_files import StoredPicture, read_stored
from trex.runs.record import CONTROL, CONTROLS, PRIOR, RANDOM, Record
from trex.scenes.scene import NUISANCES, object_words
from trex.search.hit import Hit
from trex.worlds.description import Noun
from trex.worlds.latents import VECTORS, form_of

PER_PAGE = 24  # hits on screen at once
MOST = 240  # hits on the page; findings.json holds all
ALONE = "alone"  # the filter's value for all hits that are no family's
Cells = Table[tuple[str, ...]]


def first_places(families: Families, most: int) -> list[int]:
    """The places of the hits that a gallery shows, in its order: one of each family, then the others."""
    heads = [family.representative for family in families.known]
    known = set(heads)
    others = [place for place in range(len(families.numbers)) if place not in known]
    return [*heads, *others][:most]


def family_counts(family: Family, n: int, noun: Noun) -> str:
    """The size of a family among n hits: "4 scenes, 40.0% of all 10 found"."""
    return f"{counted(family.size, noun.one, noun.many)}, {percent(family.size / n)} of all {n} found"


def family_rate(family: Family, noun: Noun, checks_noise: bool) -> str:
    """How often prior scenes are members: "this family: 1.2% (95% CI 0.4–3.1%) of random scenes"."""
    if family.rate is None:
        return f"no {noun.one} of the random sample is in it"
    stays = ", new render noise included" if checks_noise else ""
    return f"this family: {family.how_often} of {family.sampled}{stays}"


def family_choices(families: Families, noun: Noun) -> list[tuple[str, str]]:
    """The families to filter by, as (value, words); none if there is nothing to choose."""
    alone = sum(number == NO_FAMILY for number in families.numbers)
    found = [
        (str(family.number), f"{family.number}: {family.words} ({family.size})") for family in families.known
    ]
    return [*found, (ALONE, f"{noun.many} in no family ({alone})")] if alone and found else found


def family_key(number: int) -> str:
    """The filter's value of a hit of the family with this number."""
    return ALONE if number == NO_FAMILY else str(number)


def kinds(found: Hit, is_explained: bool) -> tuple[str, ...]:
    """The kinds that a gallery can be restricted to and this hit is of."""
    judged = () if found.is_wrong is None else ("wrong" if found.is_wrong else "right",)
    phase = found.record.phase
    phase = CONTROL if phase in CONTROLS else PRIOR if phase in RANDOM else phase
    return (*judged, phase, *(("explained",) if is_explained else ()))


def search_order(found: Hit) -> tuple[bool, int, int]:
    """Sort key in the order of the search: the prior batch first, then the chains side by side."""
    return (found.record.phase not in RANDOM, found.record.index, found.record.chain)


def picture_url(folder: RunFolder, found: Hit) -> str:
    """The picture of a hit as a data URL, "" if it is not stored; RunError if its content has changed."""
    kept = _kept(folder, found)
    return "" if kept is None else url_of_png(kept.png)


def light_url(folder: RunFolder, found: Hit) -> str:
    """The picture as a JPEG, a third of the bytes; tiny pictures stay PNG."""
    if folder.manifest.facts.size[0] < SMALL_PX:
        return picture_url(folder, found)
    kept = _kept(folder, found)
    return "" if kept is None else jpeg_url(kept.pixels)


def _kept(folder: RunFolder, found: Hit) -> StoredPicture | None:
    name = found.record.picture
    if not name or not os.path.lexists(folder.picture_path(name)):
        return None
    return read_stored(folder.path, name)


def parts(record: Record) -> tuple[str, ...]:
    """The objects of a record's scene in words, for the report's text search; empty for a vector."""
    return tuple(object_words(record.z, index) for index in range(len(form_of(record.z).objects(record.z))))


def tables(record: Record) -> Sequence[Cells]:
    """Each object's position and visible pixels, and the nuisances; or every coordinate of the vector."""
    if form_of(record.z) is VECTORS:
        rows = [(f"z{k}", f"{value:.3f}") for k, value in enumerate(record.z.tolist(), start=1)]
        return (table_of("Latent", ("coordinate", "value"), rows),)
    objects = record.scene.objects
    places = [
        (name, f"{o.x:.2f}", f"{o.y:.2f}", str(seen))
        for name, o, seen in zip(parts(record), objects, record.visible, strict=True)
    ]
    return table_of(f"{len(objects)} objects", ("object", "x", "y", "pixels"), places), nuisances(record)


def nuisances(record: Record) -> Cells:
    """What does not belong to a scene's objects: the offsets of the nuisances, in their units, and the noise seed."""
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
