"""Explains one hit, part by part; keeps parts that exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from trex.explain.explanation import (
    Effect,
    Explanation,
    JointReplicates,
    ObjectReplicates,
    RenderControl,
    Replicates,
    SmallestFlip,
    ranked,
)
from trex.explain.options import ExplainOptions
from trex.explain.saliency_masks import lacks_saliency, make_saliency
from trex.explain.scene_scores import SceneScores, apply_all
from trex.inference.attribution.counterfactuals import FlipLimits, smallest_flips
from trex.inference.attribution.leave_one_out import paired_effect
from trex.inference.types import Floats
from trex.scenes.edits import Edit, attribute_edits, removals
from trex.scenes.prior import draw_nuisances
from trex.scenes.scene import Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import Vocabulary
from trex.search.hit import Hit

MAX_TRIES = 100  # draws of the nuisances for each valid one
REPLICATED = 2  # objects left out under other nuisances: those with the largest effects, besides all to blame


def explain_scene(
    scores: SceneScores, found: Hit, options: ExplainOptions, old: Explanation | None
) -> Explanation:
    """The explanation of a hit with all requested parts; reuses parts of `old` that still apply."""
    made = old if old is not None and _holds(old, scores.is_torn) else _begun(scores, found)
    if options.edits and made.edits is None:
        edits = [(edit,) for edit in attribute_edits(made.scene, scores.world.plan.vocabulary)]
        made = replace(made, edits=tuple(scores.effects(made.scene, made.control.score, edits)))
    if needs_flip(made, options):
        made = replace(made, flip=_flip(scores, made, options))
    if needs_nuisances(made, options):
        made = replace(made, nuisances=_replicates(scores, made, options))
    if options.saliency and lacks_saliency(made):
        made = replace(made, saliency=make_saliency(scores, made))
    return made


def is_complete(made: Explanation | None, options: ExplainOptions, is_torn: bool) -> bool:
    """Whether an explanation has all requested parts; `is_torn` is whether the run's target wants no sure answer."""
    if made is None or not _holds(made, is_torn) or (options.edits and made.edits is None):
        return False
    is_missing = needs_flip(made, options) or needs_nuisances(made, options)
    return not is_missing and not (options.saliency and lacks_saliency(made))


def _holds(made: Explanation, is_torn: bool) -> bool:
    """Whether its effects mean something, and its flips are those of the run's target."""
    return made.control.is_exact and made.is_torn == is_torn


def needs_flip(made: Explanation, options: ExplainOptions) -> bool:
    """Whether the search for the smallest flip is missing or was made with other options."""
    if options.flip_depth < 1:
        return False
    asked = (options.flip_depth, options.flip_renders, made.edits is not None)
    return made.flip is None or (made.flip.depth, made.flip.renders, made.flip.with_attributes) != asked


def needs_nuisances(made: Explanation, options: ExplainOptions) -> bool:
    """Whether the scene still has to be scored under other nuisances."""
    if options.nuisances < 1:
        return False
    if made.nuisances is None or made.nuisances.draws < options.nuisances:
        return True
    if options.every_object and not made.nuisances.every_object:
        return True
    if not made.nuisances.baseline:
        return False
    together = made.nuisances.together
    is_joint = made.blame.how == "together" and (together is None or together.indices != made.blame.parts)
    return is_joint or any(made.nuisances.of(i) is None for i in made.blame.parts)


def _begun(scores: SceneScores, found: Hit) -> Explanation:
    """The control and the removals, which every explanation has."""
    scene = found.record.scene
    control = _control(scores, found)
    left_out = scores.effects(scene, control.score, [(edit,) for edit in removals(scene)])
    return Explanation(
        found.record.picture,
        scene,
        found.known_truth,
        control,
        tuple(left_out),
        is_torn=scores.is_torn,
        is_by_truth=True,
    )


def _control(scores: SceneScores, found: Hit) -> RenderControl:
    record, score = found.record, scores.fresh(found.record.scene)
    return RenderControl(
        score=score,
        recorded=found.confidence,
        confidence_difference=score.confidence - found.confidence,
        log_probs_difference=_greatest_gap(np.array(score.log_probs), np.array(record.log_probs)),
        is_same_picture=score.picture == record.picture,
    )


