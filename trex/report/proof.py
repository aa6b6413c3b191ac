"""The pictures that show a finding: the misread object outlined, and the scene without what confuses the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trex.explain.explanation import Effect, Explanation
from trex.explain.traces import TracedDraw
from trex.explain.view import outlined
from trex.families.symptom import Failure, misread_words
from trex.foundation.words import percent
from trex.pages.thumbnails import jpeg_url
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture
from trex.scenes.scene import object_words
from trex.search.hit import Hit


@dataclass(frozen=True)
class Proof:
    """One hit: its picture, and what the model sees; and the scene after a change that makes the model right.

    `answer` is the model's with its probability.
    `misread` is in words: "the small green cylinder is read as a cube"; `outlined` is what the picture outlines. The
    second picture is "" if no removal makes the model right.
    """

    place: int
    image: str  # data URL
    misread: str
    outlined: str
    answer: str
    beside: str = ""
    change: str = ""
    beside_answer: str = ""


def proof_of(
    folder: RunFolder, place: int, hit: Hit, traced: TracedDraw | None, explanation: Explanation | None
) -> Proof | None:
    """The proof of a hit; None if its picture is not stored, or if nothing is known of what the model misreads."""
    failures = traced.failures if traced else ()
    if not hit.record.picture or not (failures or explanation):
        return None
    pixels, mask = read_picture(folder, hit.record.picture)
    failure = failures[0] if failures else None
    parts = misread_parts(failures)
    if not failure and explanation and explanation.chief is not None:
        parts = (explanation.chief,)
    misread = misread_words(failure, hit.record.scene) if failure else ""
    base = Proof(
        place,
        jpeg_url(outlined(pixels, mask, parts)),
        misread,
        (misread or "the object responsible") if parts else "",
        f"{hit.answer} ({percent(hit.answers[0][1])})",
    )
    change = None if explanation is None else telling(explanation, parts)
    if change is None:
        return base
    shown, _ = read_picture(folder, change.score.picture)
    removed = change.edits[0].index
    return replace(
        base,
        beside=jpeg_url(shown),
        change=_without(hit, removed, parts, is_misread=failure is not None),
        beside_answer=change.score.answer,
    )


def _without(hit: Hit, removed: int, parts: tuple[int, ...], *, is_misread: bool) -> str:
    """Without what, and that it is the outlined object if nothing before has named that."""
    if removed not in parts:
        return f"without the {object_words(hit.record.scene, removed, beside=parts)}"
    return "without it" if is_misread else f"without the outlined {object_words(hit.record.scene, removed)}"


def tells_truth(explanation: Explanation) -> bool:
    """Whether the removals of an explanation are judged by the truth, and its control repeated the picture."""
    return explanation.control.is_exact and explanation.compared == "truth"


def telling(explanation: Explanation, misread: tuple[int, ...]) -> Effect | None:
    """The removal that shows the cause best: of another object than the misread one if that makes the model right.

    None of those after which the same answer is right: they change the truth, and not what the model says.
    """
    if not tells_truth(explanation):
        return None
    said = explanation.control.score.answer
    flips = [effect for effect in explanation.removals if effect.is_flip and effect.score.answer != said]
    others = [effect for effect in flips if effect.edits[0].index not in misread]
    return min(others or flips, key=lambda effect: effect.margin, default=None)


def misread_parts(failures: Sequence[Failure]) -> tuple[int, ...]:
    """The object that the first failure of a scene is about; none if it is about the whole scene."""
    return tuple(failure.unit for failure in failures[:1] if failure.symptom.level == "object")
