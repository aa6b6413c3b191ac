"""A user's torch module: built for each question, probed first, and named in every error."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trex.clevr_models.adapters.callable_model import (
    TAKES,
    AdaptedModel,
    are_probabilities,
    probe_pictures,
    softmaxed_twice,
)
from trex.clevr_models.adapters.live import session_model
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import BoundModule, ClevrModel, device_of, in_evaluation_mode
from trex.clevr_models.interface.labels import checked_labels, columns, one_output
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError, TrexError
from trex.foundation.own_code import RAISED, code_hash, error_text, is_module

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
    """A user's torch module, built for each question and probed with two pictures."""

    def __init__(self, name: str, factory: Factory) -> None:
        self.name = name
        self.factory = factory

    def bind(self, question: Question) -> BoundModule:
        """The user's module for a question; InputError if it fails or its output has another shape or meaning."""
        if isinstance(self.factory, nn.Module):
            raise InputError(
                f"{self.name} is a torch.nn.Module; name a function that takes the question and returns the module"
            )
        try:
            module = self.factory(question)
            named = getattr(module, "labels", ANSWERS)
        except InputError:
            raise
        except RAISED as error:
            takes = "; it must be a function of the question" if isinstance(error, TypeError) else ""
            raise InputError(
                f"model {self.name!r} fails for {question.text!r}: {error_text(error)}{takes}"
            ) from error
        if not isinstance(module, nn.Module):
            inner = "; return its .module()" if isinstance(module, torch.export.ExportedProgram) else ""
            raise InputError(
                f"model {self.name!r} gives a {type(module).__name__}; its factory must return a torch.nn.Module{inner}"
            )
        labels = checked_labels(self.name, named)
        probe_module(self.name, module, labels, planes(probe_pictures()))
        bound = UserModule(self.name, module, labels)
        try:
            bound.log_probs(probe_pictures()[:1])  # as a search calls it
        except ModelError as error:
            raise InputError(str(error)) from error
        return bound


def probe_module(name: str, module: nn.Module, labels: tuple[str, ...], probes: Tensor) -> None:
    """Put a module into evaluation mode and try it on two different pictures (2, C, H, W), together and alone.

    InputError unless it returns finite logits, the same ones for the same picture. One that takes a single picture
    only, as programs of torch.export may, is tried on each alone.
    """
    try:
        in_evaluation_mode(module)
        given = probes.to(device_of(module))
        with torch.inference_mode():
            logits = _output(module, given)
            kept = _state(module)
            again = _output(module, given)
            is_kept = all(map(_is_same, kept, _state(module)))
        fault = _fault(logits, again, labels) or _meaning(logits, len(labels))
    except RAISED as error:
        takes = f"it must take float32 {tuple(probes.shape)}"
        raise InputError(f"model {name!r} fails on a picture: {error_text(error)}; {takes}") from error
    if not fault and not is_kept:
        fault = "changes its own buffers whenever it is asked, as in training; save or export it after eval()"
    if fault:
        raise InputError(f"model {name!r} {fault}")


def _output(module: nn.Module, given: Tensor) -> object:
    """What a module returns for pictures of its own, as it may write into them; one by one if it takes no batch."""
    try:
        return module(given.clone())
    except RAISED as error:
        try:
            return torch.cat([module(item[None].clone()) for item in given])
        except RAISED:
            raise error from None


def _is_same(tensor: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same values; torch compares no sparse ones."""
    dense = [found.to_dense() if found.layout != torch.strided else found for found in (tensor, other)]
    return torch.equal(*dense)


def _state(module: nn.Module) -> list[Tensor]:
    return [buffer.clone() for buffer in module.buffers() if not buffer.is_meta]


def _fault(logits: object, again: object, labels: tuple[str, ...]) -> str:
    """What is wrong with the logits of two pictures, "" if nothing is; may raise what a device reports late."""
    k = len(labels)
    if not isinstance(logits, Tensor) or logits.shape != (2, k) or not logits.is_floating_point():
        found, text = f"{type(logits).__name__}, which is no tensor", ""
        if isinstance(logits, Tensor):
            found = f"{logits.dtype} {tuple(logits.shape)}"
            whole = not logits.is_floating_point() and logits.dtype != torch.bool
            text = one_output(labels, is_choice=whole) if logits.numel() == 2 else ""
        expected = f"float logits (2, {k}) for two pictures"
        return f"returns {found}; it must return {expected}, {columns(labels)}{text}"
    if logits.is_meta:
        return "fails: its answers are on torch's device 'meta', without values; load its weights before you return it"
    if not bool(torch.isfinite(logits).all()):
        return "returns values that are not finite on a probe picture; check its weights"
    if not isinstance(again, Tensor) or not torch.equal(logits, again):
        return (
            "gives two different answers to the same picture; make it deterministic (no dropout or sampling), or no "
            "search with it can be resumed"
        )
    return ""


def _meaning(logits: object, k: int) -> str:
    """What is wrong with finite numbers as logits, "" if nothing is."""
    is_twice = isinstance(logits, Tensor) and are_probabilities(logits.double().cpu().numpy())
    return softmaxed_twice(k, "leave the softmax out of the module") if is_twice else ""


def planes(pictures: NDArray[np.float32]) -> Tensor:
    """(B, H, W, C) -> (B, C, H, W)."""
    return torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)))


def live_model(name: str) -> ClevrModel:
    """The session's object of this name as a model."""
    model = session_model(name)
    if is_module(model):
        return UserModel(name, lambda _: model)  # used as it is, with the question that it was made for
    return AdaptedModel(name, model, code_hash(model), takes=TAKES)
