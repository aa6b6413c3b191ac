"""A VQA model in an ONNX file, run by onnxruntime (`pip install 'bayes-trex[onnx]'`), with a card beside it.

The card, FILE.json: `labels` (K names; CLEVR's 28 by default), `gives` ("logits" or "probabilities"), and, for a
model that reads questions, `words` (word to number, lower case) and `length` (numbers per question, padded with 0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trex.artifacts.card import sha256_of
from trex.clevr_models.adapters.callable_model import AdaptedModel, Floats
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.prefixes import ONNX
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, unknown
from trex.foundation.extensions import import_extra
from trex.foundation.files import DATA_LIMIT, TEXT_LIMIT, read_bytes
from trex.foundation.parse import parse_json

GIVES = ("logits", "probabilities")
WORD = re.compile(r"[a-z0-9]+")
LONGEST = 1000
# The first entry of a tensor's external_data, {key: "location"}: https://onnx.ai/onnx/repo-docs/ExternalData.html
EXTERNAL = b"\x0a\x08location\x12"


@dataclass(frozen=True)
class OnnxCard:
    """Facts that an ONNX file does not contain."""

    labels: tuple[str, ...] = ANSWERS
    gives: str = "logits"
    words: Mapping[str, int] | None = None
    length: int = 0

    def encode(self, text: str) -> NDArray[np.int64]:
        """Numbers (length,) of the words, padded with 0; InputError names an unknown word."""
        assert self.words is not None
        words = WORD.findall(text.lower())
        for word in words:
            if word not in self.words:
                raise unknown("word", word, sorted(self.words), "Use the words on the model's card.")
        if len(words) > self.length:
            raise InputError(
                f"question {text!r} has {len(words)} words; the model's card allows {self.length}"
            )
        return np.array([self.words[word] for word in words] + [0] * (self.length - len(words)), np.int64)


@dataclass(frozen=True)
class OnnxAnswerer:
    """A session that takes pictures (B, 3, H, W), and a question (B, length) if its card has words."""

    session: Any  # onnxruntime.InferenceSession, which has no types
    card: OnnxCard
    inputs: tuple[str, ...]
    size: tuple[int, int] | None  # (H, W) of its input

    @property
    def labels(self) -> tuple[str, ...]:
        """Its answers."""
        return self.card.labels

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, H, W, 3) in [0, 1] -> (B, K)."""
        feed: dict[str, NDArray[Any]] = {self.inputs[0]: self._resized(pictures)}
        if self.card.words is not None:
            feed[self.inputs[1]] = np.repeat(self.card.encode(question.text)[None], len(pictures), axis=0)
        found = np.asarray(self.session.run(None, feed)[0], np.float64)
        return _softmax(found) if self.card.gives == "logits" and found.ndim == 2 else found

    def _resized(self, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
        """(B, 3, h, w) in its input size, resized like Pillow's bicubic."""
        pixels = np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
        if self.size is None or pixels.shape[2:] == self.size:
            return pixels
        import torch

        from trex.clevr_models.bicubic import resize_8bit

        resized = resize_8bit(torch.from_numpy(pixels), *self.size) / 255
        found: NDArray[np.float32] = resized.float().numpy()
        return found


def load_onnx(path: Path, threads: int = 1) -> AdaptedModel:
    """The model in an ONNX file; InputError if the file, its card or onnxruntime is missing or does not fit."""
    onnxruntime = import_extra("onnxruntime", "onnx", "a model in an ONNX file needs onnxruntime")
    data, card = _read(path, DATA_LIMIT), read_onnx_card(path.with_suffix(".json"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common type
        if EXTERNAL in data:
            raise InputError(
                f"{path} keeps weights in another file, which no fingerprint would cover; export it as one file "
                "(torch.onnx.export with external_data=False)"
            ) from error
        raise InputError(
            f"{path} is not an ONNX model that onnxruntime can run: {_first_line(error)}"
        ) from error
    answerer = OnnxAnswerer(
        session, card, tuple(i.name for i in session.get_inputs()), _size(path, session, card)
    )
    identity = sha256_of(data + repr(card).encode())
    return AdaptedModel(f"{ONNX}{path}", answerer, identity, input_size=answerer.size, is_hashed=True)


def _size(path: Path, session: Any, card: OnnxCard) -> tuple[int, int] | None:
    inputs = session.get_inputs()
    wanted = 1 if card.words is None else 2
    types = [(given.type, len(given.shape)) for given in inputs]
    if types != [("tensor(float)", 4), ("tensor(int64)", 2)][:wanted]:
        raise InputError(
            f"{path} takes {types}; it must take pictures, float (B, 3, H, W)"
            + (
                ", and a question, int64 (B, length)"
                if wanted == 2
                else " as its only input, as its card has no words"
            )
        )
    height, width = inputs[0].shape[2:]
    return (height, width) if isinstance(height, int) and isinstance(width, int) else None


def read_onnx_card(path: Path) -> OnnxCard:
    """The card of an ONNX file; InputError describes any fault."""
    card = parse_json(_read(path, TEXT_LIMIT), f"card {path}")
    if not isinstance(card, dict) or not card.keys() <= {"labels", "gives", "words", "length"}:
        raise InputError(f"card {path} must hold labels, gives, words and length, and nothing else")
    labels, gives = card.get("labels", list(ANSWERS)), card.get("gives", "logits")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(f"card {path}: labels must be a list of names")
    if gives not in GIVES:
        raise unknown(f"card {path}: gives", str(gives), GIVES)
    words, length = card.get("words"), card.get("length", 0)
    if words is not None and not (isinstance(words, dict) and all(type(n) is int for n in words.values())):
        raise InputError(f"card {path}: words must be numbers by word")
    if type(length) is not int or not (words is not None) <= length <= LONGEST:
        raise InputError(f"card {path}: length is {length!r}; a question has 1 to {LONGEST} numbers")
    return OnnxCard(tuple(labels), gives, words, length)


def _softmax(logits: Floats) -> Floats:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = shifted / shifted.sum(axis=1, keepdims=True)
    return shares


def _read(path: Path, limit: int) -> bytes:
    try:
        return read_bytes(path, limit=limit)
    except InputError as error:
        raise InputError(f"{error}; an ONNX model needs a card with the same name next to it") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
