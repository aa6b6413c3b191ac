"""Failures that are asked again: of the same kind at the deciding look, and without the object to blame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.trex.auditing.in_memory import FEW, QUESTIONS, audited, families_of, swept
from tests.trex.auditing.planted_models import (
    CAP,
    Planted,
    as_it_is,
    hidden_metal_cylinders_are_cubes,
    small_things_at_the_back_are_missed,
)
from trex.auditing.judging.confirm import Confirmer
from trex.auditing.judging.findings import in_held_out
from trex.auditing.judging.situations import situations
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import TESTED
from trex.clevr_models.interface.question import Question
from trex.scenes.questions.bitsets import SceneSets
from trex.scenes.vocabulary import CLEVR
from trex.trials.lines import Lines


@dataclass(frozen=True)
class Overcounting(Planted):
    """Counts one too many of everything."""

    def _answer(self, question: Question, sets: SceneSets) -> str:
        answer = super()._answer(question, sets)
        return str(min(10, int(answer) + 1)) if answer.isdecimal() else answer


@pytest.mark.parametrize("counts_too_many", [False, True])
def test_a_mistake_of_another_kind_at_the_deciding_look_does_not_stay(
    counts_too_many: bool, tmp_path: Path
) -> None:
    """Planted bug: too many for a number that was too small confirmed the family of too small numbers."""
    one = swept(as_it_is, CAP, n=FEW)
    (family, *_) = families_of(one)
    assert family.symptom.what == "too few"
    (seen, *_) = in_held_out([family], situations(one.held_out, one.asker))
    model = Overcounting(one.book, as_it_is) if counts_too_many else one.asker.model
    with Lines(tmp_path / "tested.jsonl", TESTED) as log:
        asker = Asker(model, CLEVR, QUESTIONS, 0, 0.9)
        Confirmer(one.book, asker).confirm(0, family, seen.failures[:5], log)
        assert len(log.values) == 5
        assert {row.stays for row in log.values} == {not counts_too_many}


def test_of_a_missed_object_nothing_can_be_asked_without_it(tmp_path: Path) -> None:
    """The model's old answers are true then: "no mistake stays without it" held for a model that sees nothing."""
    found, _ = audited(tmp_path, small_things_at_the_back_are_missed, n=FEW)
    assert found[0].family.symptom.what == "missed" and found[0].survives["noise"][1] > 0
    assert "without" not in found[0].survives


def test_of_a_misread_object_only_questions_are_asked_whose_answer_stays_true_without_it(
    tmp_path: Path,
) -> None:
    found, _ = audited(tmp_path, hidden_metal_cylinders_are_cubes, revoked="sphere")
    share, scenes = found[0].survives["without"]
    assert share == 0.0 and scenes > 0, "the fault needs the object"
