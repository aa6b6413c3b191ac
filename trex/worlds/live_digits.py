"""A torch module from the user's Python session as the classifier of a world of labelled pictures."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from trex.clevr_models.adapters.live import session_model
from trex.clevr_models.adapters.torch_module import probe_module
from trex.clevr_models.interface.labels import checked_labels
from trex.foundation.errors import InputError
from trex.foundation.own_code import code_hash, is_module
from trex.mnist_models.datasets import DATASETS
from trex.mnist_models.models import DigitClassifier
from trex.mnist_models.pictures import Shape
from trex.worlds.fingerprint import tensor_hash


def live_classifier(name: str, dataset: str) -> DigitClassifier:
    """The live module of this name as a classifier: pictures (B, C, H, W) in [0, 1] to logits (B, K).

    Its answers are its `labels`, or the classes of the data set if it has none. Raises InputError if it is no torch
    module, or if its output for two pictures has another shape or is not finite.
    """
    thing, described = session_model(name), DATASETS[dataset]
    form = _form(described.picture)
    if not is_module(thing):
        raise InputError(
            f"model {name!r} is of type {type(thing).__name__}; the worlds of {dataset} take a torch.nn.Module "
            f"from pictures (B, {form}) to logits (B, K)"
        )
    torch.set_num_threads(1)
    labels = checked_labels(name, getattr(thing, "labels", described.labels))
    probe_module(name, thing, labels, _probes(described.picture))
    text = f"{tensor_hash(thing.state_dict())} {code_hash(thing)}"
    return DigitClassifier(
        name, thing, labels, dataset, hashlib.sha256(text.encode()).hexdigest(), described.picture
    )


def _probes(picture: Shape) -> Tensor:
    """A blank picture and one that is brighter to the right, (2, C, H, W)."""
    height, width, channels = picture
    ramp = torch.linspace(0.0, 1.0, width).expand(channels, height, width)
    return torch.stack([torch.zeros_like(ramp), ramp])


def _form(picture: Shape) -> str:
    """Channels, height and width, as a module takes them."""
    height, width, channels = picture
    return f"{channels}, {height}, {width}"
