"""`explanations/PICTURE.json`: what one found scene's objects have to do with the model's answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import (
    BeforeValidator,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from trex.foundation.errors import InputError, RunError
from trex.foundation.fields import Hash, LogProb, Number
from trex.foundation.files import is_missing, read_text
from trex.foundation.parse import parse_json
from trex.inference.attribution.blame import Blame, find_blame
from trex.inference.attribution.leave_one_out import Culprit, MeanEffect, find_culprit
from trex.runs.folder import RunFolder
from trex.scenes.edits import Edit
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict

FOLDER = "explanations"
Method = Literal["smoothgrad", "integrated_gradients"]
SMOOTHGRAD: Final = "smoothgrad"
INTEGRATED: Final = "integrated_gradients"


AnyScene = Annotated[Scene, BeforeValidator(scene_from_dict), PlainSerializer(scene_to_dict)]


@dataclass(frozen=True)
class Score:
    """What the model makes of one picture, which is kept under its content hash."""

    answer: str
    confidence: Number
    log_probs: tuple[LogProb, ...]
    picture: Hash


@dataclass(frozen=True)
class Control:
    """Nothing removed: the found scene rendered and scored once more, past every cache, beside what its draw says."""

    score: Score
    recorded: Number  # the confidence of the draw
    confidence_difference: Number
    log_probs_difference: Number | None  # the greatest of all answers, None where it is infinite
    is_same_picture: bool

    @property
    def is_exact(self) -> bool:
        """Whether the second render is the first, bit for bit, and its score too."""
        return self.is_same_picture and self.confidence_difference == 0.0 == self.log_probs_difference

    def sentence(self) -> str:
        """For a report."""
        if self.is_exact:
            return "Remove-nothing control: rendered again, the picture and every probability are exactly the same."
        return (
            f"THE CONTROL FAILED: rendered again with nothing removed, the confidence differs by "
            f"{self.confidence_difference:+.3g} (picture {'equal' if self.is_same_picture else 'not equal'}). "
            "This renderer or model is not deterministic here; effects of this size mean nothing."
        )


@dataclass(frozen=True)
class Effect:
    """One edit, or several made together, and what the model then says.

    `change` is that of the target's confidence. `margin` is the log odds of the unedited scene's answer over the best
    other one. `is_valid`: whether the edited scene keeps the prior's rules of distance and visibility.
    """

    edits: tuple[Edit, ...]
    words: str
    score: Score
    change: Number
    margin: Number
    is_flip: bool
    truth: str
    is_valid: bool


@dataclass(frozen=True)
class SmallestFlip:
    """The fewest edits that give another answer; `found` strongest first, all of one size, empty where there is none.

    `tried` of `possible` sets of up to `depth` edits were scored, at most `renders` of them of two or more edits.
    """

    found: tuple[Effect, ...]
    tried: int
    possible: int
    is_exhaustive: bool
    depth: int
    renders: int
    with_attributes: bool  # False: removals alone

    @property
    def size(self) -> int | None:
        """How many edits it takes; None where no flip was found."""
        return len(self.found[0].edits) if self.found else None

    def sentence(self) -> str:
        """For a report."""
        kinds = "edits" if self.with_attributes else "removals"
        if self.found:
            first = self.found[0]
            size = f"{self.size} {kinds[:-1] if self.size == 1 else kinds}"
            return f"Smallest flip ({size}): {first.words}; the answer becomes {first.score.answer}."
        up_to = f"{self.depth} {kinds}" if self.depth > 1 else f"1 {kinds[:-1]}"
        if self.is_exhaustive:
            return f"No change of up to {up_to} gives another answer (all {self.tried} tried)."
        return f"No flip found among {self.tried} of {self.possible} changes of up to {up_to}, most promising first."


@dataclass(frozen=True)
class ObjectReplicates:
    """One object left out under each draw of the nuisances: confidences without it, and the mean paired difference."""

    index: int
    confidences: tuple[Number, ...]
    effect: MeanEffect

    @property
    def is_stable(self) -> bool:
        """Whether the whole 95 % interval is below 0: leaving it out lowers the confidence whatever the light."""
        return self.effect.is_negative


@dataclass(frozen=True)
class Replicates:
    """The scene under other cameras and lights of the prior; `skipped` draws hid an object too much."""

    draws: int  # asked for
    every_object: bool
    skipped: int
    baseline: tuple[Number, ...]  # the confidence with all objects
    objects: tuple[ObjectReplicates, ...]

    def of(self, index: int) -> ObjectReplicates | None:
        """Those of one object, None where it was not looked at."""
        return next((found for found in self.objects if found.index == index), None)


@dataclass(frozen=True)
class SaliencyMap:
    """A map (H, W) that is kept beside the explanation, summed over the object masks.

    `settings` is all that it depends on besides picture and model. `peak` is the map's largest pixel (row, column),
    `peak_object` the object there, None for the background.
    """

    method: Method
    settings: dict[str, float | int | str]
    sums: tuple[Number, ...]
    pixels: tuple[int, ...]
    background: Number
    background_pixels: int
    peak: tuple[int, int]
    peak_object: int | None
    change: Number | None = None  # f(x) - f(baseline), of integrated gradients
    completeness_gap: Number | None = None  # how far the attributions' sum is from that

    @property
    def means(self) -> tuple[float, ...]:
        """Saliency per pixel of each object; 0 where it shows none."""
        return tuple(total / n if n else 0.0 for total, n in zip(self.sums, self.pixels, strict=True))

    @property
    def ranking(self) -> tuple[int, ...]:
        """The objects, most salient first."""
        return tuple(sorted(range(len(self.sums)), key=lambda i: -self.sums[i]))


@dataclass(frozen=True)
class Saliency:
    """The maps, or why there are none."""

    answers: tuple[str, ...]  # the sum of their log probabilities is what was attributed
    maps: tuple[SaliencyMap, ...]
    why_none: str = ""


@dataclass(frozen=True)
class Explanation:
    """One found scene explained; parts that were not asked for are None."""

    picture: Hash
    scene: AnyScene
    truth: str
    control: Control
    removals: tuple[Effect, ...]
    edits: tuple[Effect, ...] | None = None
    flip: SmallestFlip | None = None
    nuisances: Replicates | None = None
    saliency: Saliency | None = None
    format: Literal[1] = 1

    @property
    def culprit(self) -> Culprit:
        """The object whose removal lowers the confidence most."""
        return find_culprit([effect.change for effect in self.removals])

    @property
    def blame(self) -> Blame:
        """All objects to blame: those whose removal changes the answer, else the culprit."""
        together = [tuple(edit.index for edit in effect.edits) for effect in self.joint_removals]
        effects = [effect.change for effect in self.removals]
        return find_blame(effects, [effect.is_flip for effect in self.removals], together)

    @property
    def joint_removals(self) -> tuple[Effect, ...]:
        """Sets of objects without which the answer changes, though each alone changes nothing; strongest first."""
        found = self.flip.found if self.flip else ()
        return tuple(e for e in found if len(e.edits) > 1 and not any(edit.attribute for edit in e.edits))

    @property
    def is_stable(self) -> bool | None:
        """Whether the culprit stays one under other cameras and lights; None where that was not looked at."""
        index = self.culprit.index
        found = self.nuisances.of(index) if self.nuisances and index is not None else None
        return found.is_stable if found else None


_ADAPTER: TypeAdapter[Explanation] = TypeAdapter(Explanation)


def to_text(explanation: Explanation) -> str:
    """The explanation as JSON; floats keep every bit."""
    return _ADAPTER.dump_json(explanation, indent=1).decode() + "\n"


def from_text(text: str, where: str) -> Explanation:
    """The explanation in a file's text; RunError where it is damaged."""
    try:
        parse_json(text, where, error=RunError)
        found = _ADAPTER.validate_json(text, strict=True)
        _check(found)
    except (ValidationError, InputError, RunError, ValueError) as error:
        words = str(error).replace("\n", " ")
        raise RunError(
            f"{where} is damaged ({words[:200]}); delete it, then: trex explain {Path(where).parent.parent}"
        ) from error
    return found


