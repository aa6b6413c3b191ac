"""Renders and scores edited scenes of a run: in batches, with a cache, keeping the pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from trex.explain.compared import Compared, compared, distance_from_right, is_right
from trex.explain.explanation import Effect, Score
from trex.explain.stored import FOLDER
from trex.inference.attribution.leave_one_out import margin
from trex.inference.scoring import Scored, Scorer
from trex.query.target import leaves_answer_open
from trex.render.cache import CachedRenderer
from trex.render.picture import Bytes
from trex.render.renderer import SceneRenderer
from trex.runs.folder import RunFolder
from trex.runs.pictures import as_bytes, store_picture
from trex.scenes.edits import Edit
from trex.scenes.questions.truth import true_answer
from trex.scenes.scene import Scene
from trex.scenes.validity import is_valid
from trex.worlds.latents import Latent
from trex.worlds.world import OpenWorld

CACHE = "cache"  # below explanations/


@dataclass(frozen=True)
class SceneScores:
    """The renderer and the model of a run, with a cache; `on_pictures` gets the number just scored."""

    world: OpenWorld
    folder: RunFolder
    cached: Scorer[Latent]
    on_pictures: Callable[[int], None]

    @property
    def batch(self) -> int:
        """The number of scenes that the renderer takes at once."""
        plan = self.world.plan
        return max(8, 4 * (plan.processes or plan.query.render.processes or 0))

    @property
    def is_torn(self) -> bool:
        """Whether a hit need not be answered as the target says, so that another answer is no flip."""
        plan = self.world.plan
        return leaves_answer_open(plan.query.target, plan.question, plan.bound.labels)

    def compared(self, scene: Scene, base: Score) -> Compared:
        """What changes of a scene with score `base` are compared by."""
        truth = true_answer(self.world.plan.question.program, scene)
        return compared(base.answer, truth, is_torn=self.is_torn)

    def margin(self, score: Score, truth: str, base: Score, by: Compared) -> float:
        """How far a score is from a flip of `base`, if `truth` is the true answer; see `Effect`."""
        plan, log_probs = self.world.plan, np.array(score.log_probs)
        if by == "level set":
            return plan.target.margin(log_probs)
        if by == "truth":
            return distance_from_right(log_probs, plan.bound.labels, truth)
        return margin(log_probs, plan.bound.labels.index(base.answer))

    def _is_flip(self, score: Score, truth: str, base: Score, by: Compared) -> bool:
        if by == "level set":
            return not self.world.plan.target.is_hit(np.array(score.log_probs))
        return is_right(score.answer, truth) if by == "truth" else score.answer != base.answer

    def fresh(self, scene: Scene) -> Score:
        """Score a scene rendered past the cache."""
        (scored,) = self.world.scorer.score([scene])
        self.on_pictures(1)
        return self._score(scored)

    def outcomes(self, scenes: Sequence[Scene]) -> list[tuple[float, bool]]:
        """For each scene the target's confidence, and whether the model is right; pictures stay in the cache only."""
        plan, found = self.world.plan, self._scored(scenes)
        truths = [true_answer(plan.question.program, scene) for scene in scenes]
        return [
            (
                plan.target.confidence(scored.log_probs),
                is_right(plan.bound.labels[int(scored.log_probs.argmax())], truth),
            )
            for scored, truth in zip(found, truths, strict=True)
        ]

    def pixels(self, scene: Scene) -> Bytes:
        """The pixels (H, W, 3), 0-255; the picture stays in the cache only."""
        (picture,) = self.cached.renderer.render([scene])
        self.on_pictures(1)
        return as_bytes(picture.pixels)

    def effects(self, scene: Scene, base: Score, sets: Sequence[tuple[Edit, ...]]) -> list[Effect]:
        """The effect of each set of edits on a scene with score `base`."""
        edited = [apply_all(scene, edits) for edits in sets]
        by = self.compared(scene, base)
        return [
            self._effect(scene, (base, by), edits, new, self._score(scored))
            for edits, new, scored in zip(sets, edited, self._scored(edited), strict=True)
        ]

    def _scored(self, scenes: Sequence[Scene]) -> list[Scored]:
        found: list[Scored] = []
        for start in range(0, len(scenes), self.batch):
            found += self.cached.score(scenes[start : start + self.batch])
            self.on_pictures(len(found) - start)
        return found

    def _score(self, scored: Scored) -> Score:
        plan, picture = self.world.plan, scored.picture
        assert picture is not None, "it was rendered just now"
        return Score(
            answer=plan.bound.labels[int(scored.log_probs.argmax())],
            confidence=plan.target.confidence(scored.log_probs),
            log_probs=tuple(scored.log_probs.tolist()),
            picture=store_picture(self.folder, picture),
        )

    def _effect(
        self,
        scene: Scene,
        against: tuple[Score, Compared],
        edits: tuple[Edit, ...],
        edited: Scene,
        score: Score,
    ) -> Effect:
        plan, (base, by) = self.world.plan, against
        truth = true_answer(plan.question.program, edited)
        return Effect(
            edits=edits,
            words=" and ".join(edit.describe(scene) for edit in edits),
            score=score,
            change=score.confidence - base.confidence,
            margin=self.margin(score, truth, base, by),
            is_flip=self._is_flip(score, truth, base, by),
            truth=truth,
            is_valid=is_valid(edited, plan.vocabulary),
        )


def open_scores(world: OpenWorld, folder: RunFolder, on_pictures: Callable[[int], None]) -> SceneScores:
    """The scores of a run's world, pictures cached below its explanations."""
    cache = CachedRenderer(cast(SceneRenderer, world.renderer), folder.path / FOLDER / CACHE)
    scorer = replace(world.scorer, renderer=cache)
    return SceneScores(world, folder, scorer, on_pictures)


def apply_all(scene: Scene, edits: Sequence[Edit]) -> Scene:
    """The scene after all edits; each names its object by its index in the unedited scene."""
    in_order = sorted(
        edits, key=lambda edit: (not edit.attribute, -edit.index)
    )  # removals last, highest index first
    for edit in in_order:
        scene = edit.apply(scene)
    return scene
