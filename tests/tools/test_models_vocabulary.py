"""Recovering word indices: on a made-up network whose likelihood is known; and phrased questions and their answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from tests.references.official_clevr import data_file
from tools.recover_vocabulary import (
    CERTAIN,
    OPEN_ANSWERS,
    choose,
    settle_answers,
    uncertain,
    write_vocabulary,
)
from tools.vocabulary_assignment import OPEN, PAIRS, SINGLES, Words, assign, best, kinship_scores
from tools.vocabulary_assignment import Scores as Evidence
from tools.vocabulary_likelihood import split_words
from tools.vocabulary_questions import Answered, large_counts, phrase_questions, read_scenes
from trex.clevr_models.relation_network.vocabulary import (
    FILE,
    how_found,
    read_vocabulary,
    relation_vocabulary,
)
from trex.foundation.errors import InputError

INDICES = list(range(71, 83))
TRUTH = dict(zip((*SINGLES[:5], *PAIRS[0], *SINGLES[5:], *PAIRS[1]), INDICES, strict=True))
KNOWN = {word: index for word, index in relation_vocabulary().words.items() if word not in OPEN}
NOTHING = Evidence(np.zeros((len(SINGLES), 12)), np.zeros((len(PAIRS), 12)))


class KnownNetwork:
    """Loses one nat for every word of a question that is not at its true index; `deaf` words cost nothing."""

    def __init__(self, deaf: Sequence[str] = ()) -> None:
        self.truth = {**KNOWN, **{word: index for word, index in TRUTH.items() if word not in deaf}}

    def log_likelihoods(
        self, questions: Sequence[Answered], words: Words
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        losses = [
            [words[word] != self.truth[word] for word in split_words(q.text) if word in self.truth]
            for q in questions
        ]
        return -np.array([sum(wrong) for wrong in losses], dtype=np.float64)


def questions() -> dict[str, list[Answered]]:
    texts = {word: f"Is the {word} cube?" for word in OPEN}
    texts |= {"anything": "Is there anything else?", "else": "Is there anything else?"}
    texts |= {"an": "Are there an equal number of cubes?", "equal": "Are there an equal number of cubes?"}
    return {word: [Answered(Path("picture"), text, "yes")] * 3 for word, text in texts.items()}


@pytest.mark.parametrize("seed", range(4))
def test_the_true_indices_are_found_from_any_start_and_known_words_stay(seed: int) -> None:
    start = {
        **KNOWN,
        **dict(zip(OPEN, np.random.default_rng(seed).permutation(INDICES).tolist(), strict=True)),
    }
    found = assign(KnownNetwork(), NOTHING, questions(), start)
    assert {word: found.words[word] for word in OPEN} == TRUTH
    assert {word: index for word, index in found.words.items() if word not in OPEN} == KNOWN
    assert min(found.margins.values()) >= 3.0 and found.margins == found.likelihood_margins


def test_words_that_the_network_is_deaf_to_are_settled_by_kinship() -> None:
    deaf = ("another", "has")
    start = {**KNOWN, **dict(zip(OPEN, INDICES, strict=True))}
    embedding = torch.randn(83, 32, generator=torch.Generator().manual_seed(1))
    for word, kin in (("another", "a"), ("has", "have")):
        embedding[TRUTH[word]] = embedding[KNOWN[kin]] + 0.1 * embedding[TRUTH[word]]
    found = assign(KnownNetwork(deaf), kinship_scores([embedding], start), questions(), start)
    assert {word: found.words[word] for word in OPEN} == TRUTH
    assert abs(found.likelihood_margins["has"]) < 0.5 < found.margins["has"]


def test_the_best_assignment_is_the_best_of_all_that_keep_pairs_together() -> None:
    rng = np.random.default_rng(2)
    scores = Evidence(rng.normal(size=(len(SINGLES), 12)), rng.normal(size=(len(PAIRS), 12)))
    total, words = best(scores, INDICES)
    assert sorted(words.values()) == INDICES and all(words[b] == words[a] + 1 for a, b in PAIRS)

    def score(trial: Words) -> float:
        singles = sum(scores.singles[row, trial[word] - 71] for row, word in enumerate(SINGLES))
        return float(singles + sum(scores.pairs[row, trial[a] - 71] for row, (a, _) in enumerate(PAIRS)))

    assert score(words) == pytest.approx(total)
    for _ in range(300):  # nothing that exchanges two single words is better
        a, b = rng.choice(SINGLES, size=2, replace=False)
        assert score({**words, a: words[b], b: words[a]}) <= total + 1e-9


def test_answer_outputs_are_settled_by_likelihood() -> None:
    asked = [Answered(Path("picture"), "How many?", answer) for answer in OPEN_ANSWERS for _ in range(3)]

    class Jury:
        outputs = {answer: output for output, answer in enumerate(("yes", "9", "7", "10", "8"))}  # noqa: RUF012

        def log_probs(
            self, asked: Sequence[Answered], words: Words
        ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
            true = {"7": 1, "8": 2, "9": 3, "10": 4}
            return np.where(np.arange(5) == np.array([[true[q.answer]] for q in asked]), -0.1, -3.0)

    found, margin = settle_answers(Jury(), asked, {})  # type: ignore[arg-type]
    assert found == {"7": 1, "8": 2, "9": 3, "10": 4} and margin == pytest.approx(2 * 3 * 2.9)


def test_a_written_vocabulary_is_read_back(tmp_path: Path) -> None:
    known = relation_vocabulary()
    write_vocabulary(tmp_path / "v.json", known.words, known.answers)
    assert read_vocabulary(tmp_path / "v.json") == known
    (tmp_path / "v.json").write_text(FILE.read_text().replace('"10": 28', '"10": 27'))
    with pytest.raises(InputError, match="1 to 28, each once"):
        read_vocabulary(tmp_path / "v.json")
    (tmp_path / "v.json").write_text("{}")
    with pytest.raises(InputError, match="not a vocabulary"):
        read_vocabulary(tmp_path / "v.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One scene of nine objects in CLEVR's layout; the picture is never opened."""
    kinds = [("cube", "red"), ("cube", "blue"), ("sphere", "red")] + [("cylinder", "gray")] * 6
    objects = [{"shape": s, "color": c, "size": "large", "material": "metal"} for s, c in kinds]
    for part in ("scenes", "images/val"):
        (tmp_path / part).mkdir(parents=True)
    (tmp_path / "images/val/p.png").touch()
    record = {"split": "val", "image_filename": "p.png", "objects": objects}
    (tmp_path / "scenes/s.json").write_text(json.dumps({"scenes": [record]}))
    return tmp_path


