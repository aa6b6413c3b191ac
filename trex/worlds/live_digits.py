"""A torch module from the user's Python session as the classifier of a world of labelled pictures."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor, nn

from trex.clevr_models.adapters.callable_model import RAISED, checked_labels, error_text
from trex.clevr_models.adapters.code_hash import code_hash
from trex.clevr_models.adapters.live import is_module, session_model
from trex.foundation.errors import InputError
from trex.mnist_models.classify import DigitClassifier
from trex.mnist_models.data.datasets import DATASETS
from trex.mnist_models.data.layout import Shape
from trex.worlds.fingerprint import tensor_hash


def live_classifier(name: str, dataset: str, threads: int = 1) -> DigitClassifier:
    """The live module of this name as a classifier: pictures (B, C, H, W) in [0, 1] to logits (B, K).

    Its answers are its `labels`, or the classes of the data set if it has none. Raises InputError if it is no torch
    module, or if its output for two pictures has another shape or is not finite.
    """
    thing, described = session_model(name), DATASETS[dataset]
    form = _form(described.picture)
    if not is_module(thing):
        raise InputError(
            f"model {name!r} is a {type(thing).__name__}; the worlds of {dataset} take a torch.nn.Module from pictures "
            f"(B, {form}) to logits (B, K)"
        )
    module = thing.eval()
    torch.set_num_threads(threads)
    labels = checked_labels(name, getattr(module, "labels", described.labels))
    _try(name, module, len(labels), described.picture)
    told = f"{tensor_hash(module.state_dict())} {code_hash(module)}"
    return DigitClassifier(
        name, module, labels, dataset, hashlib.sha256(told.encode()).hexdigest(), described.picture
    )


def _try(name: str, module: nn.Module, k: int, picture: Shape) -> None:
    """Raise InputError unless two blank pictures give finite logits (2, k)."""
    try:
        with torch.inference_mode():
            logits = module(torch.zeros(2, picture[2], *picture[:2]))
    except RAISED as error:
        raise InputError(
            f"model {name!r} fails on two pictures, float32 (2, {_form(picture)}): {error_text(error)}"
        ) from error
    if not isinstance(logits, Tensor) or logits.shape != (2, k) or not bool(torch.isfinite(logits).all()):
        found = f"shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
        raise InputError(
            f"model {name!r} gives {found} for two pictures; it must give finite logits (2, {k}), or name its answers "
            "in `labels`"
        )


def _form(picture: Shape) -> str:
    """Channels, height and width, as a module takes them."""
    height, width, channels = picture
    return f"{channels}, {height}, {width}"
