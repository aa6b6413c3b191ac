"""The exported items of a run: hits, and edited scenes if they were explained, with pictures and masks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.explain.explanation import Effect, Explanation
from trex.explain.scene_scores import apply_all
from trex.explain.stored import read_explanations
from trex.foundation.errors import InputError, RunError
from trex.foundation.json_fields import Json
from trex.foundation.words import quoted
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest
from trex.runs.picture_files import mask_file, read_stored
from trex.runs.pictures import read_picture
from trex.scenes.edits import Edit
from trex.scenes.questions.truth import NO_ANSWER, true_answer
from trex.scenes.scene import Scene
from trex.trials.hits import stored_hits

FOUND, EDITED = "found", "edited"
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class ExportItem:
    """One scene: its index in its split, the model's answer, and the true answer ("no answer" becomes None).

    `picture` is the content hash of its files. An edited scene names its original hit and the edit.
    """

    split: str
    index: int
    scene: Scene
    picture: str
    truth: str | None
    answer: str
    confidence: float
    log_probs: tuple[float, ...]
    parent: str = ""
    edit: str = ""

    @property
    def name(self) -> str:
        return f"CLEVR_{self.split}_{self.index:06d}.png"


@dataclass(frozen=True)
class Exported:
    """The items of a run, hits first, most confident first; reads their files one at a time."""

    folder: RunFolder
    items: tuple[ExportItem, ...]

    @property
    def manifest(self) -> Manifest:
        return self.folder.manifest

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.split for item in self.items))

    def of(self, split: str) -> tuple[ExportItem, ...]:
        return tuple(item for item in self.items if item.split == split)

    def picture(self, item: ExportItem) -> tuple[bytes, bytes]:
        """The PNGs of picture and mask, checked against their hash; RunError if they are missing or altered."""
        kept = read_stored(self.folder.path, item.picture)
        if kept.mask_png is None:
            run = self.folder.path
            raise RunError(
                f"{mask_file(run, item.picture)} is missing; trex resume {quoted(run)} renders it again"
            )
        return kept.png, kept.mask_png

    def mask(self, item: ExportItem) -> Bytes:
        """The mask (H, W): 0 background, i + 1 object i."""
        return read_picture(self.folder, item.picture)[1]


def read_items(folder: RunFolder, edits: bool | None) -> Exported:
    """The items of a run; `edits` None includes edited scenes if there are some.

    Raises RunError if the run has no hits, or if edited scenes are requested and there are none.
    """
    manifest = folder.manifest
    items = [
        ExportItem(
            split=FOUND,
            index=index,
            scene=hit.record.scene,
            picture=hit.record.picture,
            truth=_known(hit.known_truth),
            answer=hit.answer,
            confidence=hit.confidence,
            log_probs=hit.record.log_probs,
        )
        for index, hit in enumerate(stored_hits(folder, "to export"))
    ]
    explanations = {} if edits is False else read_explanations(folder)
    edited = list(_edited(manifest, items, explanations))
    if edits and not edited:
        raise InputError(
            f"{folder.path} has no edited scenes; make them first: trex explain {quoted(folder.path)}"
        )
    return Exported(folder, (*items, *edited))


def answer_json(manifest: Manifest, item: ExportItem) -> Json:
    """The model's answer to a scene and, for an edited scene, its origin."""
    return {
        "split": item.split,
        "image_filename": item.name,
        "model": manifest.facts.model,
        "question": manifest.question.text,
        "true_answer": item.truth,
        "model_answer": item.answer,
        "confidence": item.confidence,
        "probabilities": dict(zip(manifest.facts.labels, map(math.exp, item.log_probs), strict=True)),
        "edited_from": item.parent or None,
        "edit": item.edit or None,
    }


def _edited(
    manifest: Manifest, found: list[ExportItem], explanations: Mapping[str, Explanation]
) -> Iterator[ExportItem]:
    """Each edit of each explained scene once, in the order of the hits."""
    explained = [(parent, explanations[parent.picture]) for parent in found if parent.picture in explanations]
    edits = [(parent, effect) for parent, explanation in explained for effect in _effects(explanation)]
    for index, (parent, effect) in enumerate(edits):
        scene, score = apply_all(parent.scene, effect.edits), effect.score
        truth = _known(true_answer(manifest.question.program, scene))
        answer = (score.answer, score.confidence, score.log_probs)
        yield ExportItem(EDITED, index, scene, score.picture, truth, *answer, parent.name, effect.words)


def _effects(explanation: Explanation) -> list[Effect]:
    """Removals, single edits, and the edits of the smallest flip, without repeated sets of edits."""
    flips = explanation.flip.found if explanation.flip else ()
    every = (*explanation.removals, *(explanation.edits or ()), *flips)
    different: dict[frozenset[Edit], Effect] = {}
    for effect in every:
        different.setdefault(frozenset(effect.edits), effect)
    return list(different.values())


def _known(truth: str) -> str | None:
    return None if truth == NO_ANSWER else truth
