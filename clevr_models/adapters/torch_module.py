"""A user's torch module: built for each question, probed first, and named in every error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trex.clevr_models.adapters.callable_model import (
    RAISED,
    checked_labels,
    error_text,
    probe_pictures,
)
from trex.clevr_models.adapters.code_hash import code_hash
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import BoundModule
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError, TrexError

PROBE_PX = (80, 120)  # height, width of the pictures a user's module is tried on: the smallest preset
Factory = Callable[[Question], object]  # a torch.nn.Module, which is checked


class UserModule(BoundModule):
    """A user's module with its question; ModelError if it fails later, or returns no logits.

    Weights alone do not identify it: its code's hash (`identity`) and its answers to `probe_pictures` do so, too.
    """

    def __init__(self, name: str, module: nn.Module, labels: tuple[str, ...]) -> None:
        super().__init__(module, labels)
        self.name = name
        self.identity = code_hash(module)

    @cached_property
    def probe_probabilities(self) -> tuple[float, ...]:
        """Its answers to `probe_pictures`, row by row; computed only if needed, as an audit binds many questions."""
        return tuple(np.exp(self.log_probs(probe_pictures())).ravel().tolist())

    def _row(self, image: NDArray[np.float32]) -> NDArray[np.float64]:
        size = f"a picture of {image.shape[1]}x{image.shape[0]}"
        try:
            row = super()._row(image)
        except TrexError:
            raise
        except RAISED as error:
            raise ModelError(f"model {self.name!r} fails on {size}: {error_text(error)}") from error
        if row.shape != (len(self.labels),):
            raise ModelError(
                f"model {self.name!r} returns another shape for one picture than for two: it must return logits "
                f"(1, {len(self.labels)}) for {size} too, so do not squeeze the batch axis"
            )
        if np.isnan(row).any():
            raise ModelError(f"model {self.name!r} returns values that are not finite on {size}")
        return row


class UserModel:
    """A user's torch module, built for each question and probed with blank pictures."""

    input_size: tuple[int, int] | None = None

    def __init__(self, name: str, factory: Factory) -> None:
        self.name = name
        self.factory = factory

    def bind(self, question: Question) -> BoundModule:
        """The user's module for a question; InputError if it fails or its output has another shape."""
        if isinstance(self.factory, nn.Module):
            raise InputError(
                f"{self.name} is a torch.nn.Module; name a function that takes the question and returns the module"
            )
        try:
            module = self.factory(question)
        except InputError:
            raise
        except RAISED as error:
            raise InputError(
                f"model {self.name!r} fails for {question.text!r}: {error_text(error)}"
            ) from error
        if not isinstance(module, nn.Module):
            raise InputError(
                f"model {self.name!r} gives a {type(module).__name__}; its factory must return a torch.nn.Module"
            )
        labels = getattr(module, "labels", ANSWERS)
        if isinstance(labels, Iterable) and not isinstance(labels, str):
            labels = tuple(str(label) for label in labels)
        names = checked_labels(self.name, labels)
        self._try(module.eval(), names)
        return UserModule(self.name, module, names)

    def _try(self, module: nn.Module, labels: tuple[str, ...]) -> None:
        device = next((p.device for p in module.parameters()), torch.device("cpu"))
        pictures = torch.zeros(2, 3, *PROBE_PX, device=device)
        try:
            with torch.inference_mode():
                logits, again = module(pictures), module(pictures)
        except RAISED as error:
            takes = f"it must take float32 {tuple(pictures.shape)}"
            raise InputError(
                f"model {self.name!r} fails on a picture: {error_text(error)}; {takes}"
            ) from error
        if (
            not isinstance(logits, Tensor)
            or logits.shape != (2, len(labels))
            or not logits.is_floating_point()
        ):
            found = (
                f"{logits.dtype} {tuple(logits.shape)}"
                if isinstance(logits, Tensor)
                else type(logits).__name__
            )
            expected = f"float logits (2, {len(labels)}) for two pictures"
            raise InputError(
                f"model {self.name!r} returns {found}; it must return {expected}, or name its answers in `labels`"
            )
        if not bool(torch.isfinite(logits).all()):
            raise InputError(
                f"model {self.name!r} returns values that are not finite on a blank picture; check its weights"
            )
        if not torch.equal(logits, again):
            raise InputError(
                f"model {self.name!r} gives two different answers to the same picture; make it deterministic "
                "(no dropout or sampling), or no search with it can be resumed"
            )
        self._try_alone(module, labels)

    def _try_alone(self, module: nn.Module, labels: tuple[str, ...]) -> None:
        """Probe with one picture by itself, as a search does."""
        try:
            UserModule(self.name, module, labels).log_probs(np.zeros((1, *PROBE_PX, 3), np.float32))
        except ModelError as error:
            raise InputError(str(error)) from error
