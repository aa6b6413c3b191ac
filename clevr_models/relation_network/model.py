"""The released Relation Networks as CLEVR models: weights, vocabulary and answers together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trex.artifacts.weights import load_into, read_safetensors
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import BoundModule, subnormals_as_zero
from trex.clevr_models.interface.inputs import check_pictures
from trex.clevr_models.interface.question import Question
from trex.clevr_models.relation_network.network import RelationNetwork
from trex.foundation.errors import InputError, unknown


class RelationModel:
    """A Relation Network that reads the question's text; its 28 answers come in the order of ANSWERS."""

    def __init__(self, name: str, network: RelationNetwork, vocabulary: RelationVocabulary) -> None:
        self.name = name
        self.network = network.eval().requires_grad_(False)
        self.vocabulary = vocabulary
        self.order = torch.tensor([vocabulary.answers.index(answer) for answer in ANSWERS])

    def bind(self, question: Question) -> BoundModule:
        """The network with its question; InputError names a word outside its training."""
        tokens = self.vocabulary.encode(question.text)
        with torch.no_grad():  # inference_mode tensors would prevent gradients with respect to the picture
            added = self.network.questions([tokens])[0]
        return BoundModule(AskedNetwork(self.network, added, self.order), ANSWERS)

    def ask(self, image: NDArray[np.float32], questions: Sequence[Question]) -> NDArray[np.float64]:
        """A picture (H, W, 3) in [0, 1] and Q questions -> (Q, 28), natural log, in the order of ANSWERS.

        Computes the picture half once and the question half once per question.
        """
        check_pictures(image[None])
        pixels = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))[None])
        with torch.inference_mode(), subnormals_as_zero():
            codes = self.network.questions([self.vocabulary.encode(question.text) for question in questions])
            picture = self.network.pictures(pixels)
            logits = torch.cat([self.network.combine(picture, code) for code in codes])
            rows: NDArray[np.float64] = logits[:, self.order].double().log_softmax(dim=-1).numpy()
        return rows


class AskedNetwork(nn.Module):
    """(B, 3, H, W) in [0, 1] -> logits (B, 28) in the order of ANSWERS, for one question; about 8 MB a picture."""

    question_tensors = ("added",)  # the others do not depend on the question
    added: Tensor
    order: Tensor

    def __init__(self, network: RelationNetwork, added: Tensor, order: Tensor) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("added", added)
        self.register_buffer("order", order)

    def forward(self, images: Tensor) -> Tensor:
        """Logits, differentiable with respect to the pictures."""
        logits = self.network.combine(self.network.pictures(images), self.added)
        return logits[:, self.order]


def load_relation_model(path: Path, variant: str) -> RelationModel:
    """The model in a safetensors file written by `fetch_relation_network`; InputError if the file is invalid."""
    network = RelationNetwork(variant)
    load_into(network, read_safetensors(path), path)
    return RelationModel(f"relation-network:{variant}", network, relation_vocabulary())


FILE = Path(__file__).with_name("relation_vocabulary.json")
TOKEN = re.compile(r"[a-z]+|[?;]")


@dataclass(frozen=True)
class RelationVocabulary:
    """Index of every word (1 to 82; 0 pads) and the answers in the order of the network's outputs."""

    words: Mapping[str, int]
    answers: tuple[str, ...]

    def encode(self, text: str) -> tuple[int, ...]:
        """Word indices of a question, in reading order.

        Ignores case, commas and full stops; a question mark is its last word. InputError names an unknown word.
        """
        plain = text.lower().strip().rstrip("?!. ").replace(",", " ").replace(".", " ")
        leftover = TOKEN.sub("", plain).strip()
        if leftover or not plain:
            raise InputError(
                f"question {text!r} contains {leftover!r}; the Relation Network reads English words, ';' and '?'"
            )
        return tuple(self._index(word) for word in [*TOKEN.findall(plain), "?"])

    def _index(self, word: str) -> int:
        if word not in self.words:
            raise unknown(
                "word", word, sorted(self.words), "Use the words that the Relation Network was trained on."
            )
        return self.words[word]


def read_vocabulary(path: Path) -> RelationVocabulary:
    """The vocabulary in a JSON file: `question_token_to_idx`, `answer_token_to_idx` (output k is index k + 1)."""
    data = json.loads(path.read_text(encoding="utf-8"))
    answers: dict[str, int] = data["answer_token_to_idx"]
    return RelationVocabulary(data["question_token_to_idx"], tuple(sorted(answers, key=answers.__getitem__)))


@cache
def relation_vocabulary() -> RelationVocabulary:
    return read_vocabulary(FILE)


def how_found() -> dict[str, object]:
    """How the words' numbers were found, with margins and what stays uncertain: for the card of the weights."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    return {"note": data["note"], **data["found"]}
