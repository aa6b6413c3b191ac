"""A cause that was planted is named, and nothing else is; where the model looks at nothing, no effect is found."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.worlds.explained_worlds import (
    ALL_BUT_SALIENCY,
    NO_CUBES,
    REMOVALS_ONLY,
    CodedRenderer,
    CountsBlobs,
    Ignores,
    coded_run,
    found,
    planted_scene,
)
from trex.explain.explain_scene import explain_scene
from trex.explain.scene_scores import apply_all
from trex.families.cases import Case, families_of
from trex.families.discover import Situation, conditions_of
from trex.families.symptom import RESPONSIBLE, Failure
from trex.foundation.errors import InputError
from trex.inference.attribution.counterfactuals import FlipLimits, smallest_flips
from trex.inference.attribution.leave_one_out import margin, only, paired_effect, strongest
from trex.scenes import edits as scene_edits
from trex.scenes.edits import Edit
from trex.scenes.graph import facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, with_attribute

SEED = 20261121


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of pictures are kept here, and no power cut is feared."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def situation(scene: Scene) -> Situation:
    return Situation(facts_of(scene, NO_CUBES), (), conditions_of(NO_CUBES))


@pytest.mark.slow
def test_leaving_out_names_the_planted_cause_in_all_of_200_scenes(tmp_path: Path) -> None:
    examples = []
    with coded_run(tmp_path, CountsBlobs()) as scores:
        for index in range(200):
            scene, cause = planted_scene(SEED, index)
            explanation = explain_scene(scores, found(scores, scene), REMOVALS_ONLY, None)
            assert explanation.chief is not None
            failure = Failure(RESPONSIBLE, explanation.chief, "", "")
            examples.append(Case(situation(scene), failure, index, index))
            assert explanation.control.is_exact
            assert explanation.strongest == cause
            assert explanation.truth == "0"
            others = [effect.change for i, effect in enumerate(explanation.removals) if i != cause]
            assert others == [0.0] * 4
    prior, rng = ScenePrior(NO_CUBES, (5, 5)), np.random.default_rng(SEED)
    family, *_ = families_of(examples, [situation(prior.sample(rng)) for _ in range(150)], NO_CUBES)
    words = "The model is wrong, and becomes right without a red metal cylinder"
    # In these scenes, not in those of the prior, it is the nearest object, and other cylinders are rubber.
    assert family.words == f"{words} where it is nearer than a rubber object."
    assert family.size >= 199 and family.is_clear


@pytest.mark.slow
def test_attribute_edits_find_color_material_and_shape_and_nothing_else(tmp_path: Path) -> None:
    with coded_run(tmp_path, CountsBlobs()) as scores:
        for index in range(8):
            scene, cause = planted_scene(SEED, index)
            explanation = explain_scene(scores, found(scores, scene), ALL_BUT_SALIENCY, None)
            assert explanation.edits is not None
            flips = {effect.edits[0] for effect in explanation.edits if effect.is_flip}
            assert flips == {
                Edit(cause, attribute, value)
                for attribute in ("shape", "color", "material")
                for value in NO_CUBES.available(attribute)
                if value != getattr(scene.objects[cause], attribute)
            }
            sizes = [effect for effect in explanation.edits if effect.edits[0].attribute == "size"]
            assert len(sizes) == 5
            assert all(effect.change == 0.0 for effect in sizes)
            assert explanation.flip is not None
            assert explanation.flip.size == 1
            assert {effect.edits[0] for effect in explanation.flip.found} == flips | {Edit(cause)}


def test_a_model_that_ignores_the_picture_blames_no_object(tmp_path: Path) -> None:
    with coded_run(tmp_path, Ignores()) as scores:
        scene, _ = planted_scene(SEED, 0)
        explanation = explain_scene(scores, found(scores, scene), ALL_BUT_SALIENCY.changed(nuisances=3), None)
    assert explanation.edits is not None
    assert explanation.flip is not None
    assert explanation.nuisances is not None
    assert {effect.change for effect in (*explanation.removals, *explanation.edits)} == {0.0}
    assert strongest(explanation.counted) == ()
    assert (explanation.flip.found, explanation.flip.size, explanation.flip.is_exhaustive) == (
        (),
        None,
        False,
    )
    assert explanation.flip.tried == len(explanation.removals) + len(explanation.edits) + 40
    assert explanation.flip.possible > explanation.flip.tried
    deeper = replace(explanation.flip, depth=3)
    assert "of up to 2 edits" in deeper.sentence() and "none of 3 or more was tried" in deeper.sentence()
    assert "was tried" not in explanation.flip.sentence()
    assert [found.effect.mean for found in explanation.nuisances.objects] == [0.0, 0.0]
    assert not any(found.is_stable for found in explanation.nuisances.objects)


def test_the_planted_cause_stays_one_under_other_lights(tmp_path: Path) -> None:
    with coded_run(tmp_path, CountsBlobs()) as scores:
        scene, cause = planted_scene(SEED, 1)
        options = REMOVALS_ONLY.changed(nuisances=4, every_object=True)
        explanation = explain_scene(scores, found(scores, scene), options, None)
    assert explanation.nuisances is not None
    assert explanation.is_stable
    assert [replicates.is_stable for replicates in explanation.nuisances.objects] == [
        i == cause for i in range(5)
    ]
    assert len(explanation.nuisances.baseline) == 4


def left_out_only(scene: Scene, rendered: Sequence[Scene]) -> bool:
    """Whether, after the control, each object is left out in turn with all else identical."""
    n = len(scene.objects)
    due = [replace(scene, objects=scene.objects[:i] + scene.objects[i + 1 :]) for i in range(n)]
    return list(rendered[-n - 1 :]) == [scene, *due]


def test_all_else_is_identical_where_an_object_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D3 of the published code is planted: its leave-one-out also turned every other object."""
    real = scene_edits.leave_out

    def turning(scene: Scene, index: int) -> Scene:
        smaller = real(scene, index)
        return replace(smaller, objects=tuple(replace(item, rotation=0.35) for item in smaller.objects))

    renderer = CodedRenderer()
    scene, _ = planted_scene(SEED, 2)
    with coded_run(tmp_path, CountsBlobs(), renderer) as scores:
        explain_scene(scores, found(scores, scene), REMOVALS_ONLY, None)
        assert left_out_only(scene, renderer.rendered)
        monkeypatch.setattr(scene_edits, "leave_out", turning)
        explain_scene(scores, found(scores, scene), REMOVALS_ONLY, None)
        assert not left_out_only(scene, renderer.rendered)


