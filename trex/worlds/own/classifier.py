"""The model of a world of the user's own: a function of pictures and question, or a torch module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.adapters.callable_model import as_array, checked
from trex.clevr_models.adapters.live import session_model
from trex.clevr_models.adapters.named_object import import_factory
from trex.clevr_models.interface.labels import checked_labels
from trex.foundation.errors import InputError, ModelError, TrexError
from trex.foundation.extensions import LIVE, is_code
from trex.foundation.own_code import RAISED, code_hash, error_text, is_module
from trex.inference.types import Floats, Pixels

Answerer = Callable[..., object]
TAKES = (
    "it must take pictures, float32 (B, H, W, C) in [0, 1], and the question, and return probabilities (B, K)"
)


@dataclass(frozen=True, repr=False)
class OwnClassifier:
    """A model of pictures of any size; `probe_probabilities` are its answers to two pictures of the prior."""

    name: str
    labels: tuple[str, ...]
    answerer: Answerer
    question: str
    identity: str
    probe_probabilities: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"OwnClassifier({self.name!r}, {self.identity!r}, {self.labels!r})"

    def log_probs(self, images: Pixels) -> Floats:
        """(B, H, W, C) in [0, 1] -> (B, K), natural log; ModelError if the model fails or gives no probabilities."""
        try:
            found = as_array(self.answerer(images.copy(), self.question))
        except TrexError:
            raise
        except RAISED as error:
            raise ModelError(f"model {self.name!r} fails: {error_text(error)}; {TAKES}") from error
        rows: Floats = np.log(checked(self.name, found, len(images), self.labels))
        return rows


def own_classifier(name: str, question: str, answers: tuple[str, ...], probes: Pixels) -> OwnClassifier:
    """The model of this name, tried on pictures of the world; InputError if it does not fit."""
    thing = _opened(name)
    named = answers or getattr(thing, "labels", None)
    if named is None:
        raise InputError(
            f"model {name!r} does not name its answers; give trex.World(answers=[...]), or the model `labels`"
        )
    labels = checked_labels(name, named)
    answerer = _of_module(thing) if is_module(thing) else thing
    found = OwnClassifier(name, labels, answerer, question, _identity(thing))
    try:
        probed = tuple(np.exp(found.log_probs(probes)).ravel().tolist())
    except ModelError as error:
        raise InputError(str(error)) from error
    return OwnClassifier(name, labels, answerer, question, found.identity, probed)


def _opened(name: str) -> Answerer:
    if name.startswith(LIVE):
        return session_model(name)
    if not is_code(name):
        raise InputError(
            f"model {name!r} reads CLEVR's pictures or digits; give a world of your own a model of your own: "
            "model=function, or 'package.module:function'"
        )
    return import_factory(name)


def _identity(thing: Answerer) -> str:
    """A hash of its code and, of a torch module, of its weights."""
    if not is_module(thing):
        return code_hash(thing)
    from trex.worlds.fingerprint import tensor_hash

    return f"{tensor_hash(thing.state_dict())} {code_hash(thing)}"


def _of_module(module: Answerer) -> Answerer:
    """A torch module from pictures (B, C, H, W) to logits (B, K) as a function of pictures and question."""
    import torch

    def answerer(pictures: NDArray[np.float32], question: str) -> object:
        torch.set_num_threads(1)
        with torch.inference_mode():
            logits = module(torch.from_numpy(pictures.transpose(0, 3, 1, 2).copy()))
            return torch.softmax(torch.as_tensor(logits), dim=1)

    module.eval()  # type: ignore[attr-defined]
    return answerer