def test_phrased_questions_have_the_words_and_the_truth(folder: Path) -> None:
    rng = np.random.default_rng(3)
    asked = phrase_questions(rng, folder, per_scene=60)
    by_text = {q.text: q.answer for q in asked}
    known = relation_vocabulary()
    assert all(known.encode(text) for text in by_text)
    assert all(len(some) == 5 for some in choose(rng, asked, 5).values())
    wanted = {"Are there any red balls?": "yes", "Are any red blocks visible?": "yes"}
    assert all(by_text.get(text, answer) == answer for text, answer in wanted.items())
    assert {q.answer for q in asked if q.text.startswith("Are any")} == {"yes", "no"}
    assert {q.answer for q in large_counts(rng, folder)} <= {"7", "8", "9"} and large_counts(rng, folder)
    assert len(read_scenes(folder)) == 1


def test_the_card_says_how_the_words_were_found_and_which_stay_uncertain() -> None:
    found, words = how_found(), relation_vocabulary().words
    margins = cast(dict[str, float], found["margins in log likelihood alone"])
    assert found["indices"] == {word: words[word] for word in OPEN}
    assert set(margins) == set(cast(dict[str, float], found["margins"])) == set(OPEN)
    assert found["not settled by questions alone"] == uncertain(margins)
    assert uncertain({"less": CERTAIN, "another": CERTAIN - 0.1, "has": -11.3}) == ["another", "has"]
    assert "likelihood" in str(found["method"]) and "recovered by" in str(found["note"])


def test_the_package_s_words_are_those_at_hand_with_only_open_ones_moved() -> None:
    start = read_vocabulary(data_file("models/relation_network/vocab.json"))
    ours = relation_vocabulary()
    moved = {word for word, index in ours.words.items() if start.words[word] != index}
    assert moved <= set(OPEN) and len(set(ours.words.values())) == 82
    fixed = [answer for answer in ours.answers if answer not in OPEN_ANSWERS]
    assert all(ours.answers.index(answer) == start.answers.index(answer) for answer in fixed)