def test_two_causes_take_two_edits(tmp_path: Path) -> None:
    """Where the model says one cube if any cause is there, both have to go."""

    class SaysOneIfAny(CountsBlobs):
        def log_probs(self, images: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
            rows = super().log_probs(images)
            for row in rows:
                best = int(row.argmax())
                row[[1, best]] = row[[best, 1]] if best > 1 else row[[1, best]]
            return rows

    scene, cause = planted_scene(SEED, 3)
    second = max(range(5), key=lambda i: (i != cause, abs(scene.objects[i].y - scene.objects[cause].y)))
    item = scene.objects[second]
    for attribute, value in (("color", "red"), ("material", "metal"), ("shape", "cylinder")):
        item = with_attribute(item, attribute, value)
    scene = replace(scene, objects=(*scene.objects[:second], item, *scene.objects[second + 1 :]))
    with coded_run(tmp_path, SaysOneIfAny()) as scores:
        explanation = explain_scene(
            scores, found(scores, scene), ALL_BUT_SALIENCY.changed(edits=False, flip_renders=10), None
        )
        bounded = explain_scene(scores, found(scores, scene), ALL_BUT_SALIENCY.changed(flip_depth=1), None)
    assert only(strongest(explanation.counted)) is None
    assert explanation.flip is not None
    assert (explanation.flip.size, explanation.flip.is_exhaustive) == (2, True)
    assert [effect.edits for effect in explanation.flip.found] == [
        tuple(sorted((Edit(cause), Edit(second)), key=lambda e: e.index))
    ]
    assert explanation.flip.found[0].score.answer == "0"
    assert bounded.flip is not None
    assert (bounded.flip.size, bounded.flip.is_exhaustive) == (None, True)
    assert "No change of up to 1 edit" in bounded.flip.sentence()


def test_edits_name_objects_of_the_unedited_scene() -> None:
    scene, _ = planted_scene(SEED, 4)
    edited = apply_all(scene, [Edit(1), Edit(3, "color", "cyan"), Edit(0)])
    assert edited.objects == (
        scene.objects[2],
        with_attribute(scene.objects[3], "color", "cyan"),
        scene.objects[4],
    )


def test_margin() -> None:
    probs = np.log([0.5, 0.3, 0.2])
    assert margin(probs, 0) == pytest.approx(np.log(5 / 3))
    assert margin(probs, 2) == pytest.approx(np.log(2 / 5))
    with np.errstate(divide="ignore"):
        assert margin(np.log([1.0, 0.0]), 0) == 745.0
    with pytest.raises(InputError):
        margin(np.zeros(1), 0)


class Bits:
    """A change of some of many bits; the answer flips where all of `cause` are changed."""

    def __init__(self, bits: frozenset[int], cause: frozenset[int]) -> None:
        self.bits, self.margin = bits, float(len(cause) - len(bits & cause)) - 0.5
        self.is_flip = self.margin < 0


@pytest.mark.parametrize(("size", "n"), list(product((1, 2, 3), (4, 7))))
def test_the_smallest_flip_is_the_smallest(size: int, n: int) -> None:
    cause = frozenset(range(1, 1 + size))
    singles = [Bits(frozenset([k]), cause) for k in range(n)]

    def score(sets: Sequence[tuple[Bits, ...]]) -> list[Bits]:
        return [Bits(frozenset().union(*(change.bits for change in changes)), cause) for changes in sets]

    for depth in (1, 2, 3):
        flips = smallest_flips(size - 0.5, singles, lambda _: True, score, FlipLimits(depth, 100, 2))
        assert [change.bits for change in flips.found] == ([cause] if depth >= size else [])
        assert flips.is_exhaustive
    poor = smallest_flips(size - 0.5, singles, lambda _: True, score, FlipLimits(3, 0, 2))
    assert bool(poor.found) == poor.is_exhaustive == (size == 1)
    assert poor.size == (1 if size == 1 else 2)  # sets of three were never counted
    if size == 2:  # the most promising pair comes first
        assert len(smallest_flips(1.5, singles, lambda _: True, score, FlipLimits(2, 1, 1)).found) == 1


def coverage(interval: object, rng: np.random.Generator, trials: int) -> float:
    """How often an interval of 5 pairs holds the true effect -.1; the pairs share most of their spread."""
    held = 0
    for _ in range(trials):
        before = rng.normal(0.0, 1.0, 5)
        after = before - 0.1 + rng.normal(0.0, 0.05, 5)
        low, high = interval(before, after)  # type: ignore[operator]
        held += low <= -0.1 <= high
    return held / trials


def test_the_interval_covers_the_effect_and_needs_the_pairs() -> None:
    def paired(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:  # type: ignore[type-arg]
        found = paired_effect(before.tolist(), after.tolist())
        assert found.low is not None
        assert found.high is not None
        return found.low, found.high

    def unpaired(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:  # type: ignore[type-arg]
        """Planted: the draws of one side in another order."""
        return paired(before, np.roll(after, 1))

    rng, trials = np.random.default_rng(SEED), 2000
    slack = 4.6 * np.sqrt(0.05 * 0.95 / trials)  # two-sided 1e-5 / 2 of the normal is 4.6 standard errors
    assert abs(coverage(paired, rng, trials) - 0.95) < slack
    wide = [high - low for low, high in (unpaired(*pair) for pair in pairs(rng, 200))]
    narrow = [high - low for low, high in (paired(*pair) for pair in pairs(rng, 200))]
    assert np.mean(wide) > 5 * np.mean(narrow)


def pairs(rng: np.random.Generator, n: int) -> list[tuple[np.ndarray, np.ndarray]]:  # type: ignore[type-arg]
    befores = rng.normal(0.0, 1.0, (n, 5))
    return [(before, before - 0.1 + rng.normal(0.0, 0.05, 5)) for before in befores]


def test_the_pairs_of_a_replicate_share_their_nuisances(tmp_path: Path) -> None:
    """Scene and removals are rendered under the same draws, all different, none of them the found scene's own."""
    renderer = CodedRenderer()
    scene, _ = planted_scene(SEED, 5)
    with coded_run(tmp_path, CountsBlobs(), renderer) as scores:
        explanation = explain_scene(scores, found(scores, scene), REMOVALS_ONLY.changed(nuisances=3), None)
    assert explanation.nuisances is not None
    chosen = [replicates.index for replicates in explanation.nuisances.objects]
    rows = [
        renderer.rendered[k : k + 3] for k in range(len(renderer.rendered) - 9, len(renderer.rendered), 3)
    ]
    for row in rows:
        assert len({z.nuisances for z in row}) == 1
        assert row[0].objects == scene.objects
        assert [z.objects for z in row[1:]] == [scene_edits.leave_out(scene, i).objects for i in chosen]
    assert len({row[0].nuisances for row in rows} | {scene.nuisances}) == 4


def test_an_interval_of_one_or_of_bounded_differences() -> None:
    effect = paired_effect([1.0], [0.0])
    assert (effect.mean, effect.low, effect.is_negative) == (-1.0, None, False)
    cut = paired_effect([1.0, 1.0], [0.0, 0.9], reach=1.0)
    assert (cut.low, cut.is_negative) == (-1.0, False)
    saturated = paired_effect([1.0] * 5, [0.0] * 5, reach=1.0)
    assert (saturated.low, saturated.is_negative) == (-1.0, True)
    assert saturated.high == pytest.approx(-1.0 + 2.0 * (1.0 - 0.05**0.2))
    assert not paired_effect([1.0] * 2, [0.0] * 2, reach=1.0).is_negative


@pytest.mark.parametrize("share", [0.7, 0.8, 0.9])
def test_five_falls_that_are_nearly_alike_do_not_make_the_interval_a_point(share: float) -> None:
    """Planted bug: Student's interval alone, which held the mean in 41% to 83% of cases."""
    rng, held, student, repeats = np.random.default_rng(13), 0, 0, 500
    truth = -0.94 * share
    for _ in range(repeats):
        before = rng.normal(0.96, 0.01, 5).clip(0.0, 1.0)
        after = np.where(rng.random(5) < share, rng.normal(0.02, 0.005, 5), before).clip(0.0, 1.0)
        found = paired_effect(before.tolist(), after.tolist(), reach=1.0)
        alone = paired_effect(before.tolist(), after.tolist())
        held += found.low is not None and found.high is not None and found.low <= truth <= found.high
        student += alone.low is not None and alone.high is not None and alone.low <= truth <= alone.high
    assert held / repeats > 0.95 and student / repeats < 0.9


def test_small_falls_do_not_hide_that_the_confidence_may_rise_much_in_a_view_not_seen() -> None:
    """The confidence falls by 3 points in nine views of ten and rises by 90 in the tenth, by 6 in the mean. Planted
    bug: five falls of 3 points were called a fall with 95%."""
    rng, falls, student, repeats = np.random.default_rng(14), 0, 0, 500
    for _ in range(repeats):
        rare = rng.random(5) < 0.1
        before = np.where(rare, 0.05, 0.95)
        after = np.where(rare, 0.95, before - 0.03 + rng.normal(0.0, 0.01, 5))
        falls += paired_effect(before.tolist(), after.tolist(), reach=1.0).is_negative
        student += paired_effect(before.tolist(), after.tolist()).is_negative
    assert falls / repeats < 0.025 and student / repeats > 0.3
    assert paired_effect([0.97] * 5, [0.02] * 5, reach=1.0).is_negative


@pytest.mark.parametrize("share", [0.7, 0.8, 0.9])
def test_answers_that_fall_under_most_cameras_alike_do_not_make_the_interval_a_point(share: float) -> None:
    """Planted bug: five equal differences gave an interval of width 0, which held the mean in 41% of cases."""
    rng, held, repeats = np.random.default_rng(12), 0, 500
    for _ in range(repeats):
        fell = (rng.random(5) < share).astype(float)
        low, high = (found := paired_effect([1.0] * 5, (1.0 - fell).tolist(), reach=1.0)).low, found.high
        held += low is not None and high is not None and low <= -share <= high
    assert held / repeats > 0.95
    with pytest.raises(InputError):
        paired_effect([], [])
