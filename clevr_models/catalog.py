"""A model by its name on the command line: shipped, released, in a file, or the user's own torch module."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import cast

import torch

from trex.clevr_models.adapters.callable_model import RAISED, AdaptedModel, Answerer, said
from trex.clevr_models.adapters.http_address import URL
from trex.clevr_models.adapters.http_model import load_http
from trex.clevr_models.adapters.onnx_model import PREFIX as ONNX
from trex.clevr_models.adapters.onnx_model import load_onnx
from trex.clevr_models.adapters.torch_module import Factory, UserModel
from trex.clevr_models.fetch import NAMES, verify_model
from trex.clevr_models.iep.load import PREFIX as IEP
from trex.clevr_models.iep.load import load_iep
from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.percept.model import load_percept, load_shipped
from trex.clevr_models.relation_network.model import load_relation_model
from trex.foundation.errors import InputError

ASK = "ask:"  # before package.module:answerer, a callable as adapters.callable_model.Answerer describes
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
    if is_answerer and isinstance(found, type):
        raise InputError(f"{module}:{attribute} is a class; name an instance of it, or a function")
    return AdaptedModel(spec, cast(Answerer, found), spec) if is_answerer else UserModel(spec, found)


def import_factory(module: str, attribute: str) -> Factory:
    """What `module:attribute` names; InputError if there is no such callable.

    The current folder is searched first, as Python does for a script: a file beside the user's module goes before an
    installed package of the same name.
    """
    here = os.getcwd()
    if sys.path[:1] != [here]:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
        factory = getattr(found, attribute, None)
    except RAISED as error:  # a user's module may raise anything while it is imported, or end the program
        raise InputError(f"module {module!r} cannot be imported: {said(error)}") from error
    if not callable(factory):
        near = ", ".join(
            name for name in vars(found) if not name.startswith("_") and callable(vars(found)[name])
        )
        raise InputError(f"module {module!r} has no function {attribute!r}; it has {near or 'none'}")
    return cast(Factory, factory)
