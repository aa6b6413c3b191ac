"""A sentence is confirmed as a whole: what it says an object is taken for, too, must be what other scenes show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.trex.auditing.in_memory import FEW, Row, Swept, families_of, judged, scenes, swept
from tests.trex.auditing.judging.test_findings import asked_again
from tests.trex.auditing.planted_models import Planted, as_it_is
from trex.auditing.by_kind import shown_kinds
from trex.auditing.compare import in_fresh_scenes
from trex.auditing.examine import Asker
from trex.auditing.judging import findings as module
from trex.auditing.judging.confirm import Confirmer
from trex.auditing.judging.findings import Finding, findings, in_held_out, more_than_elsewhere
from trex.auditing.judging.membership import Membership, memberships_of, situations
from trex.auditing.records import EXAMINED, TESTED, Answer, Examined, Mistake
from trex.families.discover import discover
from trex.families.family import Family, clear_value
from trex.families.pattern import Pattern
from trex.families.symptom import Failure, Symptom, misread, wrong_words
from trex.scenes.conditions import FAR
from trex.scenes.graph import Facts
from trex.scenes.misreading import Misreading, answer_if
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.families import FAMILIES, SceneQuestion
from trex.scenes.questions.programs import Step
from trex.scenes.scene import Nuisances, Scene, SceneObject, with_attribute
from trex.scenes.validity import BEHIND
from trex.scenes.vocabulary import CLEVR
from trex.trials.lines import Lines

CUBE, OTHER = "as a cube", "as another shape"
See = Callable[[SceneObject, int], str]  # what a small object at the back, that is no cube, is taken for


def is_inside(item: SceneObject) -> bool:
    """Whether it is small and at the back."""
    return item.size == "small" and item.x * BEHIND[0] + item.y * BEHIND[1] > FAR


def is_hit(item: SceneObject) -> bool:
    """Whether it is one of the objects that are misread here: small, at the back, and no cube."""
    return is_inside(item) and item.shape != "cube"


def cube(item: SceneObject, number: int) -> str:
    return "cube"


def other(item: SceneObject, number: int) -> str:
    """A cylinder for a sphere, a sphere for a cylinder."""
    return "sphere" if item.shape == "cylinder" else "cylinder"


def mostly_other(item: SceneObject, number: int) -> str:
    """Of three one is taken for a cube."""
    return cube(item, number) if number % 3 == 0 else other(item, number)


def mostly_cube(item: SceneObject, number: int) -> str:
    return other(item, number) if number % 9 == 0 else cube(item, number)


def rows_of(see: See, part: slice) -> list[Row]:
    """Scenes of an audit, with what was misread in them and one mistake for each misread object."""
    rows, number = [], 0
    for at, facts in list(enumerate(scenes(FEW)[0]))[part]:
        read = []
        for index, item in enumerate(facts.scene.objects):
            if is_hit(item):
                read.append(Misreading("shape", index, see(item, number)))
                number += 1
        answers = tuple(Answer(0, "1", "2", 0.97) for _ in read)
        mistakes = tuple(Mistake(k, k) for k in range(len(read)))
        rows.append((facts, Examined(at, answers, mistakes, tuple(read), facts.shares, facts.hiders)))
    return rows


MADE, REST = slice(0, FEW // 2), slice(FEW // 2, FEW)


@cache
def plain_asker() -> Asker:
    return Asker(Planted(scenes(FEW)[1], as_it_is), CLEVR, 1, 0, 0.9)


def audited(making: See, judging: See) -> list[Finding]:
    """The findings if every failure stays at the deciding look."""
    families = discover(situations(rows_of(making, MADE), plain_asker()), CLEVR)
    judged_by = situations(rows_of(judging, REST), plain_asker())
    seen = in_held_out(families, judged_by)
    stay = [
        replace(asked_again(True, 0.97, family=k), scene=examined.scene)
        for k, each in enumerate(seen)
        for _, examined, _ in each.failures
    ]
    return findings(seen, stay, memberships_of([held_out.family for held_out in seen], judged_by), {})


def contradicted(found: Sequence[Finding], rows: Sequence[Row]) -> list[str]:
    """The confirmed sentences of which the failures in these scenes that they count mostly show something else."""
    wrong = []
    for finding in found:
        failing = [row for situation in situations(rows, plain_asker()) for row in situation.failures]
        values = [each.value for each in failing if each.symptom == finding.family.symptom]
        named = finding.family.value
        if finding.is_confirmed and named in CLEVR.available("shape") and clear_value(values) != named:
            wrong.append(finding.words)
    return wrong


@pytest.mark.parametrize("remaining", [other, mostly_other])
def test_a_value_that_the_judging_scenes_do_not_show_is_not_named(remaining: See) -> None:
    """The kind of failure is confirmed all the same: what is confirmed is the sentence without the value."""
    found = audited(cube, remaining)
    first = found[0]
    assert contradicted(found, rows_of(remaining, REST)) == []
    assert first.is_confirmed and OTHER in first.words and CUBE not in first.words
    misread = [facts.scene for facts, _ in rows_of(remaining, REST) if any(map(is_hit, facts.scene.objects))]
    assert first.fails.count == len(misread), "all of them fail so, whatever shape each is taken for"


def test_a_judge_that_compares_the_kind_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a misread shape bears a cube out, whatever the object was taken for."""
    monkeypatch.setattr(module, "named_alike", lambda family, scenes: family)
    monkeypatch.setattr(Family, "covers", lambda family, symptom, output: symptom == family.symptom)
    found = audited(cube, mostly_other)
    assert [CUBE in words for words in contradicted(found, rows_of(mostly_other, REST))] == [True]


