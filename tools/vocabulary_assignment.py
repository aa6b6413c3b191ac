"""Which word has which index: one assignment problem over likelihood, word pairs and word kinship."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from tools.vocabulary_questions import Answered

Floats = NDArray[np.float64]
Words = Mapping[str, int]
Questions = Mapping[str, Sequence[Answered]]

SINGLES = ("another", "less", "greater", "fewer", "either", "has", "do", "visible")
# CLEVR says these only together, so both were first seen together and have consecutive indices.
PAIRS = (("anything", "else"), ("an", "equal"))
OPEN = (*SINGLES, *(word for pair in PAIRS for word in pair))
# A known word of the same use, whose embedding training has made alike; the words of a pair are each other's kin.
KIN = {"another": "a", "either": "both", "has": "have", "do": "does"}
KINSHIP = 10.0  # log likelihood that one unit of cosine weighs: decides only where questions hardly do
ROUNDS = 6  # at most; two or three are enough
BARRED = -1e9


class Likelihood(Protocol):
    """How well a vocabulary explains answered questions."""

    def log_likelihoods(self, questions: Sequence[Answered], words: Words) -> Floats:
        """(Q,) the log probability of each question's true answer."""
        ...


class Scores(NamedTuple):
    """What speaks for each word at each index (singles, indices) and each pair from an index on (pairs, indices)."""

    singles: Floats
    pairs: Floats

    def plus(self, other: Scores) -> Scores:
        """Both kinds of evidence together."""
        return Scores(self.singles + other.singles, self.pairs + other.pairs)

    def without(self, word: str, column: int) -> Scores:
        """The same with a word barred from an index."""
        singles, pairs = self.singles.copy(), self.pairs.copy()
        if word in SINGLES:
            singles[SINGLES.index(word), column] = BARRED
        for row, pair in enumerate(PAIRS):
            if word in pair and column >= pair.index(word):
                pairs[row, column - pair.index(word)] = BARRED
        return Scores(singles, pairs)


class Assignment(NamedTuple):
    """The settled vocabulary, and the score lost when a word is barred from its index: by all, by likelihood."""

    words: dict[str, int]
    margins: dict[str, float]
    likelihood_margins: dict[str, float]


def assign(jury: Likelihood, kinship: Scores, questions: Questions, start: Words) -> Assignment:
    """The open words' best indices; all other words stay. Repeated until it changes nothing."""
    words = dict(start)
    indices = sorted(start[word] for word in OPEN)
    for _ in range(ROUNDS):
        likelihood = likelihood_scores(jury, questions, words, indices)
        _, found = best(likelihood.plus(kinship), indices)
        is_settled = all(words[word] == index for word, index in found.items())
        words |= found
        if is_settled:
            break
    total = likelihood.plus(kinship)
    return Assignment(words, _margins(total, total, indices), _margins(total, likelihood, indices))


def likelihood_scores(jury: Likelihood, questions: Questions, words: Words, indices: Sequence[int]) -> Scores:
    """The log likelihood of each word's questions with the word at each index, all other words as they are."""

    def gain(word: str, trial: Words) -> float:
        return float(jury.log_likelihoods(questions[word], {**words, **trial}).sum())

    singles = [[gain(word, {word: index}) for index in indices] for word in SINGLES]
    pairs = [
        [gain(a, {a: index, b: index + 1}) if index + 1 in indices else BARRED for index in indices]
        for a, b in PAIRS
    ]
    return Scores(np.array(singles), np.array(pairs))


def kinship_scores(embeddings: Sequence[Tensor], words: Words) -> Scores:
    """KINSHIP times the cosine of each open index's embedding and its kin's, summed over networks."""
    indices = sorted(words[word] for word in OPEN)
    cosines = np.zeros((len(embeddings[0]), len(embeddings[0])))
    for embedding in embeddings:
        unit = embedding / embedding.norm(dim=1, keepdim=True)
        cosines += (unit @ unit.T).double().numpy()
    singles = [[cosines[i, words[KIN[w]]] if w in KIN else 0.0 for i in indices] for w in SINGLES]
    pairs = [[cosines[i, i + 1] if i + 1 in indices else 0.0 for i in indices] for _ in PAIRS]
    return Scores(KINSHIP * np.array(singles), KINSHIP * np.array(pairs))


def best(scores: Scores, indices: Sequence[int]) -> tuple[float, dict[str, int]]:
    """The assignment of the highest score: pairs tried everywhere, the single words by the Hungarian method."""
    found: tuple[float, dict[str, int]] = (-np.inf, {})
    for starts in itertools.product(range(len(indices) - 1), repeat=len(PAIRS)):
        taken = [column for start in starts for column in (start, start + 1)]
        if len(set(taken)) < len(taken):
            continue
        left = [column for column in range(len(indices)) if column not in taken]
        rows, columns = linear_sum_assignment(scores.singles[:, left], maximize=True)
        total = float(scores.singles[rows, [left[c] for c in columns]].sum())
        total += float(scores.pairs[range(len(PAIRS)), starts].sum())
        if total > found[0]:
            words = {SINGLES[row]: indices[left[column]] for row, column in zip(rows, columns, strict=True)}
            for pair, start in zip(PAIRS, starts, strict=True):
                words |= {pair[0]: indices[start], pair[1]: indices[start + 1]}
            found = (total, words)
    return found


def _margins(total: Scores, judged: Scores, indices: Sequence[int]) -> dict[str, float]:
    """By how much `judged` prefers what is best by `total` to its own best assignment without that word there."""
    _, words = best(total, indices)
    here = _score(judged, words, indices)
    return {
        word: here - best(judged.without(word, indices.index(index)), indices)[0]
        for word, index in words.items()
    }


def _score(scores: Scores, words: Words, indices: Sequence[int]) -> float:
    singles = sum(scores.singles[row, indices.index(words[word])] for row, word in enumerate(SINGLES))
    pairs = sum(scores.pairs[row, indices.index(words[pair[0]])] for row, pair in enumerate(PAIRS))
    return float(singles + pairs)
