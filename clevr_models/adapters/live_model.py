"""A lent object as a CLEVR model: a torch module by its weights, a callable by its code, both by what they answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import CodeType
from typing import cast

import numpy as np
import torch
from torch import nn

from trex.clevr_models.adapters.callable_model import AdaptedModel, Answerer, tried_pictures
from trex.clevr_models.adapters.live import is_module, lent_thing
from trex.clevr_models.adapters.torch_module import UserModel, UserModule
from trex.clevr_models.interface.bound import BoundModule, ClevrModel
from trex.clevr_models.interface.question import Question


class TriedModule(UserModule):
    """A user's module, and its answers to `tried_pictures`: classes with equal weights may compute different things."""

    def __init__(self, name: str, module: nn.Module, labels: tuple[str, ...]) -> None:
        super().__init__(name, module, labels)
        self.tried: tuple[float, ...] = tuple(np.exp(self.log_probs(tried_pictures())).ravel().tolist())


class LiveModule:
    """A torch module that is asked as it is; the question is the one that it was made for."""

    input_size: tuple[int, int] | None = None

    def __init__(self, name: str, module: nn.Module) -> None:
        self.name = name
        self.module = module

    def bind(self, question: Question) -> BoundModule:
        """The module, tried on pictures; InputError if it fails or its output has another shape."""
        bound = UserModel(self.name, lambda _: self.module).bind(question)
        return TriedModule(self.name, bound.module, bound.labels)


def live_model(name: str, threads: int = 1) -> ClevrModel:
    """The lent object of this name as a model; torch is set to `threads` threads, as for any model."""
    thing = lent_thing(name)
    torch.set_num_threads(threads)
    if is_module(thing):
        return LiveModule(name, cast(nn.Module, thing))
    return AdaptedModel(name, cast(Answerer, thing), code_hash(thing))


def code_hash(function: Callable[..., object]) -> str:
    """16 hexadecimal digits that change with what the function (or the object's `__call__`) does; "" if it has no code.

    Names, line numbers and comments do not count. What the code reads from elsewhere does not either: that shows in
    its answers.
    """
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if not isinstance(code, CodeType):
        return ""
    return hashlib.sha256(_code_words(code).encode()).hexdigest()[:16]


def _code_words(code: CodeType) -> str:
    return f"{code.co_code.hex()} {code.co_names} {[_words(constant) for constant in code.co_consts]}"


def _words(constant: object) -> str:
    """A constant of a function, the same in every process."""
    if isinstance(constant, CodeType):
        return _code_words(constant)
    if isinstance(constant, frozenset):
        return f"{{{', '.join(sorted(map(_words, constant)))}}}"
    if isinstance(constant, tuple):
        return f"({', '.join(map(_words, constant))})"
    return repr(constant)
