"""Logits after each token of many possible replies to one prompt, in batches."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trex.clevr_models.huggingface.prompt import Inputs

BATCH = 32  # replies at a time
MAX_LOGITS = 1 << 27  # numbers that a batch may return: half a GiB
ENDED = "attention_mask"


@dataclass(frozen=True)
class Replies:
    """A generative model, and where its replies begin.

    `start` is None if replies continue the prompt, or the first token of the decoder of an encoder and decoder.
    """

    model: Any  # a PreTrainedModel
    start: int | None

    def logits(self, inputs: Inputs, rows: Tensor, *, uses_cache: bool) -> Iterator[Tensor]:
        """Logits (r, L + 1, V) for consecutive rows of (R, L): at each row's beginning and after each token.

        Rows are filled up at their end; what comes after the fillings is to be ignored. With `uses_cache` the
        prompt is read once and its keys and values are kept, which some architectures do not support.
        """
        if uses_cache:
            yield from self._cached(inputs, rows)
        elif self.start is None:
            yield from self._continued(inputs, rows)
        else:
            yield from self._decoded(inputs, rows)

    def _cached(self, inputs: Inputs, rows: Tensor) -> Iterator[Tensor]:
        read = self.model(**inputs, **self._keeping(1), use_cache=True)
        first = read.logits[:, -1:]
        for part in rows.split(BATCH):
            cache = copy.deepcopy(read.past_key_values)
            cache.batch_repeat_interleave(len(part))
            # Without a mask: nothing is padded on the left, and masks of the whole text confuse M-RoPE.
            after = self.model(input_ids=part, past_key_values=cache, use_cache=True).logits
            yield torch.cat([first.expand(len(part), -1, -1), after], dim=1)

    def _continued(self, inputs: Inputs, rows: Tensor) -> Iterator[Tensor]:
        width = rows.shape[1]
        kept = self._keeping(width + 1)
        length = width + 1 if kept else inputs["input_ids"].shape[1] + width
        for part in rows.split(self._batch(length)):
            found = self.model(**_extended(inputs, part), **kept, use_cache=False).logits
            yield found[:, -(width + 1) :]

    def _decoded(self, inputs: Inputs, rows: Tensor) -> Iterator[Tensor]:
        for part in rows.split(self._batch(rows.shape[1] + 1)):
            begin = torch.full_like(part[:, :1], self.start or 0)
            given = {key: _repeated(value, len(part)) for key, value in inputs.items()}
            yield self.model(
                **given, decoder_input_ids=torch.cat([begin, part], dim=1), use_cache=False
            ).logits

    def _keeping(self, count: int) -> dict[str, int]:
        """The option that leaves out logits of the prompt, empty if the model has none."""
        has_option = "logits_to_keep" in inspect.signature(self.model.forward).parameters
        return {"logits_to_keep": count} if has_option else {}

    def _batch(self, length: int) -> int:
        words: int = self.model.config.get_text_config().vocab_size
        return max(1, min(BATCH, MAX_LOGITS // (length * words)))


def _extended(inputs: Inputs, rows: Tensor) -> Inputs:
    """The prompt followed by each row (r, L); tensors that go along with its tokens are made longer."""
    length = inputs["input_ids"].shape[1]
    found = {key: _repeated(value, len(rows)) for key, value in inputs.items()}
    for key, value in found.items():
        if key == "input_ids":
            found[key] = torch.cat([value, rows], dim=1)
        elif value.dim() >= 2 and value.shape[1] == length and inputs[key].shape[0] == 1 and _is_of_text(key):
            ending = torch.ones_like(rows) if key == ENDED else _after(key, value, rows)
            found[key] = torch.cat([value, ending.to(value.dtype)], dim=1)
    return found


def _is_of_text(key: str) -> bool:
    return "pixel" not in key and "image_sizes" not in key and "grid" not in key


def _after(key: str, value: Tensor, rows: Tensor) -> Tensor:
    """What goes along with the tokens of a reply: 0 for kinds of tokens, otherwise as for the prompt's last one."""
    width = rows.shape[1]
    if value.dim() == 2 and "token_type" in key:
        return torch.zeros_like(rows)
    return value[:, -1:].repeat(1, width, *[1] * (value.dim() - 2))


def _repeated(value: Tensor, times: int) -> Tensor:
    """The tensor `times` times along its first axis: the same picture and prompt for each reply."""
    return value.repeat(times, *[1] * (value.dim() - 1))
