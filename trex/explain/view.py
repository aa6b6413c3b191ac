"""An explanation as a report shows it: a strip of pictures, tables of all changes, and the maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.crosscheck.enlarged import EnlargedLook
from trex.explain.blame_words import sentence, stability_sentences
from trex.explain.explanation import Effect, Explanation
from trex.explain.saliency_agreement import scene_agreement
from trex.explain.saliency_masks import Map, read_map
from trex.inference.attribution.blame import Blame
from trex.pages.thumbnails import jpeg_url
from trex.pages.wording import percent, points
from trex.render.picture import Bytes
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture
from trex.scenes.describe import object_words

RED = np.array([215, 38, 30], dtype=np.float64)
METHOD_NAMES = {"smoothgrad": "SmoothGrad", "integrated_gradients": "Integrated gradients"}


@dataclass(frozen=True)
class Shot:
    """One picture of a strip; `words` is its alternative text."""

    image: str  # data URI
    title: str
    caption: str
    words: str
    is_culprit: bool = False
    large: str = ""  # data URI of the same scene at another look, "" if there is none
    note: str = ""  # the model's answer there


@dataclass(frozen=True)
class Row:
    """The effect of one change; `interval` is over other cameras and lights, "" if that was not tested."""

    words: str
    confidence: float
    change: float
    answer: str
    truth: str
    is_flip: bool
    is_valid: bool
    interval: str = ""


@dataclass(frozen=True)
class Strip:
    """Everything that the page shows of one explanation."""

    sentences: tuple[str, ...]
    shots: tuple[Shot, ...]
    maps: tuple[Shot, ...]
    removals: tuple[Row, ...]
    edits: tuple[Row, ...]
    is_exact: bool
    effect: float  # the strongest effect of an object to blame, 0 if there is none


def make_strip(folder: RunFolder, explanation: Explanation, look: EnlargedLook | None = None) -> Strip:
    """The strip of an explained scene; RunError if one of its pictures is missing or damaged."""
    changes = [explanation.removals[i].change for i in explanation.blame.parts]
    return Strip(
        sentences=tuple(_sentences(explanation)),
        shots=(_original(folder, explanation, look), *_removal_shots(folder, explanation)),
        maps=tuple(_map_shots(folder, explanation)),
        removals=tuple(_row(explanation, effect) for effect in explanation.removals),
        edits=tuple(
            _row(explanation, effect) for effect in sorted(explanation.edits or (), key=lambda e: e.change)
        ),
        is_exact=explanation.control.is_exact,
        effect=min(changes, default=0.0),
    )


def _sentences(explanation: Explanation) -> list[str]:
    sentences = [sentence(explanation), *stability_sentences(explanation)]
    if explanation.flip:
        sentences.append(explanation.flip.sentence())
    if explanation.saliency and explanation.saliency.why_none:
        sentences.append(f"No saliency: {explanation.saliency.why_none}.")
    return [*sentences, explanation.control.sentence()]


def _original(folder: RunFolder, explanation: Explanation, look: EnlargedLook | None) -> Shot:
    score = explanation.control.score
    return Shot(
        jpeg_url(_outlined(explanation, read_picture(folder, score.picture))),
        "nothing left out",
        f"{score.answer} · {percent(score.confidence)}",
        f"The found scene; confidence {percent(score.confidence)}"
        + ("; each object to blame has a red outline" if explanation.blame.parts else ""),
        large="" if look is None else jpeg_url(_outlined(explanation, look.read(folder))),
        note="" if look is None else look.words,
    )


def _outlined(explanation: Explanation, picture: tuple[Bytes, Bytes]) -> Bytes:
    """The picture with an outline around each object to blame."""
    pixels, mask = picture
    for index in explanation.blame.parts:
        pixels = outlined(pixels, mask == index + 1)
    return pixels


def _removal_shots(folder: RunFolder, explanation: Explanation) -> list[Shot]:
    shots = []
    for index, effect in enumerate(explanation.removals):
        name, score = object_words(explanation.scene, index), effect.score
        shots.append(
            Shot(
                jpeg_url(read_picture(folder, score.picture)[0]),
                f"without {name}",
                f"{score.answer} · {percent(score.confidence)} ({points(effect.change)})",
                f"Without the {name}: answer {score.answer}, confidence {percent(score.confidence)}",
                index in explanation.blame.parts,
            )
        )
    return shots


def _map_shots(folder: RunFolder, explanation: Explanation) -> list[Shot]:
    pixels = read_picture(folder, explanation.control.score.picture)[0]
    shots = []
    for found in explanation.saliency.maps if explanation.saliency else ():
        saliency = read_map(folder, explanation.picture, found.method)
        agreement = scene_agreement(explanation, found)
        top = object_words(explanation.scene, found.ranking[0])
        rank = agreement.rank_correlation
        verdict = _agrees(explanation.blame, found.ranking[0]) + (
            "" if rank is None else f"; rank correlation {rank:+.2f}"
        )
        title = METHOD_NAMES[found.method]
        shots.append(
            Shot(
                jpeg_url(overlay(pixels, saliency)),
                title,
                f"most on {top}: {verdict}",
                f"{title}: the most salient object is the {top}, {verdict}",
            )
        )
    return shots


def _agrees(blame: Blame, top: int) -> str:
    if not blame.parts:
        return "no object is to blame"
    return "as ablation says" if top in blame.parts else "not an object to blame"


def _row(explanation: Explanation, effect: Effect) -> Row:
    interval = ""
    if len(effect.edits) == 1 and not effect.edits[0].attribute and explanation.nuisances:
        found = explanation.nuisances.of(effect.edits[0].index)
        if found is not None and found.effect.low is not None and found.effect.high is not None:
            interval = (
                f"{points(found.effect.mean)} ({points(found.effect.low)} to {points(found.effect.high)})"
            )
    return Row(
        words=effect.words,
        confidence=effect.score.confidence,
        change=effect.change,
        answer=effect.score.answer,
        truth=effect.truth,
        is_flip=effect.is_flip,
        is_valid=effect.is_valid,
        interval=interval,
    )


def outlined(pixels: Bytes, inside: NDArray[np.bool_]) -> Bytes:
    """The picture (H, W, 3) with a red line two pixels wide around a region (H, W)."""
    grown = inside
    for _ in range(2):
        padded = np.pad(grown, 1)
        grown = (
            padded[1:-1, 1:-1] | padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]
        )
    drawn = pixels.copy()
    drawn[grown & ~inside] = RED.astype(np.uint8)
    return drawn


def overlay(pixels: Bytes, saliency: Map) -> Bytes:
    """The picture (H, W, 3) in gray, tinted red by the map (H, W); its largest hundredth is fully red."""
    top = float(np.quantile(saliency, 0.99)) or float(saliency.max()) or 1.0
    weight = np.clip(saliency.astype(np.float64) / top, 0, 1)[..., None]
    gray = pixels.astype(np.float64).mean(axis=2, keepdims=True) * 0.6 + 90
    mixed: Bytes = np.rint((1 - weight) * gray + weight * RED).clip(0, 255).astype(np.uint8)
    return mixed


def strips(
    folder: RunFolder, explanations: Sequence[Explanation], looks: Mapping[str, EnlargedLook]
) -> dict[str, Strip]:
    """The strip of each explained scene by its picture; `looks` holds larger looks of the same scenes."""
    return {one.picture: make_strip(folder, one, looks.get(one.picture)) for one in explanations}
