"""`confirmations/PRESET.json`: a run's hits at another preset, the answers there, and their table in reports."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from markupsafe import Markup

from trex.foundation.codec import Codec
from trex.foundation.fields import Hash, LogProb, Number
from trex.foundation.words import percent, quoted
from trex.inference.statistics.clustered import share_of_alike
from trex.inference.statistics.proportion import Proportion
from trex.pages.table import Column, Table
from trex.pages.thumbnails import jpeg_url
from trex.pages.wording import rate_words
from trex.render.picture import Bytes
from trex.runs.folder import RunFolder
from trex.runs.pictures import read_picture
from trex.scenes.questions.truth import NO_ANSWER, is_wrong

FOLDER = "confirmations"
STAYS, WRONG, RIGHT = "stays in the level set", "leaves it, still wrong", "leaves it, right now"
LEAVES = "leaves it"  # if the question has no answer there
IMAGE = Markup('<img id="{}" src="{}" alt="{}" width="240" height="160">')


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
        return is_wrong(self.after.answer, self.truth) is True

    @property
    def was_wrong(self) -> bool:
        """Whether the answer was wrong in the search."""
        return is_wrong(self.before.answer, self.truth) is True

    @property
    def verdict(self) -> str:
        """One of STAYS, WRONG, RIGHT and LEAVES."""
        if self.after.is_hit:
            return STAYS
        if self.truth == NO_ANSWER:
            return LEAVES
        return WRONG if self.is_wrong else RIGHT

    @property
    def id(self) -> str:
        """The HTML id of its picture at the preset of the confirmation, so that a page embeds it only once."""
        return f"look-{self.after.picture}"


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
        ordered = sorted((*self.scenes, scene), key=lambda each: -each.before.confidence)
        return replace(self, scenes=tuple(ordered))

    def only(self, pictures: Sequence[str]) -> Confirmation:
        """This confirmation, restricted to the hits with these pictures."""
        kept = tuple(scene for scene in self.scenes if scene.before.picture in pictures)
        return replace(self, scenes=kept, asked=len(pictures))


def stay(scenes: Sequence[Confirmed], starts: Mapping[str, Hashable]) -> Proportion:
    """The share of scenes that are still hits; `starts` has the start of each picture of the search, whose scenes are
    alike (`Results.starts`).
    """
    return share_of_alike((_start(scene, starts), scene.after.is_hit) for scene in scenes)


def still_wrong(scenes: Sequence[Confirmed], starts: Mapping[str, Hashable]) -> Proportion:
    """Among the scenes that were answered wrongly, the share that still is, at any confidence."""
    return share_of_alike((_start(scene, starts), scene.is_wrong) for scene in scenes if scene.was_wrong)


def _start(scene: Confirmed, starts: Mapping[str, Hashable]) -> Hashable:
    """Its own if the picture is of no hit any more."""
    return starts.get(scene.before.picture, scene.before.picture)


def sentences(
    scenes: Sequence[Confirmed], preset: str, number: int, starts: Mapping[str, Hashable]
) -> tuple[str, ...]:
    """The conclusions in sentences, for the terminal and the report."""
    if not scenes:
        return (f"None of the {number} scenes is rendered at {preset} yet.",)
    missing = f" ({number - len(scenes)} of {number} are not rendered yet)" if len(scenes) < number else ""
    words = [f"Rendered at {preset}, {rate_words(stay(scenes, starts))} stay in the level set{missing}."]
    wrong = still_wrong(scenes, starts)
    if wrong.of:
        right = wrong.of - wrong.count
        words.append(f"Wrong answers that stay wrong: {rate_words(wrong)}; that become right: {right}.")
    words.append(
        "The intervals allow for scenes that are alike, as those of one start are; the most confident scenes are the "
        "ones whose confidence is most likely to fall."
    )
    return tuple(words)


CODEC = Codec(Confirmation)


def confirmation_path(folder: RunFolder, preset: str) -> Path:
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

    remedy = f"delete it, then: trex report {quoted(folder.path)} --confirm {preset}"
    return CODEC.read(confirmation_path(folder, preset), remedy, check)


def read_confirmations(folder: RunFolder) -> list[Confirmation]:
    """The confirmations of a run at every preset; RunError names a damaged file."""
    names = sorted(path.stem for path in (folder.path / FOLDER).glob("*.json"))
    return [found for name in names if (found := read_confirmation(folder, name)) is not None]


COLUMNS: tuple[Column[Confirmed], ...] = (
    Column("true answer", lambda scene: scene.truth),
    Column("model in the search", lambda scene: scene.before.answer),
    Column("confidence", lambda scene: percent(scene.before.confidence), is_number=True),
    Column("model now", lambda scene: scene.after.answer),
    Column("confidence", lambda scene: percent(scene.after.confidence), is_number=True),
    Column("outcome", lambda scene: scene.verdict),
)


def confirmed_section(
    folder: RunFolder, found: Confirmation, starts: Mapping[str, Hashable]
) -> dict[str, object]:
    """A confirmation for the report, with the scenes' pictures; RunError if one is missing or damaged."""

    def image(scene: Confirmed) -> str:
        pixels, _ = read_picture(folder, scene.after.picture, found.size)
        words = f"The scene at {found.preset}: the model says {scene.after.answer}, the true answer is {scene.truth}"
        return IMAGE.format(scene.id, jpeg_url(pixels), words)

    columns = (Column(f"at {found.preset}", image), *COLUMNS)
    return {
        "preset": found.preset,
        "size": found.size,
        "sentences": sentences(found.scenes, found.preset, max(found.asked, len(found.scenes)), starts),
        "table": Table(f"Scenes at {found.preset}", columns, found.scenes),
    }


@dataclass(frozen=True)
class EnlargedLook:
    """The enlarged view of a hit: the same scene at a larger preset."""

    preset: str
    size: tuple[int, int]  # width and height in pixels
    scene: Confirmed

    @property
    def words(self) -> str:
        """The caption of the enlarged picture."""
        after, (width, height) = self.scene.after, self.size
        sure = percent(float(np.exp(max(after.log_probs))))
        return (
            f"The same scene at preset {self.preset}, {width}×{height}. There the model says "
            f"{after.answer} ({sure}), confidence in the target {percent(after.confidence)}; "
            f"the scene {self.scene.verdict}."
        )

    def read(self, folder: RunFolder) -> tuple[Bytes, Bytes]:
        """Its pixels and mask; RunError if they are missing or damaged."""
        return read_picture(folder, self.scene.after.picture, self.size)


def larger_looks(confirmations: Sequence[Confirmation], size: tuple[int, int]) -> dict[str, EnlargedLook]:
    """For each hit's picture, a look larger than `size`; CLEVR's own preset if there are several."""
    larger = [found for found in confirmations if found.size[0] > size[0]]
    return {
        scene.before.picture: EnlargedLook(found.preset, found.size, scene)
        for found in sorted(larger, key=lambda found: found.preset == "clevr")
        for scene in found.scenes
    }
