"""What an audit searches for: mistakes that it did not see, by a query that a person could have written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.trex.auditing.test_audit_command import ARGUMENTS
from trex.auditing import leads as module
from trex.auditing.examine import Asker
from trex.auditing.leads import Hint, hints
from trex.auditing.records import Answer, Examined, Mistake
from trex.clevr_models.fake import fake
from trex.scenes.graph import Facts
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.families import FAMILIES
from trex.scenes.questions.programs import possible_answers
from trex.scenes.vocabulary import CLEVR
from trex.worlds.registry import check

SCENE = ScenePrior(CLEVR, n_objects=(4, 4)).sample(np.random.default_rng(5))
FACTS = Facts(SCENE, (1.0,) * 4, (None,) * 4, ((),) * 4)
COPIES = 5  # of the rows: the answer has to be wrong in five scenes
ASKER = Asker(fake(), CLEVR, 300, 0, 0.9)


def hint(*probabilities: float, sure: float | None = None, text: str | None = None) -> tuple[Hint, ...]:
    """What is found where counting questions get one too many with these probabilities."""
    rows = []
    for number, probability in enumerate(probabilities):
        answers = [
            Answer(question.family.index, question.answer, question.answer, 0.5)
            for question in ASKER.questions(SCENE, number)
        ]
        at = next(k for k, answer in enumerate(answers) if FAMILIES[answer.family].name == "zero_hop/count")
        wrong = str(int(answers[at].truth) + 1) if text is None else text
        answers[at] = replace(answers[at], said=wrong, probability=probability)
        mistakes = (Mistake(at, None),) if probability == sure else ()
        rows.append((FACTS, Examined(number, tuple(answers), mistakes, (), FACTS.shares, FACTS.hiders)))
    return hints(rows * COPIES, ASKER)


def test_the_surest_mistake_of_a_kind_is_named_with_its_question() -> None:
    found = hint(0.3, 0.7, 0.6)
    best = max(found, key=lambda item: item.probability)
    assert (best.probability, best.scene) == (0.7, 1) and "too many" in best.what
    question = next(
        scene_question
        for scene_question in ASKER.questions(SCENE, 1)
        if ASKER.words(scene_question) == best.question
    )
    assert best.truth == question.answer and best.said in possible_answers(question.program)
    assert best.said == str(int(best.truth) + 1)
    assert [item.probability for item in found] == sorted((item.probability for item in found), reverse=True)


def test_a_kind_that_a_scene_shows_is_not_searched_for() -> None:
    kind = hint(0.3, 0.7)[0].what
    assert kind not in {item.what for item in hint(0.3, 0.7, 0.95, sure=0.95)}
    assert kind in {item.what for item in hint(0.3, 0.7, 0.89, sure=0.95)}


def test_an_answer_that_clevr_does_not_have_is_not_searched_for() -> None:
    assert hint(0.7, text="<unparsed>") == ()


def test_a_question_that_few_scenes_answer_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hint(0.7)
    monkeypatch.setattr(module, "LEAST", 6)
    assert hint(0.7) == ()


@pytest.mark.slow
def test_each_lead_is_a_sound_query_and_the_first_are_searched_for(tmp_path: Path) -> None:
    out, bank = tmp_path / "audit", tmp_path / "bank"
    words = (*ARGUMENTS, "--bank", bank, "--out", out, "--json")
    message = json.loads(trex_done(*words).stdout)
    leads = message["leads"]
    assert leads and all(item["searched"] is None for item in leads)
    for lead in leads:
        plan = check(out / lead["query"])
        assert plan.question.answers == (lead["said"],) and plan.scenes.wrong is not None
        assert plan.query.target.threshold == 0.9 and plan.query.scene.revoke == ("cube",)
        assert plan.question.text == lead["question"]
    again = json.loads(trex_done(*words, "--searched", "1").stdout)
    first = again["leads"][0]["searched"]
    assert (
        first["ending"] in ("FOUND", "NOT FOUND", "CONVERGED")
        and (out / first["run"] / "report.html").is_file()
    )
    assert [item["searched"] is None for item in again["leads"]] == [False] + [True] * (len(leads) - 1)
    page = (out / "report.html").read_text()
    assert "1 searched for" in page and "of the scenes in which that answer is wrong" in page
    draws = (out / "searches" / "1" / "draws.jsonl").read_bytes()
    assert json.loads(trex_done(*words, "--searched", "1").stdout) == again
    assert (out / "searches" / "1" / "draws.jsonl").read_bytes() == draws


@pytest.mark.parametrize("n", ["-1", "101"])
def test_an_impossible_number_of_searches_is_refused(n: str, tmp_path: Path) -> None:
    refused(trex(*ARGUMENTS, "--out", tmp_path / "audit", "--searched", n), f"--searched {n}: give 0 to 100")
    assert not (tmp_path / "audit").exists()


def test_a_world_with_a_condition_of_its_own_is_not_searched(tmp_path: Path) -> None:
    query = tmp_path / "query.toml"
    query.write_text('question = "How many cubes are there?"\nanswer = "1"\nwrong = true\n')
    words = [
        "audit",
        "fake",
        "--preset",
        "fake",
        "--confirm-preset",
        "fake",
        "--world",
        query,
        "--searched",
        "1",
    ]
    refused(trex(*words, "--out", tmp_path / "audit"), "has wrong = true")
