"""Any VQA model behind one small protocol: a callable from pictures and a question to a probability per answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.inputs import check_pictures
from trex.clevr_models.interface.labels import checked_labels, columns, one_output
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError, TrexError
from trex.foundation.own_code import RAISED, array_words, error_text

ROUNDING = 0.0101  # of a sum of probabilities computed with 16 bits: bfloat16 has 8 binary digits
WHOLES = (1.0, 100.0)  # what probabilities, and percentages, add up to


def are_probabilities(rows: NDArray[np.float64]) -> bool:
    """Whether all rows (B, K) look like probabilities or percentages, to which no softmax may be applied again.

    Logits may do so by chance for one picture, hardly for two different ones.
    """
    is_whole = [bool((np.abs(rows.sum(axis=1) / whole - 1) <= ROUNDING).all()) for whole in WHOLES]
    return bool((rows >= 0).all()) and any(is_whole)


def softmaxed_twice(k: int, advice: str) -> str:
    """What an error says of a model of k answers that returns probabilities where logits are expected."""
    most = np.e / (np.e + k - 1)
    return (
        "returns what looks like probabilities, not logits: on both probe pictures the rows are at "
        f"least 0 and add up to 1 (or 100); with a second softmax no answer could get above {most:.2f}; {advice}"
    )


FLOOR = 1e-12  # least probability of an answer, so that its logarithm is finite
TAKES = (  # for a callable that a user wrote
    "; it must take pictures, float32 (B, H, W, 3), and the question; if `one` takes one picture at a time, return "
    "np.stack([one(picture, question) for picture in pictures])"
)
BATCH = 32
PROBE_PX = (80, 120)  # height, width of the probe pictures: the smallest preset
Floats = NDArray[np.float64]


class Answerer(Protocol):
    """A model of any kind.

    It may have an attribute `labels`, its K answers; the default is the 28 of
    `trex.clevr_models.interface.answers.ANSWERS`.
    """

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """Pictures (B, H, W, 3) in [0, 1] and one question for all -> probabilities (B, K)."""
        ...


@dataclass(frozen=True)
class AdaptedModel:
    """An answerer as a CLEVR model; `identity` identifies it (a hash, an address) in fingerprints.

    `is_hashed` says that `identity` has a hash of all files that it is made of, so that no other model has the same.
    `takes` reminds the author of a callable what it gets, if it fails on the probe pictures.
    """

    name: str
    answerer: Callable[..., object]  # an `Answerer`
    identity: str = ""
    batch: int = BATCH
    is_hashed: bool = False
    takes: str = ""

    def bind(self, question: Question) -> AskedAnswerer:
        """The answerer with its question, probed with two pictures; InputError if its output does not fit."""
        probes = probe_pictures()
        try:
            rows = as_array(self.answerer(probes, question))
            named = getattr(self.answerer, "labels", ANSWERS)
        except TrexError:
            raise
        except RAISED as error:
            raise InputError(
                f"model {self.name!r} fails on a probe picture: {error_text(error)}{self.takes}"
            ) from error
        labels = checked_labels(self.name, named)
        try:
            answers = checked(self.name, rows, len(probes), labels)
        except ModelError as error:
            choice, is_single = rows.dtype.kind in "iuUO", rows.shape in ((2,), (2, 1))
            advice = (
                one_output(labels, is_choice=choice) if is_single else self.takes if rows.ndim == 1 else ""
            )
            raise InputError(f"{error}{advice}") from error
        return AskedAnswerer(
            self.name,
            self.identity,
            question.text,
            labels,
            self.answerer,
            question,
            tuple(answers.ravel().tolist()),
            self.batch,
            self.is_hashed,
        )


@dataclass(frozen=True, repr=False)
class AskedAnswerer:
    name: str
    identity: str
    text: str
    labels: tuple[str, ...]
    answerer: Callable[..., object]
    question: Question
    probe_probabilities: tuple[float, ...]  # answers to `probe_pictures`, row by row, in place of weights
    batch: int = BATCH
    is_hashed: bool = False
    notes: tuple[str, ...] = ()  # what its user should know before a search

    def __repr__(self) -> str:
        """Everything that identifies it, but nothing of the answerer itself, which may hold a secret."""
        return f"{type(self).__name__}({self.name!r}, {self.identity!r}, {self.text!r}, {self.labels!r})"

    def log_probs(self, images: NDArray[np.float32]) -> Floats:
        """(B, H, W, 3) in [0, 1] -> (B, K), natural log; ModelError if the answerer fails or does not fit."""
        check_pictures(images)
        rows = [self._rows(images[begin : begin + self.batch]) for begin in range(0, len(images), self.batch)]
        return np.concatenate(rows) if rows else np.zeros((0, len(self.labels)))

    def _rows(self, images: NDArray[np.float32]) -> Floats:
        try:
            found = as_array(self.answerer(images.copy(), self.question))  # it may modify its input
        except TrexError:
            raise
        except RAISED as error:
            raise ModelError(f"model {self.name!r} fails: {error_text(error)}") from error
        return np.log(checked(self.name, found, len(images), self.labels))


def as_array(found: object) -> NDArray[np.generic]:
    """What a model returns as an array; torch's tensors from any device, with or without gradients, too."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(found, torch.Tensor):
        real = found.detach().cpu()
        found = real.float().numpy() if real.dtype == torch.bfloat16 else real.numpy()
    return np.asarray(found)


def probe_pictures() -> NDArray[np.float32]:
    """(2, 80, 120, 3): a blank one, and red from left to right, green from top to bottom, blue in squares.

    The three channels have different means too, so that a change of a model of mean colors is detected.
    """
    return _probes().copy()  # models may write to it


@cache  # some 200 questions a picture are bound when it is traced
def _probes() -> NDArray[np.float32]:
    high, wide = PROBE_PX
    y, x = np.mgrid[:high, :wide]
    found = np.zeros((2, high, wide, 3), np.float32)
    found[1] = np.stack([(x / (wide - 1)) ** 3, y / (high - 1), 0.75 * ((x // 10 + y // 10) % 2)], axis=2)
    return found


def checked(name: str, found: NDArray[np.generic], pictures: int, labels: Sequence[str]) -> Floats:
    """Probabilities (B, K), floored and normalized; ModelError if they are not probabilities.

    Sums may be off by the rounding of 16 bits, in which many models compute their softmax.
    """
    shape = (pictures, len(labels))
    if found.shape != shape or found.dtype.kind not in "fiu":
        raise ModelError(
            f"model {name!r} gives {array_words(found)}; for {pictures} pictures and {len(labels)} answers it "
            f"must give numbers {shape}, {columns(labels)}"
        )
    rows = found.astype(np.float64)
    is_good = (rows >= -ROUNDING).all(axis=1) & (np.abs(rows.sum(axis=1) - 1) <= ROUNDING)  # False for NaN
    if not is_good.all():
        example = rows[~is_good][0]
        raise ModelError(
            f"model {name!r} returns rows that are not probabilities (one has minimum {example.min():g} and sum "
            f"{example.sum():g}); return softmax of the logits"
        )
    rows = np.maximum(rows, FLOOR)
    shares: Floats = rows / rows.sum(axis=1, keepdims=True)
    return shares
