"""How well a trial vocabulary explains answered questions: the picture half is computed once, so a trial is cheap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tools.vocabulary_questions import Answered
from trex.clevr_models.relation_network.network import RelationNetwork
from trex.clevr_models.relation_network.vocabulary import TOKEN
from trex.foundation.images import read_png

Words = Mapping[str, int]
Floats = NDArray[np.float64]
Asked = tuple[Path, tuple[int, ...]]


def read_picture(path: Path) -> NDArray[np.float32]:
    """A picture file as (H, W, 3) in [0, 1]."""
    return read_png(path).astype(np.float32) / np.float32(255.0)


def split_words(text: str) -> tuple[str, ...]:
    """The words of a question as the network's tokens."""
    return tuple(TOKEN.findall(text.lower()))


class Judge:
    """A network that has taken in the pictures of a set of questions (4 MB each) and remembers what it answered."""

    def __init__(self, network: RelationNetwork, pictures: Iterable[Path]) -> None:
        self.network = network.eval()
        self._answered: dict[Asked, Floats] = {}
        with torch.inference_mode():
            self._pictures = {path: self._take_in(path) for path in sorted(set(pictures))}

    def _take_in(self, path: Path) -> Tensor:
        return self.network.pictures(torch.from_numpy(read_picture(path)).permute(2, 0, 1)[None])

    def log_probs(self, questions: Sequence[Answered], words: Words) -> Floats:
        """(Q, 28) natural log, in the network's own order of outputs, each question read with this vocabulary."""
        asked = [(q.picture, tuple(words[word] for word in split_words(q.text))) for q in questions]
        self._answer([key for key in dict.fromkeys(asked) if key not in self._answered])
        return np.stack([self._answered[key] for key in asked])

    def _answer(self, asked: Sequence[Asked]) -> None:
        if not asked:
            return
        with torch.inference_mode():
            halves = self.network.questions([tokens for _, tokens in asked])
            for key, half in zip(asked, halves, strict=True):
                logits = self.network.combine(self._pictures[key[0]], half)[0]
                self._answered[key] = logits.double().log_softmax(dim=-1).numpy()


class Jury:
    """Several judges, whose log likelihoods are added."""

    def __init__(self, judges: Sequence[Judge], answers: Sequence[str]) -> None:
        self.judges = tuple(judges)
        self.outputs = {answer: output for output, answer in enumerate(answers)}

    def log_probs(self, questions: Sequence[Answered], words: Words) -> Floats:
        """(Q, 28), the judges' log probabilities added."""
        total: Floats = np.sum([judge.log_probs(questions, words) for judge in self.judges], axis=0)
        return total

    def log_likelihoods(self, questions: Sequence[Answered], words: Words) -> Floats:
        """(Q,) the log probability of each question's true answer, summed over judges."""
        likelihoods: Floats = self.log_probs(questions, words)[
            np.arange(len(questions)), self._outputs(questions)
        ]
        return likelihoods

    def right(self, questions: Sequence[Answered], words: Words) -> tuple[int, ...]:
        """How many questions each judge answers rightly."""
        outputs = self._outputs(questions)
        return tuple(
            int((judge.log_probs(questions, words).argmax(axis=1) == outputs).sum()) for judge in self.judges
        )

    def _outputs(self, questions: Sequence[Answered]) -> NDArray[np.int64]:
        return np.array([self.outputs[q.answer] for q in questions], dtype=np.int64)
