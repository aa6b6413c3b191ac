"""A model with a closed list of labels as an answerer: the labels that spell an answer, and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from trex.clevr_models.chat.prompted_model import filled
from trex.clevr_models.chat.spellings import spelled
from trex.clevr_models.chat.token_mass import UNPARSED
from trex.clevr_models.huggingface.prompt import fixed_seed, to_device
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.inputs import eight_bits
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError
from trex.foundation.json_fields import short

ONE_LABEL = "single_label_classification"  # of transformers' `problem_type`


@dataclass(frozen=True)
class LabelAnswerer:
    """An `Answerer` of a classifier of pictures and questions; `answers` gives each label's answer, or UNPARSED."""

    model: Any
    processor: Any
    template: str
    answers: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers that some label spells, and "<unparsed>" if there are other labels."""
        return tuple(label for label in (*ANSWERS, UNPARSED) if label in self.answers)

    def prompt(self, question: Question) -> str:
        """The text for a question; InputError if it has more tokens than the model reads."""
        words = filled(self.template, question)
        n, most = len(self.processor.tokenizer(words)["input_ids"]), self._longest()
        if n > most:
            raise InputError(
                f"question {short(words)} has {n} tokens, and this model reads {most} at most; ask a shorter one, or "
                "shorten [model] prompt"
            )
        return words

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        """(B, H, W, 3) in [0, 1] -> (B, K) in the order of `labels`."""
        words = self.prompt(question)
        return np.stack([self._row(picture, words) for picture in pictures])

    def _longest(self) -> int:
        """The most tokens that tokenizer and model take; a tokenizer without a limit names a huge number."""
        limits = (
            self.processor.tokenizer.model_max_length,
            getattr(self.model.config, "max_position_embeddings", None),
        )
        return min(int(limit) for limit in limits if limit is not None)

    def _row(self, picture: NDArray[np.float32], words: str) -> NDArray[np.float64]:
        image = Image.fromarray(eight_bits(picture))
        found = self.processor(images=image, text=words, return_tensors="pt")
        inputs = to_device(dict(found), self.model.device, self.model.dtype)
        with fixed_seed(self.model.device):
            logits = self.model(**inputs).logits
        if logits.shape != (1, len(self.answers)):
            raise ModelError(f"the model gives scores {tuple(logits.shape)} for {len(self.answers)} labels")
        shares = label_shares(logits[0], self.model.config.problem_type == ONE_LABEL)
        totals = dict.fromkeys(self.labels, 0.0)
        for answer, share in zip(self.answers, shares.tolist(), strict=True):
            totals[answer] += share
        return np.array([totals[label] for label in self.labels])


def label_shares(logits: Tensor, is_one_label: bool) -> Tensor:
    """Probabilities (K,) of labels, which add up to 1, from logits (K,).

    The softmax if the model was trained on one label for each question. Otherwise each score was trained alone, as
    VQA v2's are (a sigmoid: https://huggingface.co/docs/transformers/model_doc/vilt), and its share of all counts.
    """
    scores = logits.double()
    return (scores if is_one_label else torch.nn.functional.logsigmoid(scores)).softmax(dim=-1).cpu()


def label_answers(names: Mapping[int, str]) -> tuple[str, ...]:
    """Each label's answer, in the order of their numbers; UNPARSED for labels that spell none.

    InputError if no label spells an answer, or if numbers are missing.
    """
    if sorted(names) != list(range(len(names))):
        raise InputError("the model's id2label skips numbers; it must name every label")
    found = tuple(spelled(names[number]) or UNPARSED for number in range(len(names)))
    if set(found) == {UNPARSED}:
        raise InputError(
            f"none of the model's {len(found)} labels is an answer of CLEVR (0 to 10, yes, no, colors, shapes, ...)"
        )
    return found
