"""`explanations/PICTURE.json`: the explanations in a run's folder."""

from __future__ import annotations

from pathlib import Path

from trex.explain.explanation import Explanation
from trex.foundation.codec import Codec
from trex.runs.folder import RunFolder
from trex.scenes.edits import Edit

FOLDER = "explanations"
CODEC = Codec(Explanation)


def explanation_path(folder: RunFolder, picture: str) -> Path:
    """The path of a hit's explanation."""
    return folder.path / FOLDER / f"{picture}.json"


def read_explanation(folder: RunFolder, picture: str) -> Explanation | None:
    """The explanation of the hit with this picture, None if there is none; RunError if it is damaged."""

    def check(found: Explanation) -> None:
        if found.picture != picture:
            raise ValueError(f"it explains picture {found.picture}")
        check_parts(found)

    return CODEC.read(
        explanation_path(folder, picture), f"delete it, then: trex explain {folder.path}", check
    )


def read_explanations(folder: RunFolder) -> dict[str, Explanation]:
    """All explanations of a run, by the hit's picture; RunError names a damaged file."""
    names = sorted(path.stem for path in (folder.path / FOLDER).glob("*.json"))
    return {name: found for name in names if (found := read_explanation(folder, name)) is not None}


def check_parts(explanation: Explanation) -> None:
    """ValueError if the parts of an explanation contradict each other."""
    n = len(explanation.scene.objects)
    if [effect.edits for effect in explanation.removals] != [(Edit(i),) for i in range(n)]:
        raise ValueError(f"its removals are not those of {n} objects")
    flips = explanation.flip.found if explanation.flip else ()
    effects = (*explanation.removals, *(explanation.edits or ()), *flips)
    if any(not 0 <= edit.index < n for effect in effects for edit in effect.edits):
        raise ValueError(f"an edit is of an object that the scene, of {n}, does not have")
    if len({len(score.log_probs) for score in (explanation.control.score, *(e.score for e in effects))}) > 1:
        raise ValueError("its answer distributions differ in length")
    for found in explanation.saliency.maps if explanation.saliency else ():
        if not len(found.sums) == len(found.pixels) == n:
            raise ValueError(f"map {found.method} is not of {n} objects")
    if explanation.nuisances and any(not 0 <= o.index < n for o in explanation.nuisances.objects):
        raise ValueError("a replicate is of an object that the scene does not have")