def _greatest_gap(one: Floats, other: Floats) -> float | None:
    if np.array_equal(one, other):  # treats -inf as equal to itself
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = float(np.abs(one - other).max())
    return gap if np.isfinite(gap) else None


def _flip(scores: SceneScores, made: Explanation, options: ExplainOptions) -> SmallestFlip:
    scene, base, plan = made.scene, made.control.score, scores.world.plan
    singles = [*made.removals, *(made.edits or ())]
    flips = smallest_flips(
        scores.margin(base, made.truth, base, made.compared),
        singles,
        lambda effects: _fit(scene, _edits(effects), plan.vocabulary),
        lambda sets: scores.effects(scene, base, [_edits(effects) for effects in sets]),
        FlipLimits(options.flip_depth, options.flip_renders, scores.batch),
    )
    found = flips.found
    if made.compared == "truth":
        found = ranked(found, base.answer)
    return SmallestFlip(
        found, flips.tried, flips.possible, flips.is_exhaustive,
        options.flip_depth, options.flip_renders, made.edits is not None, flips.size,
    )  # fmt: skip


def _edits(effects: Sequence[Effect]) -> tuple[Edit, ...]:
    return tuple(edit for effect in effects for edit in effect.edits)


def _fit(scene: Scene, edits: Sequence[Edit], vocabulary: Vocabulary) -> bool:
    """Whether the edits fit together: one value per attribute, and no edit of a removed object."""
    places = sorted((edit.index, edit.attribute) for edit in edits)
    clash = any(a == b or (a[0] == b[0] and not a[1]) for a, b in pairwise(places))
    return not clash and all(vocabulary.allows(item) for item in apply_all(scene, edits).objects)


def _replicates(scores: SceneScores, made: Explanation, options: ExplainOptions) -> Replicates:
    """Scene and removals under the same new draws of the nuisances, which depend on the picture's hash alone."""
    ranked = sorted(range(len(made.removals)), key=lambda i: made.removals[i].change)
    chosen = sorted(ranked if options.every_object else {*ranked[:REPLICATED], *made.blame.parts})
    scenes, skipped = _under_others(scores, made, options.nuisances)
    joint = [made.blame.parts] if made.blame.how == "together" else []
    sets = [*((i,) for i in chosen), *joint]
    every = [[scene, *(apply_all(scene, [Edit(i) for i in left]) for left in sets)] for scene in scenes]
    flat = scores.outcomes([scene for row in every for scene in row])
    if not scenes:
        return Replicates(options.nuisances, options.every_object, skipped, (), ())
    table = np.array(flat, dtype=np.float64).reshape(len(scenes), 1 + len(sets), 2)
    baseline, *columns = table[..., 0].T.tolist()
    is_failure = made.compared == "truth"
    rights = [int(n) if is_failure else None for n in table[..., 1].sum(axis=0)]
    effects = [
        (tuple(after), paired_effect(baseline, after, reach=1.0), right)
        for after, right in zip(columns, rights[1:], strict=True)
    ]
    return Replicates(
        options.nuisances,
        options.every_object,
        skipped,
        tuple(baseline),
        tuple(ObjectReplicates(i, *found) for i, found in zip(chosen, effects, strict=False)),
        JointReplicates(made.blame.parts, *effects[-1]) if joint else None,
        rights[0],
    )


def _under_others(scores: SceneScores, made: Explanation, n: int) -> tuple[list[Scene], int]:
    """The scene under n valid draws of the nuisances, and the number of invalid draws skipped."""
    rng = np.random.default_rng(int(made.picture, 16))
    scenes: list[Scene] = []
    skipped = 0
    while len(scenes) < n and skipped < MAX_TRIES * n:
        scene = replace(made.scene, nuisances=draw_nuisances(rng))
        if is_valid(scene, scores.world.plan.vocabulary):
            scenes.append(scene)
        else:
            skipped += 1
    return scenes, skipped
