"""A VQA model in an ONNX file, run by onnxruntime (`pip install 'bayes-trex[onnx]'`), with a card beside it.

The card, FILE.json: `labels` (K names; CLEVR's 28 by default), `gives` ("logits" or "probabilities"), and, for a
model that reads questions, `words` (word to number, lower case) and `length` (numbers per question, padded with 0).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from trex.artifacts.card import sha256_of
from trex.clevr_models.adapters.callable_model import (
    AdaptedModel,
    AskedAnswerer,
    Floats,
    are_probabilities,
    probe_pictures,
    softmaxed_twice,
)
from trex.clevr_models.adapters.onnx_input import (
    REAL,
    PictureInput,
    QuestionInput,
    external_file,
    read_inputs,
)
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.options import ONNX
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, unknown
from trex.foundation.extensions import import_extra
from trex.foundation.fields import first_problem
from trex.foundation.files import DATA_LIMIT, TEXT_LIMIT, read_bytes
from trex.foundation.json_fields import short
from trex.foundation.parse import parse_json

LOGITS, PROBABILITIES = "logits", "probabilities"
WORD = re.compile(r"[a-z0-9]+")
LONGEST = 1000


class OnnxCard(BaseModel):
    """Facts that an ONNX file does not contain; its repr is part of the model's identity."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    labels: Annotated[tuple[str, ...], Field(strict=False)] = ANSWERS
    gives: Literal["logits", "probabilities"] = "logits"
    words: dict[str, int] | None = None
    length: Annotated[int, Field(ge=0, le=LONGEST)] = 0

    @model_validator(mode="after")
    def _has_length(self) -> Self:
        if self.words is not None and not self.length:
            raise ValueError(f"length is 0; a question has 1 to {LONGEST} numbers")
        return self

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
    """A session that takes pictures, and a question (B, length) if its card has words."""

    session: Any  # onnxruntime.InferenceSession, which has no types
    card: OnnxCard
    picture: PictureInput
    question: QuestionInput | None
    output: str

    @property
    def labels(self) -> tuple[str, ...]:
        return self.card.labels

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, H, W, 3) in [0, 1] -> probabilities (B, K)."""
        found = self.outputs(pictures, question)
        return _softmax(found) if self.card.gives == LOGITS else found

    def outputs(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, H, W, 3) in [0, 1] -> what the file returns (B, K); ValueError if it is no row for each picture."""
        rows = []
        for piece, n in self.picture.pieces(pictures):
            feed: dict[str, NDArray[Any]] = {self.picture.name: piece}
            if self.question is not None:
                feed[self.question.name] = self.question.fed(self.card.encode(question.text), len(piece))
            found = np.asarray(self.session.run([self.output], feed)[0], np.float64)
            rows.append(_as_rows(found, len(piece))[:n])
        return np.concatenate(rows)


@dataclass(frozen=True)
class OnnxModel:
    """An ONNX file as a CLEVR model; `identity` is the hash of file and card."""

    name: str
    answerer: OnnxAnswerer
    identity: str
    card_path: Path

    def bind(self, question: Question) -> AskedAnswerer:
        """The file with its question, probed with two pictures; InputError if its output does not fit its card."""
        model = AdaptedModel(self.name, self.answerer, self.identity, is_hashed=True)
        bound = model.bind(question)
        if self.answerer.card.gives == LOGITS and are_probabilities(
            self.answerer.outputs(probe_pictures(), question)
        ):
            advice = f'write "gives": "{PROBABILITIES}" in {self.card_path}'
            raise InputError(f"model {self.name!r} {softmaxed_twice(len(bound.labels), advice)}")
        return bound


def load_onnx(path: Path, threads: int = 1) -> OnnxModel:
    """The model in an ONNX file; InputError if the file, its card or onnxruntime is missing or does not fit."""
    onnxruntime = import_extra("onnxruntime", "onnx", "a model in an ONNX file needs onnxruntime")
    if not path.name:
        raise InputError(f"model '{ONNX}{path}' names no file; write {ONNX}FILE.onnx")
    card_path = path.with_suffix(".json")
    data, card = _read(path, DATA_LIMIT), read_onnx_card(card_path)
    _check_whole(path, data)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common type
        raise InputError(
            f"{path} is not an ONNX model that onnxruntime can run: {_first_line(error)}"
        ) from error
    picture, question = read_inputs(str(path), session.get_inputs(), card.words is not None)
    if question is not None and question.length not in (None, card.length):
        raise InputError(
            f"card {card_path}: length is {card.length}, and {path} takes {question.length} numbers per question; "
            f'write "length": {question.length}'
        )
    answerer = OnnxAnswerer(session, card, picture, question, _output(path, session, len(card.labels)))
    return OnnxModel(f"{ONNX}{path}", answerer, sha256_of(data + repr(card).encode()), card_path)


def _check_whole(path: Path, data: bytes) -> None:
    """InputError if weights are in another file, which onnxruntime would look for in the current folder."""
    try:
        elsewhere = external_file(data)
    except ValueError as error:
        raise InputError(f"{path} is not an ONNX model that onnxruntime can run: {error}") from error
    if elsewhere is not None:
        raise InputError(
            f"{path} keeps weights in another file ({short(elsewhere)}), which no fingerprint would cover; export it "
            "as one file (torch.onnx.export with external_data=False), or join the two: "
            'onnx.save(onnx.load("TWO.onnx"), "ONE.onnx")'
        )


def _output(path: Path, session: Any, k: int) -> str:
    """The name of the first output of real numbers for k answers; a classifier's label or features are left out."""
    outputs = session.get_outputs()
    real = [output for output in outputs if output.type in REAL]
    fitting = (
        item for item in real if k in item.shape or all(isinstance(n, str | None) for n in item.shape[1:])
    )
    found = next(fitting, real[0] if real else None)
    if found is None:
        types = ", ".join(output.type for output in outputs)
        raise InputError(f"{path} returns {types}; it must return logits or probabilities, float (B, K)")
    return str(found.name)


def _as_rows(found: Floats, n: int) -> Floats:
    """An output for n pictures as rows (n, K): without axes of one place, and one picture's may lack its own."""
    shape = found.shape
    if n == 1 and found.ndim == 1:
        return found[None]
    if found.ndim > 2 and shape[0] == n and sorted(shape[1:])[-2] == 1:
        return found.reshape(n, -1)
    if found.ndim != 2 or shape[0] != n:
        raise ValueError(f"its output for {n} pictures is {shape}; it must be ({n}, K)")
    return found


def read_onnx_card(path: Path) -> OnnxCard:
    """The card of an ONNX file; InputError describes any fault."""
    card = parse_json(_read(path, TEXT_LIMIT), f"card {path}")
    try:
        return OnnxCard.model_validate(card)
    except ValidationError as error:
        key, message = first_problem(error)
        raise InputError(
            f"card {path}{key and ': '}{key}: {message}; it may hold labels, gives, words and length"
        ) from error


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