def test_a_value_that_they_show_is_named_and_other_values_are_no_such_failure() -> None:
    first = audited(cube, mostly_cube)[0]
    assert first.is_confirmed and CUBE in first.words
    rows = rows_of(mostly_cube, REST)
    as_cube = [facts for facts, examined in rows if any(read.value == "cube" for read in examined.misread)]
    of_any = [facts for facts, examined in rows if examined.misread]
    assert first.fails.count == len(as_cube) < len(of_any)
    assert first.covers.count == sum(
        read.value == "cube" for _, examined in rows for read in examined.misread
    )
    assert {row.scene for row in first.stayed} == {
        examined.scene for facts, examined in rows if facts in as_cube
    }


def test_a_value_without_a_failure_to_show_it_stays_and_is_not_confirmed() -> None:
    families = discover(situations(rows_of(cube, MADE), plain_asker()), CLEVR)
    blank = [(facts, replace(examined, misread=(), mistakes=())) for facts, examined in rows_of(cube, REST)]
    (seen, *_) = in_held_out(families, situations(blank, plain_asker()))
    assert CUBE in seen.family.words and seen.p_value == 1.0


def test_the_p_value_is_that_of_the_kind_too() -> None:
    """The planted bug: of two claims that the judging scenes choose between, the smaller p-value counted."""
    families = discover(situations(rows_of(cube, MADE), plain_asker()), CLEVR)
    rows = []
    for facts, examined in rows_of(
        cube, REST
    ):  # every object elsewhere is misread as well, but for another shape
        more = [
            Misreading("shape", k, other(item, 0))
            for k, item in enumerate(facts.scene.objects)
            if not is_inside(item)
        ]
        rows.append((facts, replace(examined, misread=(*examined.misread, *more))))
    (seen, *_) = in_held_out(families, situations(rows, plain_asker()))
    assert seen.wider is not None
    assert more_than_elsewhere(seen.inside, seen.outside) < 1e-6 < 0.5 < seen.p_value


def test_fresh_scenes_judge_the_sentence_and_do_not_reword_it() -> None:
    parts = situations(rows_of(cube, MADE), plain_asker()), situations(rows_of(cube, REST), plain_asker())
    seen = in_held_out(discover(parts[0], CLEVR), parts[1])
    fresh = situations(rows_of(mostly_other, REST), plain_asker())
    message = in_fresh_scenes(parts, [held_out.family for held_out in seen], {0}, fresh, CLEVR)
    cubes = [
        examined
        for _, examined in rows_of(mostly_other, REST)
        if "cube" in {read.value for read in examined.misread}
    ]
    assert message.fails[0].count == len(cubes)


TOO_FEW = Symptom("question", "too few")


