"""The explanation of one hit: how its objects affect the model's answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, PlainSerializer

from trex.explain.compared import Compared, compared
from trex.foundation.fields import Hash, LogProb, Number
from trex.inference.attribution.blame import Blame, find_blame
from trex.inference.attribution.leave_one_out import NOTICEABLE, MeanEffect, only, strongest
from trex.scenes.edits import Edit
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict

Method = Literal["smoothgrad", "integrated_gradients"]
SMOOTHGRAD: Final = "smoothgrad"
INTEGRATED: Final = "integrated_gradients"
DOES: Final[Mapping[Compared, str]] = {
    "truth": "makes the model right",
    "answer": "gives another answer",
    "level set": "leaves the level set",
}
Settings = dict[str, float | int | str]  # of a saliency method
AnyScene = Annotated[Scene, BeforeValidator(scene_from_dict), PlainSerializer(scene_to_dict)]


@dataclass(frozen=True)
class Score:
    """The model's answer on one picture, which is stored under its content hash."""

    answer: str
    confidence: Number
    log_probs: tuple[LogProb, ...]
    picture: Hash


@dataclass(frozen=True)
class RenderControl:
    """The control: the unedited scene rendered and scored again, past every cache, beside its recorded draw."""

    score: Score
    recorded: Number  # the draw's confidence
    confidence_difference: Number
    log_probs_difference: Number | None  # largest over all answers, None if infinite
    is_same_picture: bool

    @property
    def is_exact(self) -> bool:
        """Whether the second render, and its score, equal the first bit for bit."""
        return self.is_same_picture and self.confidence_difference == 0.0 == self.log_probs_difference

    def sentence(self) -> str:
        """The control in a sentence, for the report."""
        if self.is_exact:
            return "Control: rendered again without a change, the picture and every probability are exactly the same."
        return (
            f"THE CONTROL FAILED: rendered again with nothing removed, the confidence differs by "
            f"{self.confidence_difference:+.3g} (picture {'equal' if self.is_same_picture else 'not equal'}). "
            "This renderer or model is not deterministic here; effects of this size mean nothing."
        )


@dataclass(frozen=True)
class Effect:
    """One edit, or several made together, and the model's answer to the edited scene.

    `change` is the change in the target's confidence. `is_flip` says whether the edit explains the hit, and `margin`
    how far it is from that, by what the explanation compares (`trex.explain.compared`). "truth": whether the model is
    right about the edited scene, and the log odds of the best wrong answer over the true one. "answer": whether the
    answer differs, and the log odds of the unedited scene's answer over the best other one. "level set": whether the
    edited scene is outside of it, and how far it is inside, from 1 in its middle to 0 at its edge. `truth` is that of
    the edited scene. `is_valid`: whether that keeps the prior's rules of distance and visibility.
    """

    edits: tuple[Edit, ...]
    words: str
    score: Score
    change: Number
    margin: Number
    is_flip: bool
    truth: str
    is_valid: bool


def ranked(flips: Iterable[Effect], before: str) -> tuple[Effect, ...]:
    """Flips, the strongest first; those after which the answer is still `before` last: they say less."""
    return tuple(sorted(flips, key=lambda effect: (effect.score.answer == before, effect.margin)))


@dataclass(frozen=True)
class SmallestFlip:
    """The smallest sets of edits that explain a hit (`Effect.is_flip`); `found` has one size, or is empty.

    The strongest comes first; of a failure, those after which the answer is another come before those after which the
    old one is true.

    `tried` of `possible` sets of up to `reached` edits were scored, at most `renders` of them of two or more edits, and
    none of more than `depth`.
    """

    found: tuple[Effect, ...]
    tried: int
    possible: int
    is_exhaustive: bool
    depth: int
    renders: int
    with_attributes: bool  # False: only removals
    reached: int

    @property
    def size(self) -> int | None:
        """The number of edits; None if no flip was found."""
        return len(self.found[0].edits) if self.found else None

    def sentence(self, by: Compared = "answer", before: str = "") -> str:
        """The result in a sentence, for the report; `before` is the answer to the unedited scene."""
        kinds = "edits" if self.with_attributes else "removals"
        does = DOES[by]
        if self.found:
            first = self.found[0]
            size = f"{self.size} {kinds[:-1] if self.size == 1 else kinds}"
            answer = first.score.answer
            becomes = (
                "the scene leaves the level set, with answer" if by == "level set" else "the answer becomes"
            )
            ending = ", which is right" if by == "truth" else ""
            if by == "truth" and answer == before:
                becomes, ending = "the answer stays", ", which is right then"
            return f"Smallest flip ({size}): {first.words}; {becomes} {answer}{ending}."
        reached = self.reached
        up_to = f"{reached} {kinds}" if reached > 1 else f"1 {kinds[:-1]}"
        if self.is_exhaustive:
            return f"No change of up to {up_to} {does} (all {self.tried} tried)."
        larger = "" if reached == self.depth else f"; none of {reached + 1} or more was tried"
        tried = f"{self.tried} of {self.possible} changes of up to {up_to}"
        return f"No flip found among {tried}, most promising first{larger}."


