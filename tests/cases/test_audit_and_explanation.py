"""Situations in which a sentence was judged by less than it says, or a change by less than the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.trex.auditing.in_memory import FEW, Row, scenes
from tests.trex.auditing.judging.test_findings import asked_again
from tests.trex.auditing.judging.test_whole_sentence import (
    MADE,
    REST,
    cube,
    is_hit,
    mostly_cube,
    mostly_other,
    other,
    plain_asker,
    rows_of,
)
from tests.trex.explain.test_truth import REMOVALS, Counts, as_one_more, made_of, scene_of
from tests.worlds.explained_worlds import ALL_BUT_SALIENCY, coded_run, found
from trex.auditing.compare import Other, beside
from trex.auditing.judging.findings import Finding, findings, in_held_out
from trex.auditing.judging.membership import Membership, memberships_of, situations
from trex.auditing.records import Examined, Mistake
from trex.clevr_models.interface.answers import ANSWERS
from trex.explain.explain_scene import explain_scene
from trex.explain.words import sentence, sentences
from trex.families.discover import discover
from trex.inference.attribution.blame import Blame
from trex.scenes.misreading import Misreading
from trex.scenes.questions.families import FAMILIES, SceneQuestion
from trex.scenes.questions.programs import Step
from trex.scenes.questions.truth import NO_ANSWER
from trex.scenes.scene import Nuisances, Scene, SceneObject
from trex.scenes.vocabulary import CLEVR


def colored(value: str, part: slice) -> list[Row]:
    """Scenes in which small objects at the back are seen in this color; every third in it, "mixed"."""
    rows, number = [], 0
    for at, facts in list(enumerate(scenes(FEW)[0]))[part]:
        read = []
        for index, item in enumerate(facts.scene.objects):
            if is_hit(item):
                seen = {"mixed": ("green", "red", "blue")[number % 3]}.get(value, value)
                number += 1
                if seen != item.color:
                    read.append(Misreading("color", index, seen))
        rows.append((facts, Examined(at, (), (), tuple(read), facts.shares, facts.hiders)))
    return rows


@pytest.mark.parametrize(("text", "words"), [("green", "as green"), ("mixed", "in another color")])
def test_a_color_that_a_slice_is_named_after(text: str, words: str) -> None:
    """Descriptions of slices are made from the examples that formed them, and others are asked for errors alone."""
    families = discover(situations(colored("green", MADE), plain_asker()), CLEVR)
    assert "as green" in families[0].words
    (seen, *_) = in_held_out(families, situations(colored(text, REST), plain_asker()))
    assert words in seen.family.words and seen.p_value < 0.01


def test_a_value_that_made_scenes_do_not_agree_on_is_not_named_later() -> None:
    """The judging scenes may take a value away; they must not add the one that they happen to show."""
    families = discover(situations(rows_of(mostly_other, MADE), plain_asker()), CLEVR)
    assert families[0].value == ""
    (seen, *_) = in_held_out(families, situations(rows_of(cube, REST), plain_asker()))
    assert "another shape" in seen.family.words


def found_in(see: object, tested: object = None) -> list[Finding]:
    families = discover(situations(rows_of(cube, MADE), plain_asker()), CLEVR)
    judging = situations(rows_of(mostly_cube, REST), plain_asker())
    seen = in_held_out(families, judging)
    every = [(k, row) for k, each in enumerate(seen) for row in judging if row.examined.misread]
    stay = [replace(asked_again(True, 0.97, family=k), scene=row.examined.scene) for k, row in every]
    return findings(seen, stay, memberships_of([held_out.family for held_out in seen], judging), {})


def test_a_folder_of_an_older_audit_does_not_show_its_other_examples() -> None:
    """It asked again about every object of another shape: those taken for no cube are not counted as staying."""
    first = found_in(mostly_cube)[0]
    cubes = {
        examined.scene
        for _, examined in rows_of(mostly_cube, REST)
        if "cube" in {r.value for r in examined.misread}
    }
    every = {examined.scene for _, examined in rows_of(mostly_cube, REST) if examined.misread}
    assert {row.scene for row in first.stayed} == cubes < every
    assert first.stays.count == first.fails.count == len(cubes)


def test_another_model_that_takes_them_for_something_else_does_not_fail_so() -> None:
    """Two models that confuse the same class with different ones do not share a failure."""
    chosen = found_in(mostly_cube)[:1]
    remaining = rows_of(mostly_cube, REST)
    theirs = Other("other", tuple(examined for _, examined in rows_of(other, REST)))
    (pair,) = beside(remaining, theirs, chosen, len(chosen), plain_asker()).families.values()
    assert pair.both == pair.only_second == 0 < pair.only_first == chosen[0].fails.count


def count(shape: str) -> tuple[Step, ...]:
    return (Step("scene"), Step("filter_shape", (0,), (shape,)), Step("count", (1,)))


@pytest.mark.parametrize(
    ("kind", "value", "text", "is_failure"),
    [
        ("missed", "", "1", True),  # of two spheres one is missed
        ("missed", "", "3", False),  # one too many is not "misses"
        ("doubled", "", "3", True),
        ("doubled", "", "1", False),
        ("shape", "cube", "1", True),
        ("shape", "cube", "0", False),
        ("shape", "cube", "2", False),  # right
    ],
)
def test_an_answer_that_is_wrong_otherwise_does_not_bear_a_sentence_out(
    kind: str, value: str, text: str, is_failure: bool
) -> None:
    """A mistake that changes its direction between two renders is another mistake."""
    items = [
        SceneObject(s, "small", "red", "metal", 2.0 * k, 0.0, 0.0) for k, s in enumerate(("sphere", "sphere"))
    ]
    scene, read = Scene(tuple(items), Nuisances()), Misreading(kind, 0, value)  # type: ignore[arg-type]
    examined = Examined(0, (), (Mistake(0, 0),), (read,), (), ())
    rows = discover(situations(rows_of(cube, MADE), plain_asker()), CLEVR)
    family = replace(rows[0], symptom=replace(rows[0].symptom, what=kind))
    question = SceneQuestion(FAMILIES[0], count("sphere"), "2")
    assert (
        Membership(family, examined, CLEVR).is_failure(scene, examined.mistakes[0], question, text)
        == is_failure
    )


# Explanations


@dataclass(frozen=True)
class YesNo:
    """Says "yes" to everything in which it sees one of these shapes."""

    codes: tuple[int, ...]
    labels: tuple[str, ...] = ANSWERS

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        pixels = np.rint(images * 255.0).astype(int)
        seen = np.isin(pixels[..., 2] & 3, self.codes).any(axis=(1, 2))
        probs = np.full((len(images), len(ANSWERS)), 0.03 / (len(ANSWERS) - 1))
        for row, yes in zip(probs, seen, strict=True):
            row[ANSWERS.index("yes" if yes else "no")] = 0.97
        return np.log(probs)


IS_THERE = ["question=Is there a cube?", "scene.revoke=[]"]


def test_yes_for_no_is_explained_by_what_was_taken_for_it(tmp_path: Path) -> None:
    """ "Is there a cube?" of a scene with a cylinder that passes for one: the cylinder, and not the spheres."""
    scene = scene_of("sphere", "cylinder", "sphere")
    with coded_run(tmp_path, YesNo((1, 3)), overrides=[*IS_THERE, "answer=yes"]) as scores:
        explanation = explain_scene(scores, found(scores, scene), REMOVALS, None)
    assert (explanation.truth, explanation.compared, explanation.blame) == (
        "no",
        "truth",
        Blame("alone", (1,)),
    )


def test_no_for_yes_is_explained_by_the_object_that_is_not_seen(tmp_path: Path) -> None:
    """The only cube is not seen: without it "no" is right, which says that it is the one, not what would help."""
    scene = scene_of("sphere", "cube", "cylinder")
    with coded_run(tmp_path, YesNo((0,)[:0]), overrides=[*IS_THERE, "answer=no"]) as scores:
        explanation = explain_scene(scores, found(scores, scene), ALL_BUT_SALIENCY, None)
    assert explanation.truth == "yes" and explanation.blame == Blame("alone", (1,))
    assert "the answer stays no, which is right then, as if the model had not seen it" in sentence(
        explanation
    )
    assert explanation.flip is not None and all(effect.truth == "no" for effect in explanation.flip.found)


@dataclass(frozen=True)
class Color:
    """Says "red" whatever it sees, and "blue" of a picture with fewer than three objects."""

    labels: tuple[str, ...] = ANSWERS

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        from scipy.ndimage import label

        rows = []
        for image in np.rint(images * 255.0).astype(int):
            few = label((image[..., 2] & 3) > 0)[1] < 3
            probs = np.full(len(ANSWERS), 0.03 / (len(ANSWERS) - 1))
            probs[ANSWERS.index("blue" if few else "red")] = 0.97
            rows.append(np.log(probs))
        return np.stack(rows)


def test_without_the_object_that_is_asked_about_there_is_nothing_to_be_right_about(tmp_path: Path) -> None:
    """ "What color is the cube?": without the cube the answer changes, and CLEVR has none."""
    scene = scene_of("cube", "sphere", "cylinder")
    scene = replace(scene, objects=(replace(scene.objects[0], color="green"), *scene.objects[1:]))
    texts = ["question=What color is the cube?", "answer=red", "scene.revoke=[]"]
    with coded_run(tmp_path, Color(), overrides=texts) as scores:
        explanation = explain_scene(scores, found(scores, scene), REMOVALS, None)
    assert [(removal.score.answer, removal.truth) for removal in explanation.removals] == [
        ("blue", NO_ANSWER), ("blue", "green"), ("blue", "green"),
    ]  # fmt: skip
    assert explanation.blame == Blame("none") and explanation.chief is None
    assert explanation.flip is not None and explanation.flip.found == ()


def test_a_question_without_a_true_answer_is_said_to_compare_answers(tmp_path: Path) -> None:
    """ "What color is the cube?" where there are two: no answer is right or wrong."""
    scene = scene_of("cube", "cube", "sphere")
    texts = ["question=What color is the cube?", "answer=red", "scene.revoke=[]"]
    with coded_run(tmp_path, Color(), overrides=texts) as scores:
        explanation = explain_scene(scores, found(scores, scene), REMOVALS, None)
    assert (explanation.truth, explanation.compared) == (NO_ANSWER, "answer")
    assert any(
        "no true answer in this scene, so answers alone are compared" in text
        for text in sentences(explanation)
    )
    assert explanation.blame.how == "either" and len(explanation.blame.parts) == 3


def test_an_answer_that_is_none_is_not_right(tmp_path: Path) -> None:
    """A model whose reply to the changed scene cannot be read has not become right."""
    read = made_of(tmp_path, as_one_more, scene_of("cube", "sphere", "cylinder"), "2")
    assert read.blame.parts == (1,)
    labels = (*ANSWERS, "<unparsed>")

    class Silent(Counts):
        def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
            rows = super().log_probs(images)
            spheres = [(np.rint(image * 255.0)[..., 2].astype(int) & 3 == 2).any() for image in images]
            out = np.full((len(images), len(labels)), -30.0)
            for row, known, seen in zip(out, rows, spheres, strict=True):
                row[:-1] = known if seen else -30.0
                row[-1] = row[-1] if seen else 0.0
            return out - np.log(np.exp(out).sum(axis=1, keepdims=True))

    folder = tmp_path / "silent"
    folder.mkdir()
    with coded_run(folder, Silent(as_one_more, labels), overrides=["answer=2", "scene.revoke=[]"]) as scores:
        explanation = explain_scene(
            scores, found(scores, scene_of("cube", "sphere", "cylinder")), REMOVALS, None
        )
    assert explanation.removals[1].score.answer == "<unparsed>" and explanation.blame == Blame("none")


def test_a_hit_that_needs_less_than_one_half_compares_the_level_set_and_says_so(tmp_path: Path) -> None:
    low = ["answer=2", "target.kind=threshold", "target.threshold=0.3", "scene.revoke=[]"]
    with coded_run(tmp_path, Counts(as_one_more), overrides=low) as scores:
        explanation = explain_scene(
            scores, found(scores, scene_of("cube", "sphere", "cylinder")), REMOVALS, None
        )
    assert explanation.compared == "level set" and sorted(explanation.blame.parts) == [0, 1]
    assert any("a change counts if the scene leaves the level set" in text for text in sentences(explanation))


def test_the_words_of_a_failure_name_the_truth_of_the_changed_scene(tmp_path: Path) -> None:
    """Whoever reads that the confidence fell by 97 points sees that this explains nothing, and why."""
    explanation = made_of(
        tmp_path, lambda cubes, spheres, cylinders: cubes + 1, scene_of("cube", "sphere", "sphere"), "2"
    )
    assert explanation.blame == Blame("none")
    assert "(without the" in (text := sentence(explanation)) and "the answer is 1, and 0 is true)" in text
    assert "responsible" not in text
