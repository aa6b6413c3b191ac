"""The cards of a report: each hit with its picture, its answers and its origin."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trex.explain.view import ExplanationView
from trex.families.relatives import Families
from trex.pages.thumbnails import SMALL_PX, jpeg_url
from trex.render.png_url import url_of_png
from trex.report.family_cards import FamilyCard, family_card, family_key, first_places
from trex.report.latent_cards import Cells, nuisances, parts, table
from trex.runs.folder import RunFolder
from trex.runs.picture_files import StoredPicture, read_stored
from trex.runs.record import CONTROL, CONTROLS
from trex.search.hit import Hit
from trex.trials.confirmation import EnlargedLook
from trex.trials.hits import read_misses
from trex.worlds.description import Noun

PER_PAGE = 24  # cards on screen at once
MAX_CARDS = 240  # on the page; findings.json holds all hits


@dataclass(frozen=True)
class Card:
    """One hit of the gallery."""

    number: int
    scene: Hit
    image: str  # data URI, "" if the picture is not stored
    parts: tuple[str, ...]
    table: Cells
    step: int  # rank in the order of the search
    truth_rank: int  # rank of the true answer among all true answers
    kinds: tuple[str, ...]
    rank: int = 0  # in the order of families: one hit of each, then the others
    nuisances: Cells | None = None
    family_number: int | None = None
    family_key: str = ""
    family: FamilyCard | None = None  # of the hit that stands for its family
    explained: ExplanationView | None = None
    large: EnlargedLook | None = None  # the same scene at a larger preset


def make_cards(
    folder: RunFolder,
    found: Sequence[Hit],
    made: Mapping[str, ExplanationView],
    looks: Mapping[str, EnlargedLook],
    families: Families | None = None,
) -> list[Card]:
    """The cards of the first MAX_CARDS hits; with families, those that stand for one come first.

    Pictures after the first page are JPEG, which bounds the size.
    """
    places = first_places(families, MAX_CARDS) if families else range(min(len(found), MAX_CARDS))
    shown = [found[place] for place in places]
    kind = folder.manifest.world
    truths = sorted({one.truth or "" for one in shown}, key=lambda truth: (truth.zfill(2), truth))
    steps = {id(one): step for step, one in enumerate(sorted(shown, key=_step))}
    cards = [
        Card(
            number=place + 1,
            scene=one,
            image=picture_url(folder, one) if rank < PER_PAGE else light_url(folder, one),
            parts=parts(one.record),
            table=table(one.record),
            step=steps[id(one)],
            truth_rank=truths.index(one.truth or ""),
            kinds=_kinds(one, one.record.picture in made),
            rank=rank,
            nuisances=nuisances(one.record),
            explained=made.get(one.record.picture),
            large=looks.get(one.record.picture),
        )
        for rank, (place, one) in enumerate(zip(places, shown, strict=True))
    ]
    return cards if families is None else [_with_family(card, families, kind.noun) for card in cards]


def _with_family(card: Card, families: Families, noun: Noun) -> Card:
    place = card.number - 1
    family = families.known[families.numbers[place] - 1]
    stands = family.representative == place
    return replace(
        card,
        family_number=family.number,
        family_key=family_key(families, place),
        family=family_card(family, families, noun) if stands else None,
    )


def make_misses(folder: RunFolder, nearest: Sequence[Hit]) -> list[Card]:
    """The nearest misses as cards, with the pictures that were stored at the end of the search."""
    known = read_misses(folder)
    named = [
        replace(one, record=replace(one.record, picture=one.record.picture or known.get(one.record.key, "")))
        for one in nearest
    ]
    return make_cards(folder, named, {}, {})


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


def _step(found: Hit) -> tuple[bool, int, int]:
    """Sort key in the order of the search: the prior batch first, then the chains side by side."""
    return (found.record.phase != "prior", found.record.index, found.record.chain)


def _kinds(found: Hit, is_explained: bool) -> tuple[str, ...]:
    judged = () if found.is_wrong is None else ("wrong" if found.is_wrong else "right",)
    phase = CONTROL if found.record.phase in CONTROLS else found.record.phase
    return (*judged, phase, *(("explained",) if is_explained else ()))
