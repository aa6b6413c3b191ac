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
from trex.explain.words import ShownExplanation
from trex.inference.attribution.counterfactuals import FlipLimits, smallest_flips
from trex.inference.attribution.leave_one_out import paired_effect
from trex.inference.types import Floats
from trex.scenes.edits import Edit, attribute_edits, removals
from trex.scenes.scene import Scene
from trex.scenes.views import other_views
from trex.scenes.vocabulary import Vocabulary
from trex.search.hit import Hit

REPLICATED = (
    2  # objects left out under other nuisances: those with the largest effects, besides all responsible
)


def explain_scene(
    scores: SceneScores, found: Hit, options: ExplainOptions, old: Explanation | None
) -> Explanation:
    """The explanation of a hit with all requested parts; reuses parts of `old` that still apply."""
    explanation = old if old is not None and _holds(old, scores.is_torn) else _begun(scores, found)
    if options.edits and explanation.edits is None:
        edits = [(edit,) for edit in attribute_edits(explanation.scene, scores.world.plan.vocabulary)]
        explanation = replace(
            explanation, edits=tuple(scores.effects(explanation.scene, explanation.control.score, edits))
        )
    if needs_flip(explanation, options):
        explanation = replace(explanation, flip=_flip(scores, explanation, options))
    if needs_nuisances(explanation, options):
        explanation = replace(explanation, nuisances=_replicates(scores, explanation, options))
    if options.saliency and lacks_saliency(explanation):
        explanation = replace(explanation, saliency=make_saliency(scores, explanation))
    return explanation


def is_complete(explanation: Explanation | None, options: ExplainOptions, is_torn: bool) -> bool:
    """Whether an explanation has all requested parts; `is_torn` is whether the run's target wants no sure answer."""
    if (
        explanation is None
        or not _holds(explanation, is_torn)
        or (options.edits and explanation.edits is None)
    ):
        return False
    is_missing = needs_flip(explanation, options) or needs_nuisances(explanation, options)
    return not is_missing and not (options.saliency and lacks_saliency(explanation))


def _holds(explanation: Explanation, is_torn: bool) -> bool:
    """Whether its effects mean something, and its flips are those of the run's target."""
    return explanation.control.is_exact and explanation.is_torn == is_torn


def needs_flip(explanation: Explanation, options: ExplainOptions) -> bool:
    """Whether the search for the smallest flip is missing or was made with other options."""
    if options.flip_depth < 1:
        return False
    request = (options.flip_depth, options.flip_renders, explanation.edits is not None)
    return (
        explanation.flip is None
        or (explanation.flip.depth, explanation.flip.renders, explanation.flip.with_attributes) != request
    )


def needs_nuisances(explanation: Explanation, options: ExplainOptions) -> bool:
    """Whether the scene still has to be scored under other nuisances."""
    if options.nuisances < 1:
        return False
    if explanation.nuisances is None or explanation.nuisances.draws < options.nuisances:
        return True
    if options.every_object and not explanation.nuisances.every_object:
        return True
    if not explanation.nuisances.baseline:
        return False
    together = explanation.nuisances.together
    is_joint = explanation.blame.how == "together" and (
        together is None or together.indices != explanation.blame.parts
    )
    return is_joint or any(explanation.nuisances.of(i) is None for i in explanation.blame.parts)


def _begun(scores: SceneScores, found: Hit) -> Explanation:
    """The control and the removals, which every explanation has."""
    scene = found.record.scene
    control = _control(scores, found)
    left_out = scores.effects(scene, control.score, [(edit,) for edit in removals(scene)])
    return ShownExplanation(
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


def _greatest_gap(array: Floats, other: Floats) -> float | None:
    if np.array_equal(array, other):  # treats -inf as equal to itself
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = float(np.abs(array - other).max())
    return gap if np.isfinite(gap) else None


def _flip(scores: SceneScores, explanation: Explanation, options: ExplainOptions) -> SmallestFlip:
    scene, base, plan = explanation.scene, explanation.control.score, scores.world.plan
    singles = [*explanation.removals, *(explanation.edits or ())]
    flips = smallest_flips(
        scores.margin(base, explanation.truth, base, explanation.compared),
        singles,
        lambda effects: _fit(scene, _edits(effects), plan.vocabulary),
        lambda sets: scores.effects(scene, base, [_edits(effects) for effects in sets]),
        FlipLimits(options.flip_depth, options.flip_renders, scores.batch),
    )
    found = flips.found
    if explanation.compared == "truth":
        found = ranked(found, base.answer)
    return SmallestFlip(
        found, flips.tried, flips.possible, flips.is_exhaustive,
        options.flip_depth, options.flip_renders, explanation.edits is not None, flips.size,
    )  # fmt: skip


def _edits(effects: Sequence[Effect]) -> tuple[Edit, ...]:
    return tuple(edit for effect in effects for edit in effect.edits)


def _fit(scene: Scene, edits: Sequence[Edit], vocabulary: Vocabulary) -> bool:
    """Whether the edits fit together: one value per attribute, and no edit of a removed object."""
    places = sorted((edit.index, edit.attribute) for edit in edits)
    clash = any(a == b or (a[0] == b[0] and not a[1]) for a, b in pairwise(places))
    return not clash and all(vocabulary.allows(item) for item in apply_all(scene, edits).objects)


def _replicates(scores: SceneScores, explanation: Explanation, options: ExplainOptions) -> Replicates:
    """Scene and removals under the same new draws of the nuisances, which depend on the picture's hash alone."""
    ranked = sorted(range(len(explanation.removals)), key=lambda i: explanation.removals[i].change)
    chosen = sorted(ranked if options.every_object else {*ranked[:REPLICATED], *explanation.blame.parts})
    rng = np.random.default_rng(int(explanation.picture, 16))
    vocabulary = scores.world.plan.vocabulary
    scenes, skipped = other_views(rng, explanation.scene, options.nuisances, vocabulary)
    joint = [explanation.blame.parts] if explanation.blame.how == "together" else []
    sets = [*((i,) for i in chosen), *joint]
    every = [[scene, *(apply_all(scene, [Edit(i) for i in left]) for left in sets)] for scene in scenes]
    flat = scores.outcomes([scene for row in every for scene in row])
    if not scenes:
        return Replicates(options.nuisances, options.every_object, skipped, (), ())
    table = np.array(flat, dtype=np.float64).reshape(len(scenes), 1 + len(sets), 2)
    baseline, *columns = table[..., 0].T.tolist()
    is_failure = explanation.compared == "truth"
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
        JointReplicates(explanation.blame.parts, *effects[-1]) if joint else None,
        rights[0],
    )
