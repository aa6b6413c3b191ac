"""A session's object as a CLEVR model: identified by a module's weights or a callable's code, and by its answers."""

from __future__ import annotations

import torch
from torch import nn

from trex.clevr_models.adapters.callable_model import TAKES, AdaptedModel
from trex.clevr_models.adapters.code_hash import code_hash
from trex.clevr_models.adapters.live import is_module, session_model
from trex.clevr_models.adapters.torch_module import UserModel
from trex.clevr_models.interface.bound import BoundModule, ClevrModel
from trex.clevr_models.interface.question import Question


class LiveModule:
    """A torch module used as it is, with the question that it was made for."""

    input_size: tuple[int, int] | None = None

    def __init__(self, name: str, module: nn.Module) -> None:
        self.name = name
        self.module = module

    def bind(self, question: Question) -> BoundModule:
        """The module, probed with pictures; InputError if it fails or its output has another shape."""
        return UserModel(self.name, lambda _: self.module).bind(question)


def live_model(name: str, threads: int = 1) -> ClevrModel:
    """The session's object of this name as a model; sets torch to `threads` threads, as for any model."""
    model = session_model(name)
    torch.set_num_threads(threads)
    if is_module(model):
        return LiveModule(name, model)
    return AdaptedModel(name, model, code_hash(model), takes=TAKES)
