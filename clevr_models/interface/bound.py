"""The protocol of CLEVR models, and torch modules bound to a question as a search's classifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from trex.clevr_models.interface.inputs import check_pictures
from trex.clevr_models.interface.question import Question

SUBNORMAL = 1e-40


@contextmanager
def subnormals_as_zero() -> Iterator[None]:
    """Within it this thread's arithmetic on the CPU takes subnormal numbers for 0, where the processor can.

    Weight decay drives unused weights there, and processors multiply such numbers some twenty times more slowly: a
    third of the relation layers' weights of the released Relation Network are subnormal, and it answers 13 times as
    fast like this (reproduce/LOG.md). A sum with any other term does not notice them.
    """
    if is_flushing():
        yield
        return
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def is_flushing() -> bool:
    return float(torch.tensor(SUBNORMAL) * 1.0) == 0.0


class BoundModel(Protocol):
    """A model bound to its question."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the K answers, in the order of the probabilities."""
        ...

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        """Pictures (B, H, W, 3) in [0, 1] -> (B, K), natural log."""
        ...


class ClevrModel(Protocol):
    """A model that answers questions about CLEVR pictures."""

    @property
    def name(self) -> str: ...

    def bind(self, question: Question) -> BoundModel:
        """The model with its question; InputError if it cannot read it."""
        ...


@runtime_checkable
class AsksMany(Protocol):
    """A model that computes once per picture what does not depend on the question."""

    def ask(self, image: NDArray[np.float32], questions: Sequence[Question]) -> NDArray[np.float64]:
        """A picture (H, W, 3) in [0, 1] and Q questions -> (Q, 28), natural log, in the order of ANSWERS."""
        ...


def reads_words(model: ClevrModel) -> bool:
    """Whether the words of a question can change the answers: not if the model says `reads_words = False`."""
    return bool(getattr(model, "reads_words", True))


def in_evaluation_mode(module: nn.Module) -> nn.Module:
    """The module without dropout; as it is if its mode was chosen before (torch.export, torch.jit.freeze)."""
    if not hasattr(module, "training"):  # a frozen program
        return module
    try:
        return module.eval()
    except NotImplementedError:  # an exported program: "Calling eval() is not supported yet."
        return module


def device_of(module: nn.Module) -> torch.device:
    """The device of a module's weights; the processor if it has none, or if all are elsewhere ("meta")."""
    return next((p.device for p in module.parameters() if not p.is_meta), torch.device("cpu"))


class BoundModule:
    """A module from (B, 3, H, W) in [0, 1] to logits (B, K), differentiable, with the names of its K answers."""

    def __init__(self, module: nn.Module, labels: tuple[str, ...]) -> None:
        self.module = in_evaluation_mode(module)
        self.labels = labels
        self._device = device_of(module)

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        """Pictures (B, H, W, 3) in [0, 1] -> (B, K), natural log; one at a time, so that no row depends on another."""
        check_pictures(images)
        rows = [self._row(image) for image in images]
        return np.stack(rows) if rows else np.zeros((0, len(self.labels)))

    def _row(self, image: NDArray[np.float32]) -> NDArray[np.float64]:
        pixels = torch.from_numpy(
            image.transpose(2, 0, 1)[None].copy(order="C")
        )  # a module may write into it
        with torch.inference_mode(), subnormals_as_zero():
            logits = self.module(pixels.to(self._device))[0]
        row: NDArray[np.float64] = logits.double().log_softmax(dim=-1).cpu().numpy()
        return row
