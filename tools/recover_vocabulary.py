"""Settle the open word and answer indices of the released Relation Networks: one assignment problem.

    python -m tools.recover_vocabulary --data CLEVR_v1.0 --weights DIR --start vocab.json --out FILE

Their author numbered words by first appearance in the training questions and did not publish the list. Most of it
follows from the few training questions at hand; the words in `vocabulary_assignment.OPEN` do not. For each of them and
each open index the log likelihood of answered questions that hold the word is computed, all else as it is; words that
only occur together take consecutive indices; where questions hardly tell, embeddings of words of the same use do. The
best assignment is taken, and again, until nothing changes. Content words are not touched.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from tools.vocabulary_assignment import OPEN, Questions, Scores, Words, assign, kinship_scores
from tools.vocabulary_likelihood import Judge, Jury, split_words
from tools.vocabulary_questions import Answered, large_counts, phrase_questions, read_answered
from trex.artifacts.weights import load_into, read_foreign
from trex.clevr_models.fetch import RELEASES
from trex.clevr_models.relation_network.network import RelationNetwork
from trex.clevr_models.relation_network.vocabulary import read_vocabulary

SEED = 20170214
OPEN_ANSWERS = ("7", "8", "9", "10")
CERTAIN = 3.0  # log likelihood, odds of 20 to 1: below it the questions alone do not settle an index
METHOD = (
    "For each open word and each open index the log likelihood of up to {most} answered questions that hold the word "
    "is summed over both released networks, on official pictures with scenes ({published} published questions, the "
    "others phrased from the scenes). Words that only occur together take consecutive indices; 10 times the cosine of "
    "the embedding with that of a word of the same use breaks what is left. The best assignment is taken until nothing "
    "changes. A margin is the score lost when the word is barred from its index."
)
NOTE = (
    "Index by first appearance in CLEVR_train_questions.json, lower case, punctuation as tokens, 0 = padding. "
    "1-70 follow from the first training questions (nouns and attribute words confirmed by behaviour). The other "
    "twelve words and the answers 7 to 10 were recovered by tools/recover_vocabulary.py, from answered "
    "questions on official pictures and the two released networks. Tokens go into the LSTM in reversed order, after "
    "the padding. Answer index = network output + 1."
)


def choose(rng: np.random.Generator, pool: Sequence[Answered], most: int) -> dict[str, list[Answered]]:
    """Up to `most` questions for each open word, drawn from those that hold it."""
    chosen = {}
    for word in OPEN:
        holding = [question for question in pool if word in split_words(question.text)]
        chosen[word] = [holding[i] for i in rng.permutation(len(holding))[:most]]
    return chosen


def settle_answers(jury: Jury, questions: Sequence[Answered], words: Words) -> tuple[dict[str, int], float]:
    """The outputs of OPEN_ANSWERS and by how much log likelihood they beat the next best order."""
    rows, at = jury.log_probs(questions, words), np.arange(len(questions))
    trials = []
    for order in itertools.permutations(sorted(jury.outputs[answer] for answer in OPEN_ANSWERS)):
        found = dict(zip(OPEN_ANSWERS, order, strict=True))
        outputs = [found.get(q.answer, jury.outputs[q.answer]) for q in questions]
        trials.append((float(rows[at, outputs].sum()), found))
    (first, found), (second, _) = sorted(trials, key=lambda pair: -pair[0])[:2]
    return found, first - second


def held_out(jury: Jury, kinship: Scores, questions: Questions, start: Words) -> dict[str, object]:
    """Recover from half of the pictures, judge on the other half, both ways round."""
    pictures = sorted({q.picture for some in questions.values() for q in some})
    halves = (set(pictures[::2]), set(pictures[1::2]))
    before, after, found = [], [], []
    for seen, unseen in (halves, halves[::-1]):
        learnt = {word: [q for q in some if q.picture in seen] for word, some in questions.items()}
        kept = sorted({q for some in questions.values() for q in some if q.picture in unseen})
        words = assign(jury, kinship, learnt, start).words
        found.append(words)
        before.append((*jury.right(kept, start), len(kept)))
        after.append((*jury.right(kept, words), len(kept)))
    return {
        "right before, by network, and questions": np.sum(before, axis=0).tolist(),
        "right after, by network, and questions": np.sum(after, axis=0).tolist(),
        "words on which the halves differ": sorted(word for word in OPEN if found[0][word] != found[1][word]),
    }


def load_networks(weights: Path) -> dict[str, RelationNetwork]:
    """The released networks in a folder with their published .pth files."""
    networks = {}
    for name, release in RELEASES.items():
        path = weights / release.file
        networks[name] = RelationNetwork(name)
        load_into(networks[name], read_foreign(path, release.sha256), path)
    return networks


def uncertain(likelihood_margins: Mapping[str, float]) -> list[str]:
    """The words whose index answered questions alone do not settle."""
    return sorted(word for word, margin in likelihood_margins.items() if margin < CERTAIN)


def write_vocabulary(
    path: Path, words: Words, answers: Sequence[str], found: Mapping[str, object] | None = None
) -> None:
    """The vocabulary as facts: words and answers by index, and how they were found, with the figures in `found`."""
    record = {
        "note": NOTE,
        "found": dict(found or {}),
        "question_token_to_idx": dict(sorted(words.items(), key=lambda item: item[1])),
        "answer_token_to_idx": {answer: output + 1 for output, answer in enumerate(answers)},
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def recover(data: Path, weights: Path, start: Path, most: int, out: Path | None) -> None:
    """Print one JSON object a line: the assignment, its margins, accuracy before and after, held out too."""
    vocabulary, networks = read_vocabulary(start), load_networks(weights)
    rng = np.random.default_rng(SEED)
    published = read_answered(data)
    pool = published + phrase_questions(rng, data, per_scene=12)
    jury = Jury([Judge(n, [q.picture for q in pool]) for n in networks.values()], vocabulary.answers)
    kinship = kinship_scores([n.text.wembedding.weight.detach() for n in networks.values()], vocabulary.words)
    questions = choose(rng, pool, most)
    found = assign(jury, kinship, questions, vocabulary.words)
    _say(
        {
            "networks": list(networks),
            "questions by word": {word: len(some) for word, some in questions.items()},
        }
    )
    outputs, margin = settle_answers(jury, large_counts(rng, data), found.words)
    official = [q for q in published if "CLOSURE" not in q.source]
    figures: dict[str, object] = {
        "method": METHOD.format(most=most, published=len(published)),
        "indices": {word: found.words[word] for word in OPEN},
        "margins": _rounded(found.margins),
        "margins in log likelihood alone": _rounded(found.likelihood_margins),
        "not settled by questions alone": uncertain(found.likelihood_margins),
        "answers": {answer: output + 1 for answer, output in outputs.items()},
        "margin of the answers in log likelihood": round(margin, 1),
        "official questions": len(official),
        "right before, by network": jury.right(official, vocabulary.words),
        "right after, by network": jury.right(official, found.words),
        "held out": held_out(jury, kinship, questions, vocabulary.words),
    }
    for name, figure in figures.items():
        _say({name: figure})
    if out is not None:
        places = {**jury.outputs, **outputs}
        write_vocabulary(out, found.words, sorted(places, key=lambda answer: places[answer]), figures)


def _rounded(margins: dict[str, float]) -> dict[str, float]:
    return {word: round(margin, 1) for word, margin in margins.items()}


def _say(record: dict[str, object]) -> None:
    print(json.dumps(record), flush=True)


def main() -> None:
    """Read the arguments and recover."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="folder in CLEVR's layout: images, scenes, questions"
    )
    parser.add_argument("--weights", type=Path, required=True, help="folder with the published .pth files")
    parser.add_argument("--start", type=Path, required=True, help="the vocabulary to start from")
    parser.add_argument("--out", type=Path, help="where to write the settled vocabulary")
    parser.add_argument("--questions", type=int, default=24, help="questions for each open word")
    given = parser.parse_args()
    torch.set_num_threads(1)
    recover(given.data, given.weights, given.start, given.questions, given.out)


if __name__ == "__main__":
    main()