@pytest.mark.parametrize(
    ("text", "words"), [("2", "says “2”, which is too few, in questions"), ("1", "too few in questions")]
)
def test_a_number_is_named_if_the_judging_scenes_show_it(text: str, words: str) -> None:
    """Numbers of 3 and more were given as 2; in the other half they are given as 2, or as 1."""

    def answered(part: slice, given: str) -> list[Row]:
        rows = []
        for at, facts in list(enumerate(scenes(FEW)[0]))[part]:
            truths = [question.answer for question in asker.questions(facts.scene, at)]
            answers = [given if truth.isdecimal() and int(truth) >= 3 else truth for truth in truths]
            mistakes = [
                Mistake(k, None) for k, (a, b) in enumerate(zip(truths, answers, strict=True)) if a != b
            ]
            message = tuple(Answer(0, a, b, 0.97) for a, b in zip(truths, answers, strict=True))
            rows.append((facts, Examined(at, message, tuple(mistakes), (), facts.shares, facts.hiders)))
        return rows

    asker = replace(plain_asker(), n=8)
    families = discover(situations(answered(MADE, "2"), asker), CLEVR)
    assert "says “2”, which is too few, in questions" in families[0].words
    (seen, *_) = in_held_out(families, situations(answered(REST, text), asker))
    assert seen.family.symptom == TOO_FEW and words in seen.family.words
    assert seen.p_value < 0.01


# The deciding look, asked of a planted model.


def seen_as(see: See) -> Callable[[Facts], SceneSets]:
    """A view that shows these objects as `see` says, by their places."""

    def view(facts: Facts) -> SceneSets:
        items = tuple(
            with_attribute(item, "shape", see(item, int(1000 * item.x) % 9)) if is_hit(item) else item
            for item in facts.scene.objects
        )
        return scene_sets(replace(facts.scene, objects=items))

    return view


@cache
def taken_for_cubes() -> tuple[Swept, Family]:
    """The sweep of a model that takes them for cubes, and the first family."""
    item = swept(seen_as(cube), n=FEW)
    return item, families_of(item)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("at_look", "stays"), [(cube, True), (other, False), (None, False)])
def test_another_value_at_the_deciding_look_is_not_what_a_sentence_says(
    at_look: See | None, stays: bool, tmp_path: Path
) -> None:
    """The planted bug: any wrong answer there confirmed it, such as those about an object taken for a cylinder.

    None stands for a model that is right there.
    """
    item, family = taken_for_cubes()
    assert CUBE in family.words
    (seen, *_) = in_held_out([family], situations(item.held_out, item.asker))
    asker = replace(item.asker, model=Planted(item.book, seen_as(at_look) if at_look else as_it_is))
    with Lines(tmp_path / "tested.jsonl", TESTED) as log:
        Confirmer(item.book, asker).confirm(0, seen.family, seen.failures[:5], log)
        assert [row.stays for row in log.values] == [stays] * 5
        assert all(row.blamed.endswith("read as a cube") for row in log.values)
        assert {row.variants.noise for row in log.values if row.stays} <= {None, 1.0}


@pytest.mark.slow
def test_a_sentence_that_names_no_value_is_confirmed_by_any(tmp_path: Path) -> None:
    item, family = taken_for_cubes()
    (seen, *_) = in_held_out([family.wider], situations(item.held_out, item.asker))
    asker = replace(item.asker, model=Planted(item.book, seen_as(other)))
    with Lines(tmp_path / "tested.jsonl", TESTED) as log:
        Confirmer(item.book, asker).confirm(0, seen.family, seen.failures[:5], log)
        assert sum(row.stays for row in log.values) >= 4  # a question about cubes may not tell


@pytest.mark.slow
def test_an_audit_whose_halves_differ_confirms_no_value_that_its_examples_contradict(tmp_path: Path) -> None:
    """End to end: the objects are cubes to it in the half that makes the rules, and mostly not in the other half."""
    first = {facts.scene.objects for facts in scenes(FEW)[0][MADE]}

    def view(facts: Facts) -> SceneSets:
        return seen_as(cube if facts.scene.objects in first else mostly_other)(facts)

    item = swept(view, n=FEW)
    families = families_of(item)
    assert CUBE in families[0].words
    found, _ = judged(tmp_path, item, families, item.held_out, {})
    confirmed = [each for each in found if each.is_confirmed and each.family.symptom.what == "shape"]
    assert confirmed and not any(CUBE in each.words for each in confirmed)
    shown = {row.blamed.rsplit(" ", 1)[-1] for each in confirmed for row in each.stayed}
    assert {"sphere", "cylinder"} & shown


# What would be true of a misread scene.

