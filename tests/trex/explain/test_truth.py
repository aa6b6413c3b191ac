"""What explains a failure is judged by the truth: the model is right after the change, not only of another mind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.worlds.explained_worlds import (
    ALL_BUT_SALIENCY,
    SURE,
    Ignores,
    coded_run,
    found,
)
from trex.clevr_models.interface.answers import ANSWERS
from trex.explain import scene_scores
from trex.explain.compared import compared, compared_words, distance_from_right, is_right
from trex.explain.explain_scene import explain_scene, is_complete, needs_flip
from trex.explain.explanation import Explanation
from trex.explain.options import ExplainOptions
from trex.explain.run_families import _failure
from trex.explain.stored import CODEC, explanation_path, judged_by_truth, read_explanation
from trex.explain.traces import NOT_TRACED
from trex.explain.view import make_explanation_view
from trex.explain.words import sentence, sentences, stability_sentences
from trex.families.symptom import RESPONSIBLE, Failure
from trex.inference.attribution.blame import Blame
from trex.inference.attribution.leave_one_out import strongest
from trex.report.proof import telling
from trex.scenes.edits import Edit
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.truth import NO_ANSWER
from trex.scenes.scene import Scene, with_attribute
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import CLEVR
from trex.search.hit import Hit

REMOVALS = ALL_BUT_SALIENCY.changed(edits=False)
CODES = {shape: CLEVR.shapes.index(shape) + 1 for shape in ("cube", "sphere", "cylinder")}
Reads = Callable[[int, int, int], int]  # visible cubes, spheres and cylinders: the answer


@dataclass(frozen=True)
class Counts:
    """Reads the shapes in the pixels of CodedRenderer, one object of each that is visible, and answers `said`."""

    said: Reads
    labels: tuple[str, ...] = ANSWERS

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.stack([self._row(np.rint(image * 255.0)) for image in images])

    def _row(self, pixels: NDArray[np.float32]) -> NDArray[np.float64]:
        codes = pixels[..., 2].astype(int) & 3
        count = [_blobs(codes == CODES[shape]) for shape in ("cube", "sphere", "cylinder")]
        probs = np.full(len(ANSWERS), (1.0 - SURE) / (len(ANSWERS) - 1))
        probs[ANSWERS.index(str(self.said(*count)))] = SURE
        return np.log(probs)


def _blobs(mask: NDArray[np.bool_]) -> int:
    from scipy.ndimage import label

    return int(label(mask)[1])


def scene_of(*shapes: str) -> Scene:
    """A valid scene of five objects that do not touch in the picture, three of which have these shapes."""
    for seed in range(1000):
        scene = ScenePrior(CLEVR, (len(shapes), len(shapes))).sample(np.random.default_rng([77, seed]))
        items = tuple(
            with_attribute(item, "shape", shape) for item, shape in zip(scene.objects, shapes, strict=True)
        )
        scene = replace(scene, objects=items)
        apart = all(
            abs(item.x - two.x) + abs(item.y - two.y) > 2.5
            for k, item in enumerate(items)
            for two in items[k + 1 :]
        )
        if apart and is_valid(scene, CLEVR):
            return scene
    raise AssertionError


def as_one_more(cubes: int, spheres: int, cylinders: int) -> int:
    """Counts one cube too many if there is a sphere: of it, the model is wrong whatever cubes there are."""
    return cubes + (spheres > 0)


def cylinders_too(cubes: int, spheres: int, cylinders: int) -> int:
    return cubes + cylinders


def both_needed(cubes: int, spheres: int, cylinders: int) -> int:
    """A cylinder beside a sphere is taken for a cube."""
    return cubes + (spheres > 0 and cylinders > 0)


def at_most_two(cubes: int, spheres: int, cylinders: int) -> int:
    """One cube is never seen."""
    return min(cubes, 2)


def made_of(
    folder: Path, model: Reads | Ignores, scene: Scene, answer: str, options: ExplainOptions = REMOVALS
) -> Explanation:
    """The explanation of a hit on "How many cubes are there?" in a world that has cubes."""
    bound = model if isinstance(model, Ignores) else Counts(model)
    with coded_run(folder, bound, overrides=[f"answer={answer}", "scene.revoke=[]"]) as scores:
        return explain_scene(scores, found(scores, scene), options, None)


def test_a_correctly_counted_object_is_not_responsible(tmp_path: Path) -> None:
    """The model says 2, the truth is 1. Without the one cube it says 1, and 0 is true: still wrong."""
    scene = scene_of("cube", "sphere", "cylinder")
    explanation = made_of(tmp_path, as_one_more, scene, "2")
    answers = [(effect.score.answer, effect.truth) for effect in explanation.removals]
    assert (explanation.truth, answers) == ("1", [("1", "0"), ("1", "1"), ("2", "1")])
    assert [effect.is_flip for effect in explanation.removals] == [False, True, False]
    assert (
        explanation.blame == Blame("alone", (1,))
        and explanation.chief == 1
        and strongest(explanation.counted) == (1,)
    )
    assert "sphere (object 1) is responsible: without it the answer is 1, which is right, and" in sentence(
        explanation
    )
    assert explanation.flip is not None and [effect.edits for effect in explanation.flip.found] == [
        (Edit(1),)
    ]
    assert explanation.flip.sentence(explanation.compared, "2").endswith(
        "; the answer becomes 1, which is right."
    )
    assert [effect.margin < 0 for effect in explanation.removals] == [False, True, False]


def test_blame_that_compares_answers_alone_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: whatever makes the model say something else is responsible, a correctly counted cube too."""
    monkeypatch.setattr(scene_scores, "compared", lambda answer, truth, is_torn: "answer")
    explanation = made_of(tmp_path, as_one_more, scene_of("cube", "sphere", "cylinder"), "2")
    assert 0 in explanation.blame.parts
    blamed = [explanation.removals[i] for i in explanation.blame.parts]
    assert any(effect.score.answer != effect.truth for effect in blamed)