@dataclass(frozen=True)
class ObjectReplicates:
    """One object left out under each draw of the nuisances: confidences without it, and the mean paired difference.

    `right`: in how many draws the model is right without it; None if this is no failure, or in older files.
    """

    index: int
    confidences: tuple[Number, ...]
    effect: MeanEffect
    right: int | None = None

    @property
    def is_stable(self) -> bool:
        """Whether the whole 95% interval is below 0: removal lowers the confidence under any camera and light."""
        return self.effect.is_negative


@dataclass(frozen=True)
class JointReplicates:
    """Several objects left out together under each draw of the nuisances, as one object is in `ObjectReplicates`."""

    indices: tuple[int, ...]
    confidences: tuple[Number, ...]
    effect: MeanEffect
    right: int | None = None


@dataclass(frozen=True)
class Replicates:
    """The scene under other cameras and lights from the prior; `skipped` draws left an object too little visible.

    `together` leaves out all objects that are responsible only together; `right` counts the draws with all objects in
    which the model is right, if this is a failure.
    """

    draws: int  # requested
    every_object: bool
    skipped: int
    baseline: tuple[Number, ...]  # confidences with all objects
    objects: tuple[ObjectReplicates, ...]
    together: JointReplicates | None = None
    right: int | None = None

    def of(self, index: int) -> ObjectReplicates | None:
        """The replicates of one object, None if it was not left out."""
        return next((found for found in self.objects if found.index == index), None)


@dataclass(frozen=True)
class SaliencyMap:
    """A map (H, W), stored beside the explanation, summed over the object masks.

    `settings` is everything that it depends on besides picture and model. `peak` is the map's largest pixel (row,
    column), `peak_object` the object there, None for the background.
    """

    method: Method
    settings: Settings
    sums: tuple[Number, ...]
    pixels: tuple[int, ...]
    background: Number
    background_pixels: int
    peak: tuple[int, int]
    peak_object: int | None
    change: Number | None = None  # f(x) - f(baseline), of integrated gradients
    completeness_gap: Number | None = None  # distance of the attributions' sum from that change

    @property
    def ranking(self) -> tuple[int, ...]:
        """The objects, highest saliency first."""
        return tuple(sorted(range(len(self.sums)), key=lambda i: -self.sums[i]))


@dataclass(frozen=True)
class Saliency:
    """The maps, or the reason why there are none."""

    answers: tuple[str, ...]  # the map attributes the sum of their log probabilities
    maps: tuple[SaliencyMap, ...]
    why_none: str = ""


@dataclass(frozen=True, repr=False)
class Explanation:
    """The explanation of one hit, which `trex.explain.words` shows; parts that were not requested are None.

    `is_by_truth`: flips are judged by what `compared` says; files from before the truth was compared lack it
    (`trex.explain.stored` judges these again).
    """

    picture: Hash
    scene: AnyScene
    truth: str
    control: RenderControl
    removals: tuple[Effect, ...]
    edits: tuple[Effect, ...] | None = None
    flip: SmallestFlip | None = None
    nuisances: Replicates | None = None
    saliency: Saliency | None = None
    is_torn: bool = False  # the target wants no sure answer: a flip leaves the level set
    is_by_truth: bool = False
    format: Literal[1] = 1

    @property
    def compared(self) -> Compared:
        """What its changes are compared by."""
        return compared(self.control.score.answer, self.truth, is_torn=self.is_torn)

    @property
    def counted(self) -> list[float]:
        """The effect of each removal; of a failure, 0 for those that do not make the model right."""
        return [e.change if e.is_flip or self.compared != "truth" else 0.0 for e in self.removals]

    @property
    def strongest(self) -> int | None:
        """The object whose removal lowers the confidence most, whether it explains the hit or not.

        None if there is none, if several tie, or if the control failed.
        """
        return only(strongest([e.change for e in self.removals])) if self.control.is_exact else None

    @property
    def chief(self) -> int | None:
        """The object responsible, of several the one with the strongest effect; None if there is none, if several are
        equally responsible (their effects differ by less than NOTICEABLE), or if the control failed, so that effects
        mean nothing.
        """
        if not self.control.is_exact or not self.blame.parts:
            return None
        first, *others = self.blame.parts
        effects = [effect.change for effect in self.removals]
        is_tied = any(effects[i] - effects[first] < NOTICEABLE for i in others)
        return None if is_tied else first

    @property
    def blame(self) -> Blame:
        """All objects responsible: those whose removal is a flip, else, if this is no failure, the strongest."""
        together = [tuple(edit.index for edit in effect.edits) for effect in self.joint_removals]
        effects = [effect.change for effect in self.removals]
        flips = [effect.is_flip for effect in self.removals]
        return find_blame(effects, flips, together, only_flips=self.compared == "truth")

    @property
    def joint_removals(self) -> tuple[Effect, ...]:
        """Sets of objects whose joint removal is a flip though no single removal is; strongest first."""
        found = self.flip.found if self.flip else ()
        return tuple(e for e in found if len(e.edits) > 1 and not any(edit.attribute for edit in e.edits))

    @property
    def is_stable(self) -> bool | None:
        """Whether removing the strongest that counts lowers the confidence in other views too; None if not tested."""
        index = only(strongest(self.counted))
        found = self.nuisances.of(index) if self.nuisances and index is not None else None
        return found.is_stable if found else None
