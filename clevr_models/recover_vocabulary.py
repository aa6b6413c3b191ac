"""Settle the open word and answer indices of the released Relation Networks by likelihood: one assignment problem.

    python -m clevr_models.recover_vocabulary --data CLEVR_v1.0 --weights DIR --start vocab.json --out FILE

The networks' authors numbered words by first appearance in the training questions and did not publish the list. Most of
it follows from the few training questions at hand; the words in OPEN do not. For each of them and each open index the
log likelihood of answered questions that hold the word is computed, all else as it is; the best assignment of words to
indices is taken, and again, until nothing changes. Content words are not touched.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from clevr_models.fetch import RELEASES
from clevr_models.relation_network import RelationNetwork
from clevr_models.relation_vocabulary import RelationVocabulary, read_vocabulary
from clevr_models.vocabulary_likelihood import Judge, Jury, Words, split_words
from clevr_models.vocabulary_questions import Answered, large_counts, phrase_questions, read_answered
from clevr_models.weights import load_into, read_foreign

OPEN = (
    "another", "less", "anything", "greater", "fewer", "either", "has", "equal", "else", "do", "an", "visible",
)  # fmt: skip
OPEN_ANSWERS = ("8", "9", "10")
ROUNDS = 6  # at most; two or three are enough
NOTE = (
    "Index by first appearance in CLEVR_train_questions.json, lower case, punctuation as tokens, 0 = padding. 1-70 "
    "follow from the first training questions (nouns and attribute words confirmed by behaviour). The other twelve "
    "words were recovered by clevr_models/recover_vocabulary.py: likelihood of answered questions on official "
    "pictures, both released networks together, one assignment problem. Tokens go into the LSTM in reversed order, "
    "after the padding. "
    "Answer index = network output + 1."
)


class Evidence(NamedTuple):
    """Questions by open word, and how sure an assignment is: its log likelihood above the best one without it."""

    words: dict[str, int]
    gains: NDArray[
        np.float64
    ]  # (words, indices) log likelihood of the word's questions with the word at the index
    margins: dict[str, float]


def choose(rng: np.random.Generator, pool: Sequence[Answered], most: int) -> dict[str, list[Answered]]:
    """Up to `most` questions for each open word, drawn from those that hold it."""
    chosen = {}
    for word in OPEN:
        holding = [question for question in pool if word in split_words(question.text)]
        chosen[word] = [holding[i] for i in rng.permutation(len(holding))[:most]]
    return chosen


def assign(jury: Jury, questions: Mapping[str, Sequence[Answered]], start: Words) -> Evidence:
    """The open words' best indices; all other words stay."""
    words = dict(start)
    indices = sorted(start[word] for word in OPEN)
    for _ in range(ROUNDS):
        gains = np.array([[_gain(jury, questions[w], {**words, w: i}) for i in indices] for w in OPEN])
        best = _best(gains, indices)
        if all(words[word] == index for word, index in best.items()):
            break
        words |= best
    return Evidence(words, gains, {word: _margin(gains, row, indices) for row, word in enumerate(OPEN)})


def _gain(jury: Jury, questions: Sequence[Answered], words: Words) -> float:
    return float(jury.log_likelihoods(questions, words).sum())


def _best(gains: NDArray[np.float64], indices: Sequence[int]) -> dict[str, int]:
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return {OPEN[row]: indices[column] for row, column in zip(rows, columns, strict=True)}


def _margin(gains: NDArray[np.float64], row: int, indices: Sequence[int]) -> float:
    """How much log likelihood is lost when the word is barred from its index and all the others give way."""
    rows, columns = linear_sum_assignment(gains, maximize=True)
    barred = gains.copy()
    barred[row, columns[row]] = -1e9
    others = linear_sum_assignment(barred, maximize=True)
    return float(gains[rows, columns].sum() - barred[others].sum())


def settle_answers(jury: Jury, questions: Sequence[Answered], words: Words) -> tuple[dict[str, int], float]:
    """The outputs of OPEN_ANSWERS and by how much log likelihood they beat the next best order."""
    outputs = sorted(jury.outputs[answer] for answer in OPEN_ANSWERS)
    trials = []
    for order in itertools.permutations(outputs):
        trial = jury.outputs | dict(zip(OPEN_ANSWERS, order, strict=True))
        rows = sum(
            (judge.log_probs(questions, words) for judge in jury.judges), start=np.zeros((1, len(trial)))
        )
        score = float(rows[np.arange(len(questions)), [trial[q.answer] for q in questions]].sum())
        trials.append((score, dict(zip(OPEN_ANSWERS, order, strict=True))))
    (best, found), (second, _) = sorted(trials, key=lambda pair: -pair[0])[:2]
    return found, best - second