def test_no_object_is_responsible_without_which_the_model_is_still_wrong(tmp_path: Path) -> None:
    """Two cylinders are counted as cubes: without either, or without the cube, one too many or two are counted."""
    explanation = made_of(tmp_path, cylinders_too, scene_of("cube", "cylinder", "cylinder"), "3")
    assert [effect.score.answer for effect in explanation.removals] == ["2", "2", "2"]
    assert explanation.blame == Blame("together", (1, 2)), "the cylinders; not the cube and one of them"
    assert explanation.flip is not None and {
        frozenset(e.index for e in effect.edits) for effect in explanation.flip.found
    } == {frozenset({1, 2})}
    alone = replace(explanation, flip=None)
    assert alone.blame == Blame("none") and strongest(alone.counted) == ()
    assert "No object explains the mistake: without any one of them the model is still wrong" in sentence(
        alone
    )


def test_a_smallest_flip_ends_right(tmp_path: Path) -> None:
    """All edits are tried: every one that is a flip, and the smallest flip of all, leave the model right."""
    scene = scene_of("cube", "sphere", "cylinder")
    explanation = made_of(tmp_path, cylinders_too, scene, "2", ALL_BUT_SALIENCY)
    assert explanation.edits is not None and explanation.flip is not None
    every = (*explanation.removals, *explanation.edits)
    assert [effect.is_flip for effect in every] == [effect.score.answer == effect.truth for effect in every]
    changed = [
        effect
        for effect in every
        if effect.score.answer != explanation.control.score.answer and not effect.is_flip
    ]
    assert changed, "other answers that are as wrong"
    assert explanation.flip.found and all(
        is_right(effect.score.answer, effect.truth) for effect in explanation.flip.found
    )
    first = explanation.flip.found[0]
    assert first.score.answer == "1" and first.edits[0].index == 2, (
        "another answer, not a cube that makes 2 true"
    )
    last = explanation.flip.found[-1]
    assert last.score.answer == "2" == last.truth
    assert Edit(2, "shape", "cube") in {effect.edits[0] for effect in explanation.flip.found}


def test_an_object_that_is_not_seen_is_responsible_though_the_answer_stays(tmp_path: Path) -> None:
    """Of three cubes the model counts two: without any one of them 2 is right. The spheres are not responsible."""
    explanation = made_of(tmp_path, at_most_two, scene_of("cube", "cube", "cube", "sphere"), "2")
    assert sorted(explanation.blame.parts) == [0, 1, 2] and explanation.blame.how == "either"
    assert "is left out, and is right then, as if the model had not seen that object" in sentence(explanation)
    assert explanation.flip is not None
    assert "; the answer stays 2, which is right then." in explanation.flip.sentence(
        explanation.compared, "2"
    )
    item = replace(
        explanation, removals=tuple(replace(e, is_flip=k == 1) for k, e in enumerate(explanation.removals))
    )
    assert "the answer stays 2, which is right then, as if the model had not seen it," in sentence(item)


