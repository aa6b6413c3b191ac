"""Models as answerers: of a generative one every candidate for a reply is scored, of a classifier every label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from trex.clevr_models.chat.prompted_model import filled
from trex.clevr_models.chat.spellings import spelled
from trex.clevr_models.huggingface.candidates import LABELS, ROUNDING, Candidates, answer_row
from trex.clevr_models.huggingface.forward import Replies
from trex.clevr_models.huggingface.prompt import (
    Inputs,
    check_picture_is_in,
    fixed_seed,
    picture_mark,
    prompt_inputs,
    to_device,
    without_end,
)
from trex.clevr_models.interface.answers import ANSWERS, UNPARSED
from trex.clevr_models.interface.inputs import eight_bits
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError
from trex.foundation.json_fields import short
from trex.foundation.own_code import RAISED

CHECKED = 3  # rows on which the cache is compared with the plain computation
CLOSE = {torch.float32: 1e-3, torch.float64: 1e-6}  # of probabilities; other types: COARSE
COARSE = 0.03


@dataclass
class TextAnswerer:
    """An `Answerer` of a generative model; pictures go through it one by one, so that no row depends on another.

    `uses_cache` is decided on the first picture: whether keys and values of the prompt give what the plain
    computation gives.
    """

    replies: Replies
    processor: Any
    candidates: Candidates
    template: str
    ends: frozenset[int]
    uses_cache: bool | None = field(default=None, init=False)
    mark: str = field(init=False)

    def __post_init__(self) -> None:
        self.mark = picture_mark(self.processor, self.replies.model.config)

    @property
    def labels(self) -> tuple[str, ...]:
        return LABELS

    def prompt(self, question: Question) -> str:
        """The text for a question, before the model's chat template."""
        return filled(self.template, question)

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        """(B, H, W, 3) in [0, 1] -> (B, 29) in the order of `labels`."""
        return np.stack([self._row(self.inputs(picture, question)) for picture in pictures])

    def inputs(self, picture: NDArray[np.float32], question: Question) -> Inputs:
        model = self.replies.model
        found = prompt_inputs(self.processor, self.mark, self.template, question, picture)
        check_picture_is_in(found, model.config)
        if self.replies.start is None:
            found = without_end(found, self.ends)
        return to_device(found, model.device, model.dtype)

    def _row(self, inputs: Inputs) -> NDArray[np.float64]:
        if self.uses_cache is None:
            self.uses_cache = self._chooses_cache(inputs)
        device = self.replies.model.device
        with fixed_seed(device):
            logits = self.replies.logits(inputs, self.candidates.rows.to(device), uses_cache=self.uses_cache)
            return answer_row(
                self.candidates, logits, max(ROUNDING, CLOSE.get(self.replies.model.dtype, COARSE))
            )

    def _chooses_cache(self, inputs: Inputs) -> bool:
        """Whether to keep the prompt's keys and values; ModelError if no way gives the likelihoods of replies.

        The plain computation decides, unless it lets tokens see later ones: PaliGemma reads its whole first input in
        both directions, so that only replies that continue the cache are read as they are written.
        """
        cached = None if self.replies.start is not None else self._tried(inputs, uses_cache=True)
        plain = self._tried(inputs, uses_cache=False)
        if plain is None and cached is None:
            raise ModelError(
                "the model lets the tokens of a reply see later ones; its replies cannot be scored"
            )
        return cached is not None and (plain is None or _is_close(plain, cached))

    def _tried(self, inputs: Inputs, *, uses_cache: bool) -> Tensor | None:
        """Logits of the longest rows; None if they depend on later tokens, or if the cache fails."""
        rows = self.candidates.rows[:CHECKED].to(self.replies.model.device)
        others = rows.clone()
        others[:, -1] = self.candidates.rows[0, 0]
        others[:, -1] += (others[:, -1] == rows[:, -1]).long()
        try:
            found, changed = (
                self._logits(inputs, tensor, uses_cache=uses_cache) for tensor in (rows, others)
            )
        except RAISED:
            if uses_cache:
                return None
            raise
        return found if _is_close(found[:, :-1], changed[:, :-1]) else None

    def _logits(self, inputs: Inputs, rows: Tensor, *, uses_cache: bool) -> Tensor:
        with fixed_seed(self.replies.model.device):
            return torch.cat(list(self.replies.logits(inputs, rows, uses_cache=uses_cache)))


def _is_close(tensor: Tensor, other: Tensor) -> bool:
    """Whether two ways give the same probabilities of tokens, up to rounding."""
    close = CLOSE.get(tensor.dtype, COARSE)
    return tensor.shape == other.shape and bool(
        torch.allclose(tensor.double().softmax(dim=-1), other.double().softmax(dim=-1), rtol=0, atol=close)
    )


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