def held_out(jury: Jury, questions: Mapping[str, Sequence[Answered]], start: Words) -> dict[str, object]:
    """Recover from half of the pictures, judge on the other half, both ways round."""
    pictures = sorted({q.picture for some in questions.values() for q in some})
    halves = (set(pictures[::2]), set(pictures[1::2]))
    total: list[tuple[int, ...]] = []
    before: list[tuple[int, ...]] = []
    agreed = []
    asked = 0
    for seen, unseen in (halves, halves[::-1]):
        learnt = {word: [q for q in some if q.picture in seen] for word, some in questions.items()}
        kept = sorted({q for some in questions.values() for q in some if q.picture in unseen})
        words = assign(jury, learnt, start).words
        agreed.append({word: words[word] for word in OPEN})
        before.append(jury.right(kept, start))
        total.append(jury.right(kept, words))
        asked += len(kept)
    return {
        "questions": asked,
        "right before, by network": [sum(column) for column in zip(*before, strict=True)],
        "right after, by network": [sum(column) for column in zip(*total, strict=True)],
        "words on which the halves differ": sorted(w for w in OPEN if agreed[0][w] != agreed[1][w]),
    }


def load_jury(
    weights: Path, pictures: Sequence[Path], vocabulary: RelationVocabulary, names: Sequence[str]
) -> Jury:
    """The released networks in a folder with their published .pth files, `pictures` taken in."""
    judges = []
    for name in names:
        network = RelationNetwork(name)
        path = weights / RELEASES[name].file
        load_into(network, read_foreign(path, RELEASES[name].sha256), path)
        judges.append(Judge(network, pictures))
    return Jury(judges, vocabulary.answers)


def write_vocabulary(path: Path, words: Words, answers: Sequence[str]) -> None:
    """The vocabulary as facts: words and answers by index, and how they were found."""
    record = {
        "note": NOTE,
        "question_token_to_idx": dict(sorted(words.items(), key=lambda item: item[1])),
        "answer_token_to_idx": {answer: output + 1 for output, answer in enumerate(answers)},
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def main() -> None:
    """Read the arguments, settle the indices, report and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="folder in CLEVR's layout: images, scenes, questions"
    )
    parser.add_argument("--weights", type=Path, required=True, help="folder with the published .pth files")
    parser.add_argument("--start", type=Path, required=True, help="the vocabulary to start from")
    parser.add_argument("--out", type=Path, help="where to write the settled vocabulary")
    parser.add_argument("--questions", type=int, default=25, help="questions for each open word")
    parser.add_argument("--networks", nargs="+", default=["ir", "original"], choices=sorted(RELEASES))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    vocabulary = read_vocabulary(arguments.start)
    published = read_answered(arguments.data)
    rng = np.random.default_rng(20170214)
    pool = published + phrase_questions(rng, arguments.data, per_scene=12)
    jury = load_jury(arguments.weights, [q.picture for q in pool], vocabulary, arguments.networks)
    questions = choose(rng, pool, arguments.questions)
    report(arguments.data, jury, questions, vocabulary, arguments.out)


def report(
    data: Path,
    jury: Jury,
    questions: Mapping[str, Sequence[Answered]],
    vocabulary: RelationVocabulary,
    out: Path | None,
) -> None:
    """Print one JSON object a line: the assignment, its margins, accuracy before and after, held out too."""
    start = vocabulary.words
    found = assign(jury, questions, start)
    moved = {word: found.words[word] for word in OPEN}
    print(json.dumps({"indices": moved}), flush=True)
    print(
        json.dumps({"margins in log likelihood": {w: round(m, 1) for w, m in found.margins.items()}}),
        flush=True,
    )
    official = [q for q in read_answered(data) if "CLOSURE" not in q.source]
    for name, words in (("before", start), ("after", found.words)):
        print(json.dumps({f"official {name}": jury.right(official, words), "of": len(official)}), flush=True)
    print(json.dumps({"held out": held_out(jury, questions, start)}), flush=True)
    outputs, margin = settle_answers(jury, list(large_counts(data)), found.words)
    print(
        json.dumps({"answers": {a: o + 1 for a, o in outputs.items()}, "margin": round(margin, 2)}),
        flush=True,
    )
    if out is not None:
        places = {**jury.outputs, **outputs}
        write_vocabulary(out, found.words, sorted(places, key=lambda answer: places[answer]))


if __name__ == "__main__":
    main()