def test_a_model_that_says_the_same_of_everything_is_right_by_no_removal_of_others(tmp_path: Path) -> None:
    """It says 1 whatever it sees; no removal changes that, and without a cube there is nothing to be right about."""
    explanation = made_of(tmp_path, Ignores(), scene_of("sphere", "sphere", "cylinder"), "1")
    assert explanation.truth == "0" and explanation.blame == Blame("none") and explanation.flip is not None
    assert explanation.flip.found == () and explanation.flip.is_exhaustive
    assert "makes the model right (all" in explanation.flip.sentence(explanation.compared)


def test_of_a_right_answer_answers_alone_are_compared_and_it_says_so(tmp_path: Path) -> None:
    """Without a cube the model is right again, of another number: that is a flip all the same."""
    explanation = made_of(tmp_path, cylinders_too, scene_of("cube", "sphere", "sphere"), "1")
    assert explanation.truth == "1" and explanation.compared == "answer"
    assert explanation.blame == Blame("alone", (0,)) and "without it the answer is 0 and" in sentence(
        explanation
    )
    assert any(
        "The answer is right, so answers alone are compared" in each for each in sentences(explanation)
    )
    assert "which is right" not in " ".join(sentences(explanation))


TEXTS = {
    "truth": "A change explains a wrong answer if the model is right after it",
    "answer": "answers alone are compared",
    "level set": "counts if the scene leaves the level set",
}


@pytest.mark.parametrize(
    ("answer", "truth", "is_torn", "by"),
    [
        ("2", "1", False, "truth"),
        ("2", "2", False, "answer"),
        ("2", NO_ANSWER, False, "answer"),
        ("2", "1", True, "level set"),
        ("2", NO_ANSWER, True, "level set"),
    ],
)
def test_what_is_compared(answer: str, truth: str, is_torn: bool, by: str) -> None:
    found_by = compared(answer, truth, is_torn=is_torn)
    assert found_by == by and TEXTS[by] in compared_words(found_by, truth)
    if truth == NO_ANSWER and not is_torn:
        assert "no true answer in this scene" in compared_words(found_by, truth)


def test_how_far_from_right() -> None:
    labels = ("0", "1", "2")
    log_probs = np.log([0.7, 0.2, 0.1])
    assert distance_from_right(log_probs, labels, "0") == pytest.approx(np.log(2 / 7)) and not is_right(
        "1", "0"
    )
    assert distance_from_right(log_probs, labels, "1") == pytest.approx(np.log(7 / 2))
    assert distance_from_right(log_probs, labels, NO_ANSWER) > 700
    assert not is_right(NO_ANSWER, NO_ANSWER) and not is_right("", "")


def old_text(explanation: Explanation) -> str:
    """The explanation as files said before the truth was compared."""
    before = explanation.control.score.answer

    def by_answer(item: dict[str, object]) -> dict[str, object]:
        score = item["score"]
        assert isinstance(score, dict)
        return item | {
            "is_flip": score["answer"] != before,
            "margin": -1.0 if score["answer"] != before else 1.0,
        }

    data = json.loads(CODEC.text(explanation))
    assert data.pop("is_by_truth")
    for key in ("removals", "edits"):
        data[key] = data[key] and [by_answer(item) for item in data[key]]
    data["flip"]["found"] = [item for item in data["removals"] if item["is_flip"]]
    return json.dumps(data)


def test_a_model_that_looks_at_nothing_has_no_object_responsible(tmp_path: Path) -> None:
    """Planted bug: "leaving out any one of them makes the model right", where the truth alone becomes 2."""
    deaf = made_of(
        tmp_path, lambda cubes, spheres, cylinders: 2, scene_of("cube", "cube", "cube"), "2"
    )  # truth 3
    assert deaf.blame.how == "either" and {effect.score.answer for effect in deaf.removals} == {"2"}
    text = sentence(deaf)
    assert "responsible" not in text and text.startswith("The answer stays 2 if ")
    assert "as if the model had not seen that object" in text
    assert telling(deaf, ()) is None
    alone = replace(deaf, removals=(replace(deaf.removals[0], change=-0.5), *deaf.removals[1:]))
    assert alone.chief == 0 and _failure(hit_of(alone), NOT_TRACED, {alone.picture: alone}) is None
    seen = made_of(tmp_path / "seen", as_one_more, scene_of("cube", "sphere", "cylinder"), "2")
    assert telling(seen, ()) == seen.removals[1]
    assert _failure(hit_of(seen), NOT_TRACED, {seen.picture: seen}) == Failure(RESPONSIBLE, 1, "", "")


def hit_of(explanation: Explanation) -> Hit:
    """What families read of a hit."""
    return cast(
        Hit, SimpleNamespace(record=SimpleNamespace(picture=explanation.picture, scene=explanation.scene))
    )


