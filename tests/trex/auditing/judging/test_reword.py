"""Failures in other words: which families depend on how the question is put, and models that read no words."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import pytest

from tests.trex.auditing.in_memory import QUESTIONS, Swept, families_of, scenes
from tests.trex.auditing.planted_models import CAP, Book, Planted, as_it_is
from trex.auditing.examine import Asker
from trex.auditing.judging.confirm import Confirmer
from trex.auditing.judging.findings import Finding, HeldOut, findings, in_held_out
from trex.auditing.judging.membership import memberships_of, situations
from trex.auditing.judging.reword import MOST, Reworder, Wordings, wordings_of, wordings_words
from trex.auditing.records import REWORDED, TESTED, Reworded
from trex.clevr_models.fake import FakeModel
from trex.clevr_models.interface.bound import reads_words
from trex.clevr_models.interface.question import Question
from trex.clevr_models.percept.model import load_shipped
from trex.inference.scoring import images
from trex.inference.statistics.clustered import clustered_interval
from trex.inference.statistics.proportion import Proportion
from trex.scenes.questions.bitsets import SceneSets
from trex.scenes.questions.families import SceneQuestion
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR
from trex.trials.lines import Lines

SCENES, TESTS, WAYS, SEEDS = 60, 12, 3, 20
RARER = re.compile(r"\b(object|block|ball)s?\b")  # nouns of other wordings; the plain one has none of them
Fails = Callable[[str], bool]


@dataclass(frozen=True)
class Worded(Planted):
    """Numbers above `cap` become it only in questions whose text `fails` picks."""

    fails: Fails = lambda text: True

    def _answer(self, question: Question, sets: SceneSets) -> str:
        seen = self if self.fails(question.text) else replace(self, cap=10)
        return Planted._answer(seen, question, sets)


@dataclass(frozen=True)
class OfPrograms(Worded):
    """Numbers above `cap` become it, whatever the words; the model may say that it reads none."""

    reads_words: bool = True

    def _answer(self, question: Question, sets: SceneSets) -> str:
        return Planted._answer(self, question, sets)


@cache
def questions(seed: int, scene: Scene, number: int) -> tuple[SceneQuestion, ...]:
    return Asker(Planted(Book(), as_it_is), CLEVR, QUESTIONS, seed, 0.9).questions(scene, number)


@dataclass(frozen=True)
class Untraced(Asker):
    """Traces no mistake, which is most of an audit's time, so that families are kinds of wrong answers."""

    def questions(self, scene: Scene, number: int) -> tuple[SceneQuestion, ...]:
        return questions(self.seed, scene, number)

    def _traced(self, *given: object) -> tuple[tuple[()], dict[int, int]]:  # type: ignore[override]
        return (), {}


def by_its_words(text: str) -> bool:
    """A model that fails at CLEVR's most frequent nouns, and reads the others."""
    return not RARER.search(text)


def always(text: str) -> bool:
    """A model that fails at what is asked, however it is asked, but for a tenth of all texts by chance."""
    return zlib.crc32(text.encode()) % 10 > 0


