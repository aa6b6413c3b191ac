"""`explanations/PICTURE.json`: the explanations in a run's folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from trex.explain.compared import distance_from_right, is_right
from trex.explain.explanation import Effect, Explanation, ranked
from trex.explain.words import ShownExplanation
from trex.foundation.codec import Codec
from trex.foundation.errors import unknown
from trex.foundation.words import quoted
from trex.runs.folder import RunFolder
from trex.scenes.edits import Edit
from trex.scenes.vocabulary import Vocabulary

FOLDER = "explanations"
CODEC: Codec[Explanation] = Codec(ShownExplanation)


def explanation_path(folder: RunFolder, picture: str) -> Path:
    """The path of a hit's explanation."""
    return folder.path / FOLDER / f"{picture}.json"


def read_explanation(folder: RunFolder, picture: str) -> Explanation | None:
    """The explanation of the hit with this picture, None if there is none; RunError if it is damaged."""

    def check(found: Explanation) -> None:
        if found.picture != picture:
            raise ValueError(f"it explains picture {found.picture}")
        check_parts(found)
        _check_words(found, folder.manifest.vocabulary)

    remedy = f"delete it, then: trex explain {quoted(folder.path)}"
    found = CODEC.read(explanation_path(folder, picture), remedy, check)
    return None if found is None else judged_by_truth(found, folder.manifest.facts.labels)


def judged_by_truth(explanation: Explanation, labels: tuple[str, ...]) -> Explanation:
    """The explanation as it would be made today: older ones called any other answer to a failure a flip.

    The truth of each edited scene is stored, so that its flips follow; the smallest flip stays if it is a single edit,
    and has to be searched for again if it is not.
    """
    if explanation.is_by_truth or explanation.compared != "truth":
        return explanation

    def judged(effect: Effect) -> Effect:
        far = distance_from_right(np.array(effect.score.log_probs), labels, effect.truth)
        return replace(effect, margin=far, is_flip=is_right(effect.score.answer, effect.truth))

    removals = tuple(map(judged, explanation.removals))
    edits = None if explanation.edits is None else tuple(map(judged, explanation.edits))
    again = replace(explanation, removals=removals, edits=edits, flip=None, is_by_truth=True)
    singles = [*removals, *((edits or ()) if explanation.flip and explanation.flip.with_attributes else ())]
    flips = ranked((effect for effect in singles if effect.is_flip), explanation.control.score.answer)
    if explanation.flip is None or not flips:
        return again
    n = len(singles)
    flip = replace(explanation.flip, found=flips, tried=n, possible=n, is_exhaustive=True, reached=1)
    return replace(again, flip=flip)


def read_explanations(folder: RunFolder) -> dict[str, Explanation]:
    """All explanations of a run, by the hit's picture; RunError names a damaged file."""
    names = sorted(path.stem for path in (folder.path / FOLDER).glob("*.json"))
    return {name: found for name in names if (found := read_explanation(folder, name)) is not None}


def check_parts(explanation: Explanation) -> None:
    """ValueError if the parts of an explanation contradict each other."""
    n = len(explanation.scene.objects)
    if [effect.edits for effect in explanation.removals] != [(Edit(i),) for i in range(n)]:
        raise ValueError(f"its removals are not those of {n} objects")
    effects = _effects(explanation)
    if not all(effect.edits for effect in effects):
        raise ValueError("one of its effects is that of no edit")
    if any(not 0 <= edit.index < n for effect in effects for edit in effect.edits):
        raise ValueError(f"an edit is of an object that the scene, of {n}, does not have")
    if len({len(score.log_probs) for score in (explanation.control.score, *(e.score for e in effects))}) > 1:
        raise ValueError("its answer distributions differ in length")
    for found in explanation.saliency.maps if explanation.saliency else ():
        if not len(found.sums) == len(found.pixels) == n:
            raise ValueError(f"map {found.method} is not of {n} objects")
    if explanation.nuisances and any(not 0 <= o.index < n for o in explanation.nuisances.objects):
        raise ValueError("a replicate is of an object that the scene does not have")


def _effects(explanation: Explanation) -> tuple[Effect, ...]:
    """All effects of sets of edits."""
    flips = explanation.flip.found if explanation.flip else ()
    return (*explanation.removals, *(explanation.edits or ()), *flips)


def _check_words(explanation: Explanation, vocabulary: Vocabulary) -> None:
    """InputError if the scene has a shape, or an edit sets a word, that the run's vocabulary lacks."""
    words = [("shape", item.shape) for item in explanation.scene.objects]
    edits = [edit for effect in _effects(explanation) for edit in effect.edits]
    words += [(edit.attribute, edit.value) for edit in edits if edit.attribute]
    for attribute, value in words:
        if value not in vocabulary.values(attribute):
            raise unknown(attribute, value, vocabulary.values(attribute))