def explanation_path(folder: RunFolder, picture: str) -> Path:
    """Where the explanation of a found scene lies."""
    return folder.path / FOLDER / f"{picture}.json"


def read_explanation(folder: RunFolder, picture: str) -> Explanation | None:
    """The explanation of the found scene with this picture, None where there is none; RunError where it is damaged."""
    path = explanation_path(folder, picture)
    try:
        text = read_text(path, error=RunError)
    except RunError as error:
        if is_missing(error):
            return None
        raise RunError(f"{error}; delete it and explain the run again") from error
    found = from_text(text, str(path))
    if found.picture != picture:
        raise RunError(f"{path} explains picture {found.picture}; delete it and explain the run again")
    return found


def read_explanations(folder: RunFolder) -> dict[str, Explanation]:
    """All explanations of a run by the found scene's picture; RunError names a damaged file."""
    names = sorted(path.stem for path in (folder.path / FOLDER).glob("*.json"))
    found = {name: read_explanation(folder, name) for name in names}
    return {name: explanation for name, explanation in found.items() if explanation is not None}


def _check(explanation: Explanation) -> None:
    """ValueError where parts do not fit together."""
    n = len(explanation.scene.objects)
    if [effect.edits for effect in explanation.removals] != [(Edit(i),) for i in range(n)]:
        raise ValueError(f"its removals are not those of {n} objects")
    every = (
        *explanation.removals,
        *(explanation.edits or ()),
        *(explanation.flip.found if explanation.flip else ()),
    )
    if any(not 0 <= edit.index < n for effect in every for edit in effect.edits):
        raise ValueError(f"an edit is of an object that the scene, of {n}, does not have")
    if (
        len({len(effect.score.log_probs) for effect in every} | {len(explanation.control.score.log_probs)})
        > 1
    ):
        raise ValueError("its answer distributions differ in length")
    for found in explanation.saliency.maps if explanation.saliency else ():
        if not len(found.sums) == len(found.pixels) == n:
            raise ValueError(f"map {found.method} is not of {n} objects")
    if explanation.nuisances and any(not 0 <= o.index < n for o in explanation.nuisances.objects):
        raise ValueError("a replicate is of an object that the scene does not have")
