"""A model by its name on the command line: shipped, released, in a file, or the user's own torch module."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from clevr_models.adapter import AdaptedModel, Answerer
from clevr_models.adapter_http import load_http
from clevr_models.adapter_onnx import PREFIX as ONNX
from clevr_models.adapter_onnx import load_onnx
from clevr_models.answers import ANSWERS
from clevr_models.bound import BoundModule, ClevrModel
from clevr_models.fetch import NAMES, verify_model
from clevr_models.http_address import URL
from clevr_models.iep_load import PREFIX as IEP
from clevr_models.iep_load import load_iep
from clevr_models.percept import load_percept, load_shipped
from clevr_models.question import Question
from clevr_models.relation_model import load_relation_model
from foundation.errors import InputError

ASK = "ask:"  # before package.module:answerer, a callable as clevr_models.adapter.Answerer describes
Factory = Callable[[Question], nn.Module]
DUMMY_PX = (80, 120)  # height, width of the pictures a user's module is tried on: the smallest preset
SPECS = (
    "'shipped', 'relation-network', 'relation-network:original', 'relation-network:ir', 'iep:18k' and other released "
    "CLEVR models ('iep:GENERATOR.pt,ENGINE.pt' for files), a path that ends in .safetensors, 'onnx:FILE.onnx', "
    "'http://...' or 'https://...', 'ask:package.module:answerer', or 'package.module:factory'"
)


def load_model(spec: str, threads: int = 1) -> ClevrModel:
    """The model that a spec names; InputError says what is wrong with the spec, the file or the user's module.

    `package.module:factory` is the user's own: `factory(question)` gives a `torch.nn.Module` from pictures
    (B, 3, H, W), float32 in [0, 1], to logits (B, 28) in the order of ANSWERS, or (B, K) with an attribute `labels`
    (K names, ANSWERS' words where they mean the same). Torch is set to `threads` threads: with more on a busy
    machine, small networks become many times slower.
    """
    torch.set_num_threads(threads)
    if spec == "shipped":
        return load_shipped()
    name = "relation-network:ir" if spec == "relation-network" else spec
    if name in NAMES:
        return load_relation_model(verify_model(name), NAMES[name])
    if spec.startswith(IEP):
        return load_iep(spec)
    if spec.startswith(ONNX):
        return load_onnx(Path(spec.removeprefix(ONNX)), threads)
    if URL.match(spec):
        return load_http(spec)
    if spec.endswith(".safetensors"):
        return load_percept(Path(spec))
    if spec.endswith((".pth", ".pt", ".ckpt", ".bin", ".pkl")):
        raise InputError(
            f"model {spec!r} is a pickled checkpoint, which is not read here; write a factory instead: {SPECS}"
        )
    is_answerer = spec.startswith(ASK)
    module, colon, attribute = spec.removeprefix(ASK).partition(":")
    if not colon or not module or not attribute:
        raise InputError(f"model {spec!r} is not known; it may be {SPECS}")
    found = import_factory(module, attribute)
    return AdaptedModel(spec, cast(Answerer, found), spec) if is_answerer else UserModel(spec, found)


def import_factory(module: str, attribute: str) -> Factory:
    """What `module:attribute` names, the current folder searched too; InputError where there is no such callable."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = importlib.import_module(module)
    except Exception as error:  # a user's module may raise anything while it is imported
        raise InputError(f"module {module!r} cannot be imported: {type(error).__name__}: {error}") from error
    factory = getattr(found, attribute, None)
    if not callable(factory):
        near = ", ".join(
            name for name in vars(found) if not name.startswith("_") and callable(vars(found)[name])
        )
        raise InputError(f"module {module!r} has no function {attribute!r}; it has {near or 'none'}")
    return cast(Factory, factory)


class UserModel:
    """A torch module of the user's own, made anew for each question and tried on an empty picture first."""

    input_size: tuple[int, int] | None = None

    def __init__(self, name: str, factory: Factory) -> None:
        self.name = name
        self.factory = factory

    def bind(self, question: Question) -> BoundModule:
        """The user's module for a question; InputError where it fails or its output has another shape."""
        try:
            module = self.factory(question)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"model {self.name!r} fails for {question.text!r}: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(module, nn.Module):
            raise InputError(
                f"model {self.name!r} gives a {type(module).__name__}; its factory must return a torch.nn.Module"
            )
        labels = tuple(str(label) for label in getattr(module, "labels", ANSWERS))
        self._try(module.eval(), labels)
        return BoundModule(module, labels)

    def _try(self, module: nn.Module, labels: tuple[str, ...]) -> None:
        device = next((p.device for p in module.parameters()), torch.device("cpu"))
        pictures = torch.zeros(2, 3, *DUMMY_PX, device=device)
        try:
            with torch.inference_mode():
                logits = module(pictures)
        except Exception as error:
            takes = f"it must take float32 {tuple(pictures.shape)}"
            raise InputError(
                f"model {self.name!r} fails on a picture: {type(error).__name__}: {error}; {takes}"
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
            wanted = f"float logits (2, {len(labels)}) for two pictures"
            raise InputError(
                f"model {self.name!r} gives {found}; it must give {wanted}, or name its answers in `labels`"
            )
        if not bool(torch.isfinite(logits).all()):
            raise InputError(
                f"model {self.name!r} gives values that are not finite on an empty picture; check its weights"
            )
