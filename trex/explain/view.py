"""An explanation as a report shows it: a row of pictures, tables of all changes, and the maps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from trex.explain.compared import Compared
from trex.explain.explanation import Effect, Explanation, Score
from trex.explain.saliency_masks import Map, read_map
from trex.explain.words import METHOD_NAMES, effect_table, map_words, sentences
from trex.foundation.words import percent
from trex.inference.types import Floats
from trex.pages.table import Table
from trex.pages.thumbnails import jpeg_url
from trex.pages.wording import points
from trex.render.picture import Bytes
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture
from trex.scenes.scene import object_words
from trex.trials.confirmation import EnlargedLook

RED = np.array([215, 38, 30], dtype=np.float64)
YELLOW = np.array([250, 200, 20], dtype=np.float64)


@dataclass(frozen=True)
class Shot:
    """One picture of an explanation; `words` is its alternative text."""

    image: str  # data URI
    title: str
    caption: str
    words: str
    mark: str = ""  # "responsible", or "misread": of an object without which the model is right
    large: str = ""  # data URI of the same scene at another look, "" if there is none
    note: str = ""  # the model's answer there


@dataclass(frozen=True)
class ExplanationView:
    """Everything that the page shows of one explanation."""

    sentences: tuple[str, ...]
    shots: tuple[Shot, ...]
    maps: tuple[Shot, ...]
    tables: tuple[Table[Effect], ...]
    is_exact: bool
    effect: float  # the strongest effect of an object responsible, 0 if there is none
    by: Compared


def make_explanation_view(
    folder: RunFolder,
    explanation: Explanation,
    look: EnlargedLook | None = None,
    misread: Collection[int] = (),
) -> ExplanationView:
    """The view of an explained scene, of which the model is known to have `misread` these objects.

    RunError if one of its pictures is missing or damaged.
    """
    edits = sorted(explanation.edits or (), key=lambda effect: effect.change)
    tables = (
        effect_table(explanation, explanation.removals, "Each object left out"),
        effect_table(explanation, edits, "Each attribute changed"),
    )
    return ExplanationView(
        sentences=sentences(explanation, misread),
        shots=(_original(folder, explanation, look, misread), *_removal_shots(folder, explanation, misread)),
        maps=tuple(_map_shots(folder, explanation)),
        tables=tuple(table for table in tables if table.rows),
        is_exact=explanation.control.is_exact,
        effect=min((explanation.removals[i].change for i in explanation.blame.parts), default=0.0),
        by=explanation.compared,
    )


def _original(
    folder: RunFolder, explanation: Explanation, look: EnlargedLook | None, misread: Collection[int]
) -> Shot:
    """The found scene: misread objects in red, as on the first screen, and others that are responsible in yellow.

    If it is not known what is misread, those responsible are in red.
    """
    score, parts = explanation.control.score, explanation.blame.parts
    others = [index for index in parts if index not in misread] if misread else []
    red = sorted(misread) or parts
    words = [f"red: {'misread' if misread else 'responsible'}"] if red else []
    words += ["yellow: responsible"] if others else []

    def image(pixels: Bytes, mask: Bytes) -> str:
        return jpeg_url(outlined(outlined(pixels, mask, others, YELLOW), mask, red))

    return Shot(
        image(*read_picture(folder, score.picture)),
        " · ".join(["nothing left out", *words]),
        _sure(folder, score),
        f"The found scene; confidence {percent(score.confidence)}; outlines {', '.join(words) or 'none'}",
        large="" if look is None else image(*look.read(folder)),
        note="" if look is None else look.words,
    )


def _removal_shots(folder: RunFolder, explanation: Explanation, misread: Collection[int]) -> list[Shot]:
    shots = []
    for index, effect in enumerate(explanation.removals):
        name, score = object_words(explanation.scene, index), effect.score
        shots.append(
            Shot(
                jpeg_url(read_picture(folder, score.picture)[0]),
                f"without {name}",
                f"{_sure(folder, score)} ({points(effect.change)})",
                f"Without the {name}: answer {score.answer}, confidence {percent(score.confidence)}",
                _mark(index, explanation, misread),
            )
        )
    return shots


def _mark(index: int, explanation: Explanation, misread: Collection[int]) -> str:
    if index not in explanation.blame.parts:
        return ""
    return "misread" if index in misread else "responsible"


def _sure(folder: RunFolder, score: Score) -> str:
    """What the model says to a picture, and how sure it is of the answer that was asked for.

    The "target" is named only if it is no single answer.
    """
    query = folder.manifest.query
    sure = query.target.declared.is_sure and len(query.answer) == 1
    said = (
        f"{percent(score.confidence)} for {query.answer[0]}"
        if sure
        else f"target {percent(score.confidence)}"
    )
    return f"says {score.answer} · {said}"


def _map_shots(folder: RunFolder, explanation: Explanation) -> list[Shot]:
    pixels = read_picture(folder, explanation.control.score.picture)[0]
    shots = []
    for found in explanation.saliency.maps if explanation.saliency else ():
        saliency = read_map(folder, explanation.picture, found.method)
        title, words = METHOD_NAMES[found.method], map_words(explanation, found)
        shots.append(Shot(jpeg_url(overlay(pixels, saliency)), title, words, f"{title}: {words}"))
    return shots


def outlined(pixels: Bytes, mask: Bytes, objects: Sequence[int], color: Floats = RED) -> Bytes:
    """The picture (H, W, 3) with a line two pixels wide around each of these objects; `mask` is (H, W)."""
    drawn = pixels.copy()
    for index in objects:
        inside = mask == index + 1
        grown = inside
        for _ in range(2):
            near = np.pad(grown, 1)
            grown = near[1:-1, 1:-1] | near[:-2, 1:-1] | near[2:, 1:-1] | near[1:-1, :-2] | near[1:-1, 2:]
        drawn[grown & ~inside] = color.astype(np.uint8)
    return drawn


def overlay(pixels: Bytes, saliency: Map) -> Bytes:
    """The picture (H, W, 3) in gray, tinted red by the map (H, W); its largest hundredth is fully red."""
    top = float(np.quantile(saliency, 0.99)) or float(saliency.max()) or 1.0
    weight = np.clip(saliency.astype(np.float64) / top, 0, 1)[..., None]
    gray = pixels.astype(np.float64).mean(axis=2, keepdims=True) * 0.6 + 90
    mixed: Bytes = np.rint((1 - weight) * gray + weight * RED).clip(0, 255).astype(np.uint8)
    return mixed
