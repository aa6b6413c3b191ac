"""`confirmations/PRESET.json`: a run's hits at another preset, and the model's answers there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from trex.foundation.codec import Codec
from trex.foundation.fields import Hash, LogProb, Number
from trex.inference.statistics.proportion import Proportion
from trex.pages.wording import rate_words
from trex.runs.folder import RunFolder
from trex.scenes.questions.answers import is_same
from trex.scenes.questions.truth import NO_ANSWER

FOLDER = "confirmations"
STAYS, WRONG, RIGHT = "stays in the level set", "leaves it, still wrong", "leaves it, right now"
LEAVES = "leaves it"  # if the question has no answer there


@dataclass(frozen=True)
class Look:
    """One picture of a scene: the model's answers to it, and its confidence in the target."""

    picture: Hash
    answer: str
    confidence: Number
    is_hit: bool
    log_probs: tuple[LogProb, ...]


@dataclass(frozen=True)
class Confirmed:
    """A hit at the search's look and at the other preset."""

    truth: str
    before: Look
    after: Look

    @property
    def is_wrong(self) -> bool:
        """Whether the answer at the other preset is wrong."""
        return self.truth != NO_ANSWER and not is_same(self.after.answer, self.truth)

    @property
    def was_wrong(self) -> bool:
        """Whether the answer was wrong in the search."""
        return self.truth != NO_ANSWER and not is_same(self.before.answer, self.truth)

    @property
    def verdict(self) -> str:
        """One of STAYS, WRONG, RIGHT and LEAVES."""
        if self.after.is_hit:
            return STAYS
        if self.truth == NO_ANSWER:
            return LEAVES
        return WRONG if self.is_wrong else RIGHT


@dataclass(frozen=True)
class Confirmation:
    """The hits of a run confirmed so far, most confident first; `asked` is the number requested."""

    preset: str
    size: tuple[int, int]  # width and height in pixels
    renderer: str
    model: str
    asked: int
    scenes: tuple[Confirmed, ...] = ()
    format: Literal[1] = 1

    def of(self, picture: str) -> Confirmed | None:
        """The hit with this picture, None if it is not confirmed yet."""
        return next((scene for scene in self.scenes if scene.before.picture == picture), None)

    def with_scene(self, scene: Confirmed) -> Confirmation:
        """This confirmation with one more scene."""
        ordered = sorted((*self.scenes, scene), key=lambda one: -one.before.confidence)
        return replace(self, scenes=tuple(ordered))

    def only(self, pictures: Sequence[str]) -> Confirmation:
        """This confirmation, restricted to the hits with these pictures."""
        kept = tuple(scene for scene in self.scenes if scene.before.picture in pictures)
        return replace(self, scenes=kept, asked=len(pictures))


def stay(scenes: Sequence[Confirmed]) -> Proportion:
    """The share of scenes that are still hits."""
    return Proportion(sum(scene.after.is_hit for scene in scenes), len(scenes))


def still_wrong(scenes: Sequence[Confirmed]) -> Proportion:
    """Among the scenes that were answered wrongly, the share that still is, at any confidence."""
    wrong = [scene for scene in scenes if scene.was_wrong]
    return Proportion(sum(scene.is_wrong for scene in wrong), len(wrong))


def sentences(scenes: Sequence[Confirmed], preset: str, asked: int) -> tuple[str, ...]:
    """The conclusions in sentences, for the terminal and the report."""
    if not scenes:
        return (f"None of the {asked} scenes is rendered at {preset} yet.",)
    missing = f" ({asked - len(scenes)} of {asked} are not rendered yet)" if len(scenes) < asked else ""
    said = [f"Rendered at {preset}, {rate_words(stay(scenes))} stay in the level set{missing}."]
    wrong = still_wrong(scenes)
    if wrong.of:
        said.append(
            f"Wrong answers that stay wrong: {rate_words(wrong)}; that become right: {wrong.of - wrong.count}."
        )
    said.append(
        "The intervals treat the scenes as independent, which scenes of one chain are not; the most confident scenes "
        "are the ones whose confidence is most likely to fall."
    )
    return tuple(said)


CODEC = Codec(Confirmation)


def confirmation_path(folder: RunFolder, preset: str) -> Path:
    """The path of the confirmation at this preset."""
    return folder.path / FOLDER / f"{preset}.json"


def read_confirmation(folder: RunFolder, preset: str) -> Confirmation | None:
    """The confirmation of a run at a preset, None if there is none; RunError if its file is damaged."""

    def check(found: Confirmation) -> None:
        if found.preset != preset:
            raise ValueError(f"it is of preset {found.preset!r}")
        answers = len(folder.manifest.facts.labels)
        looks = [look for scene in found.scenes for look in (scene.before, scene.after)]
        if any(len(look.log_probs) != answers for look in looks):
            raise ValueError(f"a scene does not have the log probabilities of the run's {answers} answers")

    remedy = f"delete it, then: trex confirm {folder.path} --preset {preset}"
    return CODEC.read(confirmation_path(folder, preset), remedy, check)


def read_confirmations(folder: RunFolder) -> list[Confirmation]:
    """The confirmations of a run at every preset; RunError names a damaged file."""
    names = sorted(path.stem for path in (folder.path / FOLDER).glob("*.json"))
    return [found for name in names if (found := read_confirmation(folder, name)) is not None]
