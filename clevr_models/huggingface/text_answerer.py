"""A generative model as an answerer: every candidate for a reply is scored by its likelihood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trex.clevr_models.adapters.callable_model import RAISED
from trex.clevr_models.huggingface.answer_masses import LABELS, answer_row
from trex.clevr_models.huggingface.candidates import Candidates
from trex.clevr_models.huggingface.fixed_seed import fixed_seed
from trex.clevr_models.huggingface.forward import Replies
from trex.clevr_models.huggingface.prompt import (
    Inputs,
    check_picture_is_in,
    prompt_inputs,
    to_device,
    without_end,
)
from trex.clevr_models.interface.question import Question

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

    @property
    def labels(self) -> tuple[str, ...]:
        """The 28 answers and "<unparsed>"."""
        return LABELS

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        """(B, H, W, 3) in [0, 1] -> (B, 29) in the order of `labels`."""
        return np.stack([self._row(self.inputs(picture, question)) for picture in pictures])

    def inputs(self, picture: NDArray[np.float32], question: Question) -> Inputs:
        """The prompt with one picture, as the model takes it."""
        model = self.replies.model
        found = prompt_inputs(self.processor, self.template, question, picture)
        check_picture_is_in(found, model.config)
        if self.replies.start is None:
            found = without_end(found, self.ends)
        return to_device(found, model.device, model.dtype)

    def _row(self, inputs: Inputs) -> NDArray[np.float64]:
        if self.uses_cache is None:
            self.uses_cache = self.replies.start is None and self._cache_is_right(inputs)
        device = self.replies.model.device
        with fixed_seed(device):
            logits = self.replies.logits(inputs, self.candidates.rows.to(device), uses_cache=self.uses_cache)
            return answer_row(self.candidates, logits)

    def _cache_is_right(self, inputs: Inputs) -> bool:
        """Whether the cache gives the plain computation's probabilities on the longest rows; False if it fails."""
        rows = self.candidates.rows[:CHECKED].to(self.replies.model.device)
        plain = self._logits(inputs, rows, uses_cache=False)
        try:
            cached = self._logits(inputs, rows, uses_cache=True)
        except RAISED:
            return False
        close = CLOSE.get(plain.dtype, COARSE)
        return cached.shape == plain.shape and bool(
            torch.allclose(
                cached.double().softmax(dim=-1), plain.double().softmax(dim=-1), rtol=0, atol=close
            )
        )

    def _logits(self, inputs: Inputs, rows: Tensor, *, uses_cache: bool) -> Tensor:
        with fixed_seed(self.replies.model.device):
            return torch.cat(list(self.replies.logits(inputs, rows, uses_cache=uses_cache)))