def test_the_misread_object_itself_is_not_called_responsible(tmp_path: Path) -> None:
    """A sphere and a cylinder each add one cube: the model is right without the sphere, and without the cylinder."""
    scene = scene_of("cube", "sphere", "cylinder")
    with coded_run(tmp_path, Counts(as_one_more), overrides=["answer=2", "scene.revoke=[]"]) as scores:
        found_one = explain_scene(scores, found(scores, scene), REMOVALS, None)
        view = make_explanation_view(scores.folder, found_one, misread=(1,))
        assert [shot.mark for shot in view.shots] == ["", "", "misread", ""]
        assert view.shots[0].caption.startswith("says 2 · 97") and view.shots[0].caption.endswith("% for 2")
        only = sentence(found_one, misread=(1,))
        assert only.startswith("No other object is responsible: only leaving out the misread ")
        assert "(object 1) itself makes the model right" in only
        assert sentence(found_one, misread=(0,)) == sentence(found_one), "what no removal is blamed for"
    either = made_of(tmp_path / "either", both_needed, scene, "2")
    assert either.blame.how == "either" and set(either.blame.parts) == {1, 2}
    text = sentence(either, misread=(2,))
    assert "(object 1) is responsible: without it the answer is 1, which is right" in text
    assert "Leaving out the misread" in text and "(object 2) itself makes the model right too" in text
    assert "is responsible" not in sentence(either, misread=(1, 2)).replace(
        "No other object is responsible", ""
    )


def test_an_older_file_is_read_and_judged_by_the_truth(tmp_path: Path) -> None:
    scene = scene_of("cube", "sphere", "cylinder")
    with coded_run(tmp_path, Counts(as_one_more), overrides=["answer=2", "scene.revoke=[]"]) as scores:
        explanation = explain_scene(scores, found(scores, scene), REMOVALS, None)
        path = explanation_path(scores.folder, explanation.picture)
        path.write_text(old_text(explanation))
        assert 0 in CODEC.parse(path.read_text(), "", "").blame.parts, "as it was told"
        read = read_explanation(scores.folder, explanation.picture)
        assert read is not None and read == explanation
        assert is_complete(read, REMOVALS, is_torn=False), "nothing has to be rendered for it"
        view = make_explanation_view(scores.folder, read)
        assert view.by == "truth" and [bool(shot.mark) for shot in view.shots] == [
            False,
            False,
            True,
            False,
        ]


def test_the_smallest_flip_of_an_older_file_is_searched_again_if_it_takes_several_edits(
    tmp_path: Path,
) -> None:
    """There, leaving out the cube made the answer another one; now two cylinders have to be left out together."""
    scene = scene_of("cube", "cylinder", "cylinder")
    with coded_run(tmp_path, Counts(cylinders_too), overrides=["answer=3", "scene.revoke=[]"]) as scores:
        explanation = explain_scene(scores, found(scores, scene), REMOVALS, None)
        old = judged_by_truth(CODEC.parse(old_text(explanation), "", ""), ANSWERS)
        assert old.flip is None and needs_flip(old, REMOVALS) and old.blame == Blame("none")
        assert explain_scene(scores, found(scores, scene), REMOVALS, old) == explanation


def test_what_was_no_failure_is_read_as_it_was(tmp_path: Path) -> None:
    explanation = made_of(tmp_path, cylinders_too, scene_of("cube", "sphere", "sphere"), "1")
    old = CODEC.parse(old_text(explanation), "", "")
    assert judged_by_truth(old, ANSWERS) == old
    assert [removal.is_flip for removal in old.removals] == [
        removal.is_flip for removal in explanation.removals
    ]


def test_under_other_cameras_too_it_is_the_truth_that_counts(tmp_path: Path) -> None:
    """In how many of them is the model right, without the object and with it?"""
    options = REMOVALS.model_copy(update={"nuisances": 3})
    explanation = made_of(tmp_path, as_one_more, scene_of("cube", "sphere", "cylinder"), "2", options)
    assert explanation.nuisances is not None and explanation.nuisances.right == 0
    sphere, cube = explanation.nuisances.of(1), explanation.nuisances.of(0)
    assert sphere is not None and cube is not None
    assert (sphere.right, cube.right) == (3, 0), "the confidence in 2 falls without either"
    assert cube.effect.is_negative and sphere.effect.is_negative
    (text,) = stability_sentences(explanation)
    assert text.endswith("; the model is right there in 3 of 3, and in 0 of 3 with everything in place.")