def swept_by(fails: Fails, seed: int, model: Callable[..., Worded]) -> Swept:
    known, _ = scenes(SCENES)
    book = Book()
    asker = Untraced(model(book, as_it_is, CAP, fails=fails), CLEVR, QUESTIONS, seed, 0.9)
    rows = [
        (facts, asker.examine(facts, images(book.render([facts.scene]))[0], number))
        for number, facts in enumerate(known)
    ]
    return Swept(rows[: SCENES // 2], rows[SCENES // 2 :], asker, book)


def reworded(
    folder: Path, fails: Fails, seed: int, ways: int = WAYS, model: Callable[..., Worded] = Worded
) -> list[Finding]:
    """The confirmed families of an audit, each with what becomes of its mistakes in other words."""
    item = swept_by(fails, seed, model)
    judged = situations(item.held_out, item.asker)
    seen: list[HeldOut] = in_held_out(families_of(item), judged)
    with Lines(folder / f"tested-{seed}", TESTED) as tested, Lines(folder / f"words-{seed}", REWORDED) as log:
        was_tested = bool(tested.values)
        for number, each in enumerate(seen):
            Confirmer(item.book, item.asker).confirm(number, each.family, each.askable[:TESTS], tested)
        holders = memberships_of([each.family for each in seen], judged)
        found = [each for each in findings(seen, tested.values, holders, {}) if each.is_confirmed]
        rendered = len(item.book.facts)
        for each in found:
            failures = seen[each.number].of_scenes(each.stayed)
            Reworder(item.book, item.asker, ways).reword(each.number, each.family, failures, log)
        assert was_tested or len(item.book.facts) == rendered, "no further picture is made"
        return [
            replace(
                each,
                wordings=wordings_of(
                    [row for row in log.values if row.family == each.number], len(each.stayed)
                ),
            )
            for each in found
        ]


def stays(folder: Path, fails: Fails, seed: int) -> Proportion:
    """In how many other wordings the mistakes of the family of too small numbers stay."""
    found = reworded(folder, fails, seed)
    (family,) = [each for each in found if each.family.symptom.what == "too few"]
    assert family.wordings is not None
    assert family.sentence.endswith(", but only in some wordings.") == family.wordings.matter
    assert family.sentence.startswith(family.words.removesuffix("."))
    return family.wordings.stays


@pytest.mark.slow
def test_a_model_that_depends_on_the_words_is_told_from_one_that_does_not_in_every_seed(
    tmp_path: Path,
) -> None:
    """Planted bug: all wordings had the text of the plain one (`test_the_planted_bug_is_caught`)."""
    (one := tmp_path / "one").mkdir()
    (other := tmp_path / "other").mkdir()
    depends = [stays(one, by_its_words, seed) for seed in range(SEEDS)]
    stable = [stays(other, always, seed) for seed in range(SEEDS)]
    print("depends", [(share.count, share.of) for share in depends])
    print("stable", [(share.count, share.of) for share in stable])
    assert all(Wordings(share).matter and share.interval.high < MOST for share in depends)
    assert all(not Wordings(share).matter and share.interval.low > MOST for share in stable)


class Textless(Asker):
    """Puts every question in its plain words."""

    def wordings(self, question: SceneQuestion, number: int, at: int, n: int) -> tuple[str, ...]:
        return (self.words(question),) * n


def test_the_planted_bug_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All wordings the plain one: a family that depends on its words stays in all, with the same probabilities."""
    monkeypatch.setattr(Asker, "wordings", Textless.wordings)
    (family,) = reworded(tmp_path, by_its_words, 0)
    assert family.wordings is not None and not family.wordings.matter and not family.wordings.is_moved
    depends = replace(family, wordings=Wordings(Proportion(1, 26)))
    assert (family.sentence, depends.sentence) == (
        family.words,
        f"{family.words[:-1]}, but only in some wordings.",
    )
    assert family.wordings.stays.count == family.wordings.stays.of > 0


def test_a_model_that_reads_programs_is_not_asked(tmp_path: Path) -> None:
    """Planted bug: its mistakes stayed in all wordings, as if that had been tested."""
    families = []
    for says in (False, True):
        (folder := tmp_path / str(says)).mkdir()
        (family,) = reworded(folder, always, 0, model=partial(OfPrograms, reads_words=says))
        families.append(family.wordings)
    declared, silent = families
    assert declared == Wordings(Proportion(0, 0), is_read=False) and not declared.matter
    assert "reads the question's program, not its words" in wordings_words(declared)
    assert silent is not None and silent.is_read and not silent.is_moved
    assert "with the very same probabilities, as if the model did not read" in wordings_words(silent)


def test_the_shipped_models_say_whether_they_read_words() -> None:
    assert not reads_words(load_shipped()) and not reads_words(FakeModel())
    assert reads_words(Planted(Book(), as_it_is))


def row(scene: int, wording: int, asked: int, stays: int, moved: int = 0) -> Reworded:
    return Reworded(0, scene, wording, asked, stays, moved)


def test_the_share_is_of_all_other_wordings_with_scenes_as_clusters() -> None:
    """Planted bugs: scenes in which nothing could be asked counted; rows as clusters."""
    rows = [
        row(1, 1, 3, 3),
        row(2, 1, 1, 0, 1),
        row(3, 1, 0, 0),
        row(1, 2, 3, 2),
        row(2, 2, 1, 0),
        row(3, 2, 0, 0),
    ]
    found = wordings_of(rows, 3)
    assert found is not None and (found.stays.count, found.stays.of) == (5, 8) and found.is_moved
    assert found.stays.interval == clustered_interval([5, 0], [6, 2])
    assert (
        wordings_of([], 0) is None
        and wordings_of([row(1, 1, 0, 0)], 1) is None
        and wordings_words(None) == ""
    )


def test_what_is_said_of_a_share() -> None:
    lost = Wordings(Proportion(1, 26))
    assert wordings_words(lost).startswith(
        "Depends on how the question is put: stays in 1 of 26 other wordings ("
    )
    assert wordings_words(Wordings(Proportion(23, 26))).startswith("Stays in 23 of 26 other wordings (")
    assert not Wordings(Proportion(10, 26)).matter, "the interval reaches above a half"


def test_a_mistake_that_is_made_again_less_surely_does_not_depend_on_the_words() -> None:
    """Planted bug: of a model that is just sure enough in the plain words, nearly all mistakes were lost in any others,
    and it was said that they depend on the words."""
    rows = [Reworded(0, scene, 1, 4, 0, 4, again=4) for scene in range(12)]
    found = wordings_of(rows, 12)
    assert found is not None and found.stays.interval.high < MOST and not found.matter
    assert wordings_words(found).startswith("Stays in 48 of 48 other wordings (")
    assert wordings_words(found).endswith(", as surely in 0.")
    lost = wordings_of([replace(row, again=0) for row in rows], 12)
    assert lost is not None and lost.matter
    before = wordings_of([replace(rows[0], again=None), *rows[1:]], 12)
    assert before is not None and before.again is None and before.matter, (
        "an audit of before did not count them"
    )


def test_a_wording_that_a_kill_left_half_asked_does_not_count() -> None:
    """Planted bug: a stopped audit that goes on without wordings stated the share of the rows that were there."""
    asked = [Reworded(0, scene, wording, 1, 1, 1, again=1) for wording in (1, 2) for scene in range(12)]
    whole, half = wordings_of(asked, 12), wordings_of(asked[:20], 12)
    assert whole is not None and half is not None and (whole.stays.of, half.stays.of) == (24, 12)
    assert wordings_of(asked[:11], 12) is None


def test_more_wordings_are_added_to_those_that_were_tried(tmp_path: Path) -> None:
    """In the same lines as by one command. Planted bug: the second number of wordings began anew."""
    for folder in (tmp_path / "once", tmp_path / "twice"):
        folder.mkdir()
    reworded(tmp_path / "once", by_its_words, 0, 4)
    reworded(tmp_path / "twice", by_its_words, 0, 2)
    few = (tmp_path / "twice" / "words-0").read_bytes()
    reworded(tmp_path / "twice", by_its_words, 0, 4)
    assert few and (tmp_path / "twice" / "words-0").read_bytes().startswith(few)
    assert (tmp_path / "twice" / "words-0").read_bytes() == (tmp_path / "once" / "words-0").read_bytes()