COUNT_CUBES = (Step("scene"), Step("filter_shape", (0,), ("cube",)), Step("count", (1,)))
COLOR_OF_CUBE = (*COUNT_CUBES[:2], Step("unique", (1,)), Step("query_color", (2,)))


def test_what_would_be_true_of_a_misread_scene() -> None:
    items = [
        SceneObject(shape, "small", "red", "metal", k, 0.0, 0.0)
        for k, shape in enumerate(("cube", "cylinder"))
    ]
    scene = Scene(tuple(items), Nuisances())
    assert answer_if(scene, (), COUNT_CUBES) == "1"
    assert answer_if(scene, (Misreading("shape", 1, "cube"),), COUNT_CUBES) == "2"
    assert answer_if(scene, (Misreading("shape", 1, "sphere"),), COUNT_CUBES) == "1"
    assert answer_if(scene, (Misreading("missed", 0),), COUNT_CUBES) == "0"
    assert answer_if(scene, (Misreading("doubled", 0), Misreading("shape", 1, "cube")), COUNT_CUBES) == "3"
    assert answer_if(scene, (Misreading("shape", 1, "cube"),), COLOR_OF_CUBE) is None


def test_only_sentences_that_name_a_value_are_narrowed() -> None:
    """Kinds of wrong answers whose sentence names none compare the kind: "gives a wrong answer" holds for any."""
    became = (("red", "blue", 9),)
    assert Family(Pattern(), Symptom("question", "another value"), became).value == ""
    assert Family(Pattern(), Symptom("object", "missed"), (("", "", 9),)).value == ""
    color = Family(Pattern(), Symptom("object", "color"), became)
    assert color.value == "blue" and color.wider.value == ""
    assert color.covers(color.symptom, "blue") and not color.covers(color.symptom, "green")
    assert color.wider.covers(color.symptom, "green")
    assert wrong_words("5", "2") == "too few"


def test_a_phantom_is_a_symptom_of_the_scene_and_its_kind_is_named_if_it_is_the_same_mostly() -> None:
    cube, ball = "small red metal cube", "large red metal sphere"
    failure = misread(Misreading("phantom", None, cube))
    assert failure == Failure(Symptom("scene", "phantom"), 0, "", cube)
    mostly = Family(Pattern(), failure.symptom, (("", cube, 9), ("", ball, 1)))
    assert mostly.words == f"The model sees a {cube} that is not there."
    assert mostly.covers(failure.symptom, cube) and not mostly.covers(failure.symptom, ball)
    mixed = Family(Pattern(), failure.symptom, (("", cube, 5), ("", ball, 5)))
    scene = Scene((SceneObject("cube", "small", "red", "metal", 0.0, 0.0, 0.0),), Nuisances())
    examined = Examined(1, (), (Mistake(0, 0),), (Misreading("phantom", None, cube),), (1.0,), (None,))
    question = SceneQuestion(FAMILIES[0], COUNT_CUBES, "1")
    for family, texts in ((mostly, {"2"}), (mixed, {"2"})):  # "3" is true of no scene with one object more
        membership = Membership(family, examined, CLEVR)
        said = {text for text in "123" if membership.is_failure(scene, Mistake(0, 0), question, text)}
        assert said == texts
    assert mixed.words == "The model sees a red metal object that is not there."
    assert mixed.covers(failure.symptom, ball)
    assert not mixed.covers(failure.symptom, "large red rubber sphere")
    other = replace(mixed, became=(("", cube, 5), ("", "large blue rubber sphere", 5)))
    assert other.words == "The model sees an object that is not there." and other.covers(
        failure.symptom, ball
    )


def test_an_old_audit_reads_and_a_phantom_is_stored() -> None:
    """What was misread had other kinds before, and the same fields."""
    stored = '{"scene": 1, "answers": [], "mistakes": [], "misread": [%s], "shares": [], "hiders": []}'
    (old,) = EXAMINED.parse(stored % '{"kind": "shape", "index": 2, "value": "cube"}', "old", "").misread
    assert old == Misreading("shape", 2, "cube")
    phantom = Examined(1, (), (), (Misreading("phantom", None, "small red metal cube"),), (), ())
    assert EXAMINED.parse(EXAMINED.line(phantom).decode(), "new", "") == phantom
    assert list(shown_kinds(phantom)) == ["An object is seen that is not there"]
