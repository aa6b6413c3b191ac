"""A picture and a question as a model's input: by its chat template, or as plain text where it has none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from trex.clevr_models.chat.prompted_model import filled
from trex.clevr_models.interface.inputs import eight_bits
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.foundation.own_code import RAISED

Inputs = dict[str, Tensor]
TRIED, TRIED_PX = "red?", (120, 80)  # a prompt and a size on which a processor is tried


def prompt_inputs(
    processor: Any, mark: str, template: str, question: Question, picture: NDArray[np.float32]
) -> Inputs:
    """The model's input for one picture: the prompt up to where the reply begins, with its tensors (1, ...).

    `mark` is what stands before a prompt without a chat template (`picture_mark`). InputError if the question has no
    English.
    """
    words, image = filled(template, question), Image.fromarray(eight_bits(picture))
    if has_chat_template(processor):
        content = [{"type": "image", "image": image}, {"type": "text", "text": words}]
        found = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
    else:
        found = processor(images=[image], text=[mark + words], return_tensors="pt")
    return {key: value for key, value in found.items() if isinstance(value, Tensor) and key != "labels"}


def picture_mark(processor: Any, config: Any) -> str:
    """What stands for the picture before a plain prompt: the processor's mark and a line break, or nothing.

    Some processors place the picture themselves: they have no mark, accept one at the beginning, or (Florence-2) take
    it for a second picture, which shows when they are tried.
    """
    mark, token = getattr(processor, "image_token", None), _picture_token(config)
    if not isinstance(mark, str):
        return ""
    marked = f"{mark}\n"
    alone = _picture_tokens(processor, token, TRIED)
    return "" if alone and alone != _picture_tokens(processor, token, marked + TRIED) else marked


def _picture_tokens(processor: Any, token: int | None, text: str) -> int:
    """How many of a prompt's tokens stand for the picture, 0 if the processor does not take it."""
    try:
        found = processor(images=[Image.new("RGB", TRIED_PX)], text=[text], return_tensors="pt")
    except RAISED:
        return 0
    return int((found["input_ids"] == token).sum()) if "input_ids" in found and token is not None else 0


def has_chat_template(processor: Any) -> bool:
    """Whether the model was trained on conversations, and says how they are written."""
    tokenizer = getattr(processor, "tokenizer", None)
    return bool(getattr(processor, "chat_template", None) or getattr(tokenizer, "chat_template", None))


def check_picture_is_in(inputs: Mapping[str, Tensor], config: Any) -> None:
    """InputError if the model marks the places of pictures in its text and the prompt has none."""
    mark = _picture_token(config)
    if mark is not None and "input_ids" in inputs and not bool((inputs["input_ids"] == mark).any()):
        raise InputError(
            "the model's chat template leaves the picture out of the prompt; use a version of the model whose template "
            "takes pictures"
        )


def _picture_token(config: Any) -> int | None:
    """The token that stands for pictures, None for a model without one."""
    marks = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
    return next((mark for mark in marks if isinstance(mark, int)), None)


def without_end(inputs: Inputs, ends: frozenset[int]) -> Inputs:
    """The inputs without the token that ends a text, which some processors append to the prompt."""
    ids = inputs["input_ids"]
    if int(ids[0, -1]) not in ends:
        return inputs
    length = ids.shape[1]
    return {
        key: value[:, :-1]
        if value.dim() >= 2 and value.shape[:2] == (1, length) and key != "pixel_values"
        else value
        for key, value in inputs.items()
    }


def to_device(inputs: Inputs, device: torch.device, dtype: torch.dtype) -> Inputs:
    """The inputs on a device, with real numbers in the model's type."""
    return {
        key: value.to(device, dtype if value.is_floating_point() else None) for key, value in inputs.items()
    }


SEED = 0


@contextmanager
def fixed_seed(device: torch.device) -> Iterator[None]:
    """Inference with torch's generators at a fixed seed; their states are put back afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch.inference_mode():
        torch.manual_seed(SEED)
        yield
