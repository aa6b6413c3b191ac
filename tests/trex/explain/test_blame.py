"""Every object to blame is named: each that changes the answer alone, or those that do so only together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.worlds.explained_worlds import (
    ALL_BUT_SALIENCY,
    CAUSE,
    CountsBlobs,
    coded_run,
    found,
    planted_scene,
)
from trex.clevr_models.interface.answers import ANSWERS
from trex.explain.explain_scene import explain_scene, is_complete, needs_nuisances
from trex.explain.explanation import Explanation
from trex.explain.stored import CODEC, check_parts
from trex.explain.view import RED, make_strip
from trex.explain.words import sentence, stability_sentences
from trex.inference.attribution.blame import Blame, find_blame
from trex.runs.pictures import read_picture
from trex.scenes.describe import object_words
from trex.scenes.edits import Edit
from trex.scenes.scene import Scene, with_attribute

SEED = 20_265


@dataclass(frozen=True)
class NeedsAll(CountsBlobs):
    """Sure of one cube as long as at least `least` red metal cylinders are seen."""

    least: int = 2

    def row(self, pixels: NDArray[np.float32]) -> NDArray[np.float64]:
        row = super().row(pixels)
        count = int(row.argmax()) if row.max() > np.log(0.5) else 0
        wanted = ANSWERS.index("1" if count >= self.least else "0")
        best = int(row.argmax())
        row[[wanted, best]] = row[[best, wanted]] if wanted != best else row[[wanted, best]]
        return row


def two_causes(index: int) -> tuple[Scene, tuple[int, int]]:
    """A scene with two red metal cylinders far from each other."""
    scene, cause = planted_scene(SEED, index)
    other = max(range(5), key=lambda i: (i != cause, abs(scene.objects[i].y - scene.objects[cause].y)))
    item = scene.objects[other]
    for attribute, value in CAUSE.items():
        item = with_attribute(item, attribute, value)
    scene = replace(scene, objects=(*scene.objects[:other], item, *scene.objects[other + 1 :]))
    return scene, (min(cause, other), max(cause, other))


def explained(tmp_path: Path, least: int) -> tuple[Explanation, Scene, tuple[int, int], NDArray[np.bool_]]:
    """Two causes of which `least` have to be there; and where the strip's first picture is red."""
    scene, causes = two_causes(3)
    options = replace(ALL_BUT_SALIENCY, edits=False, nuisances=3)
    with coded_run(tmp_path, NeedsAll(ANSWERS, least)) as scores:
        made = explain_scene(scores, found(scores, scene), options, None)
        strip = make_strip(scores.folder, made)
        _, mask = read_picture(scores.folder, made.control.score.picture)
        assert is_complete(made, options)
        assert "red outline" in strip.shots[0].words
        marked = [k - 1 for k, shot in enumerate(strip.shots) if shot.is_culprit]
        assert tuple(marked) == causes
        assert strip.sentences[0] == sentence(made)
        assert strip.sentences[1:3] == stability_sentences(made)
        assert strip.effect == min(made.removals[i].change for i in causes)
    return made, scene, causes, mask == 0


def test_two_objects_that_each_change_the_answer_are_both_named(tmp_path: Path) -> None:
    made, scene, causes, _ = explained(tmp_path, 2)
    assert [effect.is_flip for effect in made.removals].count(True) == 2
    assert (made.blame.how, tuple(sorted(made.blame.parts))) == ("either", causes)
    says = sentence(made)
    assert "are to blame: leaving out either one changes the answer (confidence −" in says
    for index in causes:
        assert f"the {object_words(scene, index)} (object {index})" in says[0].lower() + says[1:]
    assert len(stability_sentences(made)) == 2
    assert all("other cameras and lights" in each for each in stability_sentences(made))


def test_two_objects_that_change_the_answer_only_together_are_named_together(tmp_path: Path) -> None:
    made, _, causes, _ = explained(tmp_path, 1)
    assert not any(effect.is_flip for effect in made.removals)
    assert (made.blame.how, tuple(sorted(made.blame.parts))) == ("together", causes)
    assert "are to blame, both together: leaving out both makes the answer 0, leaving out fewer" in sentence(
        made
    )


def test_all_that_change_the_answer_are_repeated_under_other_lights(tmp_path: Path) -> None:
    scene, _ = planted_scene(SEED, 5)
    with coded_run(tmp_path, CountsBlobs()) as scores:
        options = replace(ALL_BUT_SALIENCY, edits=False, nuisances=2)
        made = explain_scene(scores, found(scores, scene), options, None)
    flipping = replace(made, removals=tuple(replace(effect, is_flip=True) for effect in made.removals))
    assert not needs_nuisances(made, options)
    assert needs_nuisances(flipping, options)  # as an older version left it: two of five


def test_an_explanation_of_before_is_read_and_gets_its_blame(tmp_path: Path) -> None:
    made, *_ = explained(tmp_path, 2)
    text = CODEC.text(made)
    assert '"blame"' not in text  # what follows from the rest is not kept, so old files say as much
    assert CODEC.parse(text, "explanations/x.json", "delete it", check_parts).blame == made.blame


def test_how_objects_are_to_blame() -> None:
    assert find_blame([-0.5, -0.9, -0.1], [True, True, False]) == Blame("either", (1, 0))
    assert find_blame([-0.5, -0.9, -0.1], [False, True, False]) == Blame("alone", (1,))
    assert find_blame([-0.2, -0.3, 0.0], [False] * 3, [(0, 1)]) == Blame("together", (1, 0))
    assert find_blame([-0.2, -0.3, 0.0], [False, True, False], [(0, 2)]) == Blame("alone", (1,))
    assert find_blame([-0.2, -0.3, 0.0], [False] * 3) == Blame("most", (1,))
    assert find_blame([-0.3, -0.301, 0.0], [False] * 3) == Blame("alike", (0, 1))
    assert find_blame([0.0, 0.2], [False] * 2) == Blame("none")
    assert not find_blame([0.0], [False]).is_flip


def test_edits_are_no_joint_removals(tmp_path: Path) -> None:
    made, *_ = explained(tmp_path, 1)
    assert made.flip is not None
    changed = replace(made.flip.found[0], edits=(Edit(0), Edit(1, "color", "cyan")))
    assert replace(made, flip=replace(made.flip, found=(changed,))).joint_removals == ()
    assert RED.tolist() == [215, 38, 30]
